"""Cases of older releases: more scenarios by hand, as twelve kube-schedulers answered them."""

from __future__ import annotations

from kitlib.conformance.timemachine_named import INPUTS, check

__all__ = ["FILE", "INPUTS", "RELEASE", "check"]
FILE = "timemachine_named_new"
RELEASE = ""
