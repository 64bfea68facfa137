"""Cases of one scheduling cycle in larger clusters: claims, volumes, CSI limits and attachments."""

from __future__ import annotations

from kitlib.conformance._scheduler_fresh import INPUTS, check

__all__ = ["FILE", "INPUTS", "RELEASE", "check"]
FILE = "scheduler_fresh_volumes"
RELEASE = "1.36"
