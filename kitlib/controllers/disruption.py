"""PodDisruptionBudgets: the number of selected pods that may be disrupted now.

A pod that several budgets select counts for the first of them only.

Source: pkg/controller/disruption/disruption.go (trySync, getExpectedPodCount, countHealthyPods, buildDisruptedPodMap,
updatePdbStatus, getPdbForPod); component-helpers apps/poddisruptionbudget (UpdateDisruptionAllowedCondition).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from kitlib.api.apps import ReplicaSet
from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import Condition, LabelSelector, put_condition
from kitlib.api.numbers import scaled_value
from kitlib.api.policy import (
    DISRUPTION_ALLOWED,
    PodDisruptionBudget,
    PodDisruptionBudgetStatus,
    with_disruption_allowed,
)
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.informers import Delta, controller_of
from kitlib.controllers.pod_util import is_ready
from kitlib.controllers.scales import SCALABLE, scale_of
from kitlib.controllers.workload_status import from_rfc3339

if TYPE_CHECKING:
    from kitlib.api.apiextensions import CustomResourceDefinition

DELETION_TIMEOUT = 120.0
"""The seconds within which an evicted pod must be deleted; then its disruption no longer counts."""


class Expected(NamedTuple):
    """The expected pods of a budget.

    Attributes:
        expected: the number of pods that the workloads should have.
        desired: the number of pods that must be healthy.
        unmanaged: the names of the pods without a controller.
    """

    expected: int
    desired: int
    unmanaged: list[str]


class DisruptionController(Controller):
    """The controller of PodDisruptionBudgets."""

    name: ClassVar[str] = "controllermanager"  # upstream's recorder has this name
    account: ClassVar[str] = "disruption-controller"

    def handlers(self) -> Mapping[str, Handler]:
        own = dict.fromkeys(SCALABLE, self._on_owner)
        return {**own, "PodDisruptionBudget": self._on_budget, "Pod": self._on_pod}

    def _on_budget(self, change: Delta) -> None:
        if change.type != "DELETED":
            self.enqueue(change.new)

    def _on_pod(self, change: Delta) -> None:
        """Source: addPod, updatePod, deletePod, getPdbForPod."""
        pod = change.new
        if not self.informers.has_any("PodDisruptionBudget", pod.namespace) or not isinstance(pod, Pod):
            return
        found = budgets_of(pod, self.informers.of_namespace("PodDisruptionBudget", pod.namespace))
        # Upstream takes the first budget that selects the pod; eviction rejects a pod with several.
        if found:
            self.enqueue(found[0])
        if len(found) > 1 and change.type != "DELETED":
            message = f'Pod "{pod.namespace}"/"{pod.name}" matches multiple PodDisruptionBudgets.  '
            message += f'Chose "{found[0].name}" arbitrarily.'
            self.event(pod, "Warning", "MultiplePodDisruptionBudgets", message)

    def _on_owner(self, change: Delta) -> None:
        """Queue the budgets when a workload's size, and so the expected pods, change; upstream waits for its pods.

        The budgets of custom workloads wait for their pods, as upstream.
        """
        old, new = change.old, change.new
        if old is None or getattr(old.spec, "replicas", None) == getattr(new.spec, "replicas", None):  # type: ignore[attr-defined]
            return
        for budget in self.informers.of_namespace("PodDisruptionBudget", new.namespace):
            self.enqueue(budget)

    def sync(self, key: Key) -> None:
        """Source: trySync, failSafe."""
        budget: PodDisruptionBudget | None = self.find(PodDisruptionBudget, key)
        if budget is None:
            return
        matcher = LabelSelectorMatcher(budget.spec.selector)
        in_namespace = self.informers.of_namespace("Pod", budget.namespace)
        pods = [pod for pod in in_namespace if isinstance(pod, Pod) and matcher.matches(pod.metadata.labels)]
        if not pods:
            self.event(budget, "Normal", "NoPods", "No matching pods found")
        try:
            definitions = self.api.store.list("CustomResourceDefinition", copy=False)
            expected = expected_pods(budget, pods, self.informers.get, definitions)
        except KitError as error:
            message = f"Failed to calculate the number of expected pods: {error}"
            self.event(budget, "Warning", "CalculateExpectedPodCountFailed", message)
            self._fail_safe(budget, str(error))
            raise
        if expected.unmanaged:
            message = (
                f"Pods selected by this PodDisruptionBudget (selector: {selector_text(budget.spec.selector)}) were "
                "found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may "
                "result in undefined behavior. To account for these pods please set "
                '".spec.minAvailable" field of the PDB to an integer value.'
            )
            self.event(budget, "Warning", "UnmanagedPods", message)
        now = self.now()
        disrupted, recheck = self._disrupted(budget, pods, now)
        status = counted_status(budget, pods, expected, disrupted)
        allowed = status.disruptions_allowed
        status.conditions = with_disruption_allowed(budget.status.conditions, budget, allowed, now)
        self._write(budget, status)
        if recheck is not None:
            self.queue.add_after(key, recheck)

    def _write(self, budget: PodDisruptionBudget, status: PodDisruptionBudgetStatus) -> None:
        if status != budget.status:
            changed = deepcopy(budget)
            changed.status = status
            self.api.update_status(changed)

    def _fail_safe(self, budget: PodDisruptionBudget, why: str) -> None:
        """Allow no disruption while the number of expected pods is unknown."""
        status = deepcopy(budget.status)
        status.disruptions_allowed = 0
        failed = Condition(
            type=DISRUPTION_ALLOWED,
            status="False",
            reason="SyncFailed",
            message=why,
            observed_generation=budget.metadata.generation or 0,
        )
        status.conditions = put_condition(status.conditions, failed, self.now())
        self._write(budget, status)

    def _disrupted(
        self, budget: PodDisruptionBudget, pods: Sequence[Pod], now: datetime
    ) -> tuple[dict[str, str], float | None]:
        """Return the pods whose eviction was allowed and has not begun, and the seconds until the next check.

        Source: buildDisruptedPodMap.
        """
        kept: dict[str, str] = {}
        recheck: float | None = None
        for pod in pods:
            at = budget.status.disrupted_pods.get(pod.name)
            if at is None or pod.metadata.deletion_timestamp is not None:
                continue
            left = DELETION_TIMEOUT - (now - from_rfc3339(at)).total_seconds()
            if left < 0:
                message = f"Pod was expected by PDB {budget.key} to be deleted but it wasn't"
                self.event(pod, "Warning", "NotDeleted", message)
                continue
            kept[pod.name] = at
            recheck = left if recheck is None else min(left, recheck)
        return kept, recheck


def expected_pods(
    budget: PodDisruptionBudget,
    pods: Sequence[Pod],
    find: Callable[[str], Any],
    definitions: Sequence[CustomResourceDefinition],
) -> Expected:
    """Return the number of pods that a budget's workloads should have, and the number that must be healthy.

    Args:
        budget: the budget.
        pods: the selected pods.
        find: UID of a workload -> the workload; None if it does not exist.
        definitions: the definitions of the custom kinds.

    Raises:
        KitError: a pod's controller has no scale.

    Source: getExpectedPodCount.
    """
    least, most = budget.spec.min_available, budget.spec.max_unavailable
    if most is not None:
        expected, unmanaged = _scale(pods, find, definitions)
        return Expected(expected, max(0, expected - scaled_value(most, expected, round_up=True)), unmanaged)
    if isinstance(least, int):
        # An integer needs no scale, so it is the only form for pods without a controller.
        return Expected(len(pods), least, [])
    if least is not None:
        expected, unmanaged = _scale(pods, find, definitions)
        return Expected(expected, scaled_value(least, expected, round_up=True), unmanaged)
    return Expected(0, 0, [])


def _scale(
    pods: Sequence[Pod], find: Callable[[str], Any], definitions: Sequence[CustomResourceDefinition]
) -> tuple[int, list[str]]:
    """Return the sum of the scales of the pods' workloads, and the names of pods without one.

    Source: getExpectedScale, getScaleController.
    """
    sizes: dict[str, int] = {}
    unmanaged = []
    for pod in pods:
        reference = controller_of(pod)
        if reference is None:
            unmanaged.append(pod.name)
            continue
        owner = find(reference.uid)
        above = controller_of(owner) if isinstance(owner, ReplicaSet) else None
        parent = find(above.uid) if above is not None else None
        owner = parent if parent is not None else owner
        if owner is None:
            continue
        if owner.metadata.uid not in sizes:
            sizes[owner.metadata.uid] = scale_of(owner, definitions).replicas
    return sum(sizes.values()), unmanaged


def counted_status(
    budget: PodDisruptionBudget, pods: Sequence[Pod], expected: Expected, disrupted: Mapping[str, str]
) -> PodDisruptionBudgetStatus:
    """Return the status of a budget without its conditions.

    Args:
        budget: the budget.
        pods: the selected pods.
        expected: the expected pods of the budget.
        disrupted: pods with an allowed eviction whose deletion is not observed yet -> time of the permission.

    Source: countHealthyPods, updatePdbStatus.
    """
    # An allowed eviction counts before the pod's deletion is observed; otherwise it could be allowed twice.
    healthy = sum(
        pod.metadata.deletion_timestamp is None and pod.name not in disrupted and is_ready(pod) for pod in pods
    )
    return PodDisruptionBudgetStatus(
        observed_generation=budget.metadata.generation or 0,
        disruptions_allowed=max(0, healthy - expected.desired) if expected.expected > 0 else 0,
        current_healthy=healthy,
        desired_healthy=expected.desired,
        expected_pods=expected.expected,
        disrupted_pods=dict(disrupted),
    )


def budgets_of(pod: Pod, budgets: Sequence[Any]) -> list[PodDisruptionBudget]:
    """Return the budgets that select a pod. Source: GetPodPodDisruptionBudgets."""
    return [budget for budget in budgets if LabelSelectorMatcher(budget.spec.selector).matches(pod.metadata.labels)]


def selector_text(selector: LabelSelector | None) -> str:
    """Return a label selector as Go prints it with `%v`."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted(selector.match_labels.items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{expression.key},Operator:{expression.operator},"
        f"Values:[{' '.join(expression.values)}],}},"
        for expression in selector.match_expressions
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
