"""What can be told of a conversation without a model, line by line.

Adding a sort of lines: its name in `Sort`, what gleans it, a row in the table of the extractive summarizer that
says where it goes.
"""

from __future__ import annotations

from compaction.summarizers.gleaning.gleaned import Gleaned, gleaned, names_in
from compaction.summarizers.gleaning.line import Line, Sort

__all__ = ["Gleaned", "Line", "Sort", "gleaned", "names_in"]
