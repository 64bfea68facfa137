"""Cases of older releases: claims and volumes."""

from __future__ import annotations

from kitlib.conformance.timemachine_named import INPUTS, check

__all__ = ["FILE", "INPUTS", "RELEASE", "check"]
FILE = "timemachine_volumes"
RELEASE = ""
