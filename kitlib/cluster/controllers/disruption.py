"""PodDisruptionBudgets: how many of the selected pods may go now.

Source: pkg/controller/disruption (trySync, getExpectedPodCount, countHealthyPods).
"""

from __future__ import annotations

from kitlib.api.core import IntOrString, Pod
from kitlib.api.errors import NotFound
from kitlib.api.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from kitlib.api.serialize import deepcopy
from kitlib.cluster.admission.apiserver import APIServer
from kitlib.cluster.controllers.pods import is_active, is_ready


def sync(api: APIServer) -> None:
    """Bring every budget's status up to date."""
    for budget in api.store.list(PodDisruptionBudget, copy=False):
        status = budget_status(api, budget)
        if status != budget.status:
            changed = deepcopy(budget)
            changed.status = status
            api.update_status(changed)


def budget_status(api: APIServer, budget: PodDisruptionBudget) -> PodDisruptionBudgetStatus:
    """Count the selected pods and say how many disruptions the budget allows."""
    pods = (
        [] if budget.spec.selector is None else api.store.list(Pod, budget.namespace, budget.spec.selector, copy=False)
    )
    pods = [pod for pod in pods if is_active(pod)]
    expected, desired = _expected(api, budget, pods)
    healthy = sum(map(is_ready, pods))
    return PodDisruptionBudgetStatus(
        disruptions_allowed=max(0, healthy - desired) if expected > 0 else 0,
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=expected,
        disrupted_pods=budget.status.disrupted_pods,
    )


def _expected(api: APIServer, budget: PodDisruptionBudget, pods: list[Pod]) -> tuple[int, int]:
    """How many pods there should be, and how many of them must stay healthy."""
    least, most = budget.spec.min_available, budget.spec.max_unavailable
    if most is not None:
        expected = _asked_for(api, pods)
        return expected, max(0, expected - _share(most, expected))
    if least is None:
        least = 1
    if isinstance(least, int):
        return len(pods), least
    expected = _asked_for(api, pods)
    return expected, _share(least, expected)


def _asked_for(api: APIServer, pods: list[Pod]) -> int:
    """The replicas of all the pods' controllers; a pod without one counts as itself."""
    sizes: dict[str, int] = {}
    for pod in pods:
        ref = next((r for r in pod.metadata.owner_references if r.controller), None)
        try:
            owner = api.store.get(ref.kind, ref.name, pod.namespace, copy=False) if ref else pod
        except (NotFound, LookupError):
            owner = pod
        replicas = getattr(owner.spec, "replicas", None)
        sizes[owner.metadata.uid] = 1 if replicas is None else replicas
    return sum(sizes.values())


def _share(value: IntOrString, of: int) -> int:
    """A number, or a percentage of all pods, rounded up."""
    return value if isinstance(value, int) else -(-int(value.removesuffix("%")) * of // 100)
