"""What is wrong with a table of TOML that is to be a struct: all of it at once, in words for whoever wrote it."""

from __future__ import annotations

from compaction.faults.fault import Fault, FaultyInputError
from compaction.faults.names import check_names, one_of
from compaction.faults.tables import Keys, check, where

__all__ = ["Fault", "FaultyInputError", "Keys", "check", "check_names", "one_of", "where"]
