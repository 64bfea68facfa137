"""Cases of dynamic resource allocation: each node's allocation of the claims, and one scheduling cycle."""

from __future__ import annotations

from typing import Any

from kitlib.api.devices import AllocationResult
from kitlib.api.serialize import to_dict
from kitlib.conformance import _scheduler_fresh as fresh
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.plugins.dynamicresources.state import NAME, ClaimState

FILE = "scheduler_dra"
RELEASE = "1.36"
INPUTS = fresh.INPUTS


def check(case: dict[str, Any]) -> dict[str, Any]:
    """Run one scheduling cycle for the incoming pod."""
    decision = fresh.decide(case)
    found = fresh.expected(decision)
    allocations = allocated(decision)
    if allocations is not None and "error" not in found:
        found["allocations"] = allocations
    return {"expect": found}


def allocated(decision: Decision) -> dict[str, Any] | None:
    """Return the allocation of each claim by node; None if no claim needs an allocation."""
    state = decision.filters.states.get(NAME) if decision.filters is not None else None
    if not isinstance(state, ClaimState) or state.allocator is None:
        return None
    names = [claim.name for claim in state.allocator.claims]
    return {
        node: {name: _plain(result) for name, result in zip(names, results, strict=True)}
        for node, results in sorted(state.found.items())
    }


def _plain(result: AllocationResult) -> dict[str, Any]:
    """Return an allocation without the random share identifiers."""
    made: dict[str, Any] = {
        "devices": [
            {key: value for key, value in to_dict(one).items() if key not in ("shareID", "tolerations")}
            | ({"shared": True} if one.share_id is not None else {})
            for one in result.devices.results
        ]
    }
    if result.node_selector is not None:
        made["nodeSelector"] = to_dict(result.node_selector)
    if result.devices.config:
        made["config"] = [to_dict(configuration) for configuration in result.devices.config]
    return made
