"""Cases of one scheduling cycle in larger clusters: percentageOfNodesToScore on more than 100 nodes."""

from __future__ import annotations

from kitlib.conformance._scheduler_fresh import INPUTS, check

__all__ = ["FILE", "INPUTS", "RELEASE", "check"]
FILE = "scheduler_fresh_sampling"
RELEASE = "1.36"
