"""`python -m kitlib`: the same as the command `kitlib`."""

from __future__ import annotations

import sys

from kitlib.cli import main

if __name__ == "__main__":
    sys.exit(main())
