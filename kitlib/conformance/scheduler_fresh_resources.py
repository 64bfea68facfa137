"""Cases of one scheduling cycle in larger clusters: requests, pod-level resources, sidecars, resizes."""

from __future__ import annotations

from kitlib.conformance._scheduler_fresh import INPUTS, check

__all__ = ["FILE", "INPUTS", "RELEASE", "check"]
FILE = "scheduler_fresh_resources"
RELEASE = "1.36"
