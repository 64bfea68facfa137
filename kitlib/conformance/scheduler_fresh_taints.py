"""Cases of one scheduling cycle in larger clusters: taints and tolerations."""

from __future__ import annotations

from kitlib.conformance._scheduler_fresh import INPUTS, check

__all__ = ["FILE", "INPUTS", "RELEASE", "check"]
FILE = "scheduler_fresh_taints"
RELEASE = "1.36"
