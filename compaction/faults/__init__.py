"""What is wrong with a table of TOML that is to be a struct: all of it at once, in words for whoever wrote it."""

from __future__ import annotations

from compaction.faults.fault import Fault
from compaction.faults.names import known, one_of
from compaction.faults.tables import faults

__all__ = ["Fault", "faults", "known", "one_of"]
