"""Cases of older releases: several pods in sequence, each bound to the first of the best nodes."""

from __future__ import annotations

from typing import Any

from kitlib.api.release import Release
from kitlib.conformance import scheduler_filter_score as cycle
from kitlib.conformance.scheduling_sequence import play
from kitlib.conformance.timemachine_named import stored, stored_cluster

FILE = "timemachine_sequences"
RELEASE = ""
INPUTS = frozenset({*cycle.INPUTS, "incoming"})


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Schedule the incoming pods in order, in every release of the case."""
    steps = {}
    for name, recorded in case["steps"].items():
        release = Release(name)
        incoming = [stored(data, release) for data in case["incoming"]]
        steps[name] = play(stored_cluster(case, release), incoming, recorded)
    return {"steps": steps}
