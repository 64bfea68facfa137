"""Cases of one scheduling cycle in larger clusters: other scheduler configurations."""

from __future__ import annotations

from kitlib.conformance._scheduler_fresh import INPUTS, check

__all__ = ["FILE", "INPUTS", "RELEASE", "check"]
FILE = "scheduler_fresh_profiles"
RELEASE = "1.36"
