from __future__ import annotations

import sys

from tests.cli.golden import write
from tests.cli.golden.scenes import SCENES

write(SCENES, sys.argv[1:])
