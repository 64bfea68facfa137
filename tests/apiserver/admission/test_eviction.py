"""The eviction subresource: pods that need no budget, and budgets that allow a disruption or not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.errors import Forbidden, InternalError, NotFound, TooManyRequests
from kitlib.api.meta import Condition
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.release import Release
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.eviction import MAX_DISRUPTED_PODS, evict
from tests.apiserver.admission.writes import made, pod

NOW = datetime(2024, 1, 1, 12, 30, tzinfo=UTC)
STATUS = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1}


def server(
    *statuses: dict[str, Any],
    phase: str = "Running",
    ready: bool = True,
    policy: str | None = None,
    release: str = "1.36",
) -> APIServer:
    """Return a server with a pod and a budget for each status."""
    api = APIServer(lambda: NOW, release=Release(release))
    made_pod = pod(metadata={"labels": {"app": "a"}}, nodeName="n", terminationGracePeriodSeconds=30)
    api.create(made_pod)
    stored = api.store.get(Pod, "p", "default")
    stored.status.phase = phase
    stored.status.conditions = [Condition(type="Ready", status="True" if ready else "False")]
    api.store.update(stored)
    for i, status in enumerate(statuses):
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}, "unhealthyPodEvictionPolicy": policy}
        budget = made("PodDisruptionBudget", f"b{i}", "policy/v1", "default", spec=spec)
        api.create(budget)
        live = api.store.get(PodDisruptionBudget, f"b{i}", "default")
        live.status = made("PodDisruptionBudget", "b", "policy/v1", status=status).status
        api.store.update(live)
    return api


def budget_of(api: APIServer) -> PodDisruptionBudget:
    return api.store.get(PodDisruptionBudget, "b0", "default")


def is_evicted(api: APIServer) -> bool:
    found = api.store.find(Pod, "p", "default")
    return found is None or found.metadata.deletion_timestamp is not None


def test_a_pod_without_a_budget_is_marked_and_deleted() -> None:
    """Source: addConditionAndDeletePod."""
    api = server()
    assert evict(api, "p", "default", 7) == []
    found = api.store.get(Pod, "p", "default")
    assert found.metadata.deletion_grace_period_seconds == 7
    (target,) = (one for one in found.status.conditions if one.type == "DisruptionTarget")
    assert (target.status, target.reason, target.message) == ("True", "EvictionByEvictionAPI", "Eviction API: evicting")
    assert target.last_transition_time == NOW


def test_the_condition_follows_its_gate() -> None:
    api = server(release="1.25")
    evict(api, "p", "default")
    found = api.store.get(Pod, "p", "default")
    assert [one.type for one in found.status.conditions] == ["Ready"]
    assert found.metadata.deletion_grace_period_seconds == 30


def test_a_budget_pays_for_a_disruption() -> None:
    """Source: checkAndDecrement."""
    api = server({**STATUS, "disruptionsAllowed": 2, "disruptedPods": {"x": "2024-01-01T00:00:00Z"}})
    evict(api, "p", "default")
    status = budget_of(api).status
    assert status.disruptions_allowed == 1
    assert status.disrupted_pods == {"x": "2024-01-01T00:00:00Z", "p": "2024-01-01T12:30:00Z"}
    assert status.conditions == []
    assert is_evicted(api)


def test_the_last_disruption_changes_the_condition() -> None:
    api = server(STATUS)
    evict(api, "p", "default")
    (found,) = budget_of(api).status.conditions
    assert (found.type, found.status, found.reason) == ("DisruptionAllowed", "False", "InsufficientPods")


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (
            {**STATUS, "disruptionsAllowed": 0},
            "The disruption budget b0 needs 1 healthy pods and has 2 currently",
        ),
        ({**STATUS, "observedGeneration": 0}, "The disruption budget b0 is still being processed by the server."),
        (
            {
                **STATUS,
                "disruptionsAllowed": 0,
                "conditions": [
                    {"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "m"}
                ],
            },
            "The disruption budget b0 does not allow evicting pods currently because it failed sync: m",
        ),
    ],
)
def test_a_budget_that_allows_none_now(status: dict[str, Any], cause: str) -> None:
    api = server(status)
    with pytest.raises(TooManyRequests) as raised:
        evict(api, "p", "default")
    assert str(raised.value) == "Cannot evict pod as it would violate the pod's disruption budget."
    assert raised.value.causes == [("DisruptionBudget", cause)]
    assert not is_evicted(api)
    assert budget_of(api).status.disrupted_pods == {}


def disrupted(count: int) -> dict[str, Any]:
    return {**STATUS, "disruptedPods": {f"p{i}": "2024-01-01T00:00:00Z" for i in range(count)}}


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({**STATUS, "disruptionsAllowed": -1}, "pdb disruptions allowed is negative"),
        (
            disrupted(MAX_DISRUPTED_PODS + 1),
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ),
    ],
)
def test_a_budget_whose_status_is_unusable(status: dict[str, Any], why: str) -> None:
    api = server(status)
    with pytest.raises(Forbidden) as raised:
        evict(api, "p", "default")
    assert str(raised.value) == f'poddisruptionbudgets.policy "b0" is forbidden: {why}'


def test_2000_unconfirmed_disruptions_are_not_too_many() -> None:
    assert MAX_DISRUPTED_PODS == 2000
    api = server(disrupted(MAX_DISRUPTED_PODS))
    evict(api, "p", "default")
    assert is_evicted(api)


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_a_pod_that_does_not_run_needs_no_budget(phase: str) -> None:
    """Source: canIgnorePDB."""
    api = server({**STATUS, "disruptionsAllowed": 0}, phase=phase)
    evict(api, "p", "default")
    assert budget_of(api).status.disrupted_pods == {}
    assert is_evicted(api)


def test_a_pod_that_is_being_deleted_needs_no_budget() -> None:
    api = server({**STATUS, "disruptionsAllowed": 0})
    stored = api.store.get(Pod, "p", "default")
    stored.metadata.deletion_timestamp, stored.metadata.deletion_grace_period_seconds = NOW, 30
    api.store.update(stored)
    evict(api, "p", "default", 0)
    assert api.store.find(Pod, "p", "default") is None


@pytest.mark.parametrize(
    ("policy", "healthy", "desired", "free"),
    [
        ("AlwaysAllow", 0, 5, True),
        ("IfHealthyBudget", 2, 2, True),
        ("IfHealthyBudget", 1, 2, False),
        ("IfHealthyBudget", 0, 0, False),
        (None, 3, 2, True),
        (None, 1, 2, False),
    ],
)
def test_a_pod_that_is_not_ready(policy: str | None, healthy: int, desired: int, free: bool) -> None:
    status = {**STATUS, "disruptionsAllowed": 0, "currentHealthy": healthy, "desiredHealthy": desired}
    api = server(status, ready=False, policy=policy)
    if free:
        evict(api, "p", "default")
    else:
        with pytest.raises(TooManyRequests):
            evict(api, "p", "default")
    assert is_evicted(api) is free
    ready = server(status, ready=True, policy=policy)
    with pytest.raises(TooManyRequests):
        evict(ready, "p", "default")


def test_two_budgets_are_an_error() -> None:
    api = server(STATUS, STATUS)
    with pytest.raises(InternalError, match="more than one PodDisruptionBudget"):
        evict(api, "p", "default")
    assert not is_evicted(api)


def test_a_missing_pod() -> None:
    with pytest.raises(NotFound):
        evict(server(), "q", "default")
