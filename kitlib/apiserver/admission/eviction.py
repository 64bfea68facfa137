"""The eviction subresource: a pod is deleted if its PodDisruptionBudget allows one more disruption.

Source: registry/core/pod/storage/eviction.go (Create, canIgnorePDB, checkAndDecrement, createTooManyRequestsError).
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from kitlib.api.core import TERMINAL_PHASES, Pod
from kitlib.api.errors import Forbidden, InternalError, TooManyRequests
from kitlib.api.meta import Condition, is_condition_true
from kitlib.api.pod_strategy import grace_of
from kitlib.api.pod_subresources import eviction_of
from kitlib.api.policy import PodDisruptionBudget, with_disruption_allowed
from kitlib.api.selectors import LabelSelectorMatcher

if TYPE_CHECKING:
    from kitlib.apiserver.admission.apiserver import APIServer

MAX_DISRUPTED_PODS = 2000
SEVERAL_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."
DISRUPTION_BUDGET = "DisruptionBudget"


def evict(api: APIServer, name: str, namespace: str, grace: int | None = None) -> list[str]:
    """Delete a pod if policies and its budget allow it, and return the warnings of admission.

    Args:
        api: the API server.
        name: the pod's name.
        namespace: the pod's namespace.
        grace: the grace period in seconds; None = the pod's own.

    Raises:
        PolicyDenied: a policy about `pods/eviction` denies it.
        WebhookDenied: a webhook about `pods/eviction` denies it.
        NotFound: the pod does not exist.
        TooManyRequests: the budget allows no disruption now; `causes` has the reason.
        InternalError: several budgets select the pod.
        Forbidden: the budget's status is unusable.
    """
    pod: Pod = api.store.get(Pod, name, namespace)
    options = api.admit_body(eviction_of(name, namespace, grace), "eviction", pod).delete_options or {}
    warnings = list(api.warnings)
    with api.dry_run() if options.get("dryRun") == ["All"] else nullcontext():  # added by admission
        _evict(api, pod, grace_of(options.get("gracePeriodSeconds")))
    return warnings


def _evict(api: APIServer, pod: Pod, grace: int | None) -> None:
    name, namespace = pod.name, pod.namespace
    if not _can_ignore_budgets(pod):
        budgets = [
            one
            for one in api.store.list(PodDisruptionBudget, namespace)
            if LabelSelectorMatcher(one.spec.selector).matches(pod.metadata.labels)
        ]
        if len(budgets) > 1:
            raise InternalError(SEVERAL_BUDGETS)
        if budgets and not _is_unhealthy_and_free(pod, budgets[0]):
            _check_and_decrement(api, name, budgets[0])
            pod = api.store.get(Pod, name, namespace)
    if api.release.enabled("PodDisruptionConditions"):
        _mark(api, pod)
    api.remove(Pod, name, namespace, grace=grace)


def _can_ignore_budgets(pod: Pod) -> bool:
    """Return whether the pod needs no budget: it does not run or is being deleted. Source: canIgnorePDB."""
    return pod.status.phase in (*TERMINAL_PHASES, "Pending") or pod.metadata.deletion_timestamp is not None


def _is_unhealthy_and_free(pod: Pod, budget: PodDisruptionBudget) -> bool:
    """Return whether an unready pod needs no budget: under AlwaysAllow, or if enough other pods are healthy."""
    if is_condition_true(pod.status.conditions, "Ready"):
        return False
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    status = budget.status
    return status.current_healthy >= status.desired_healthy > 0


def _check_and_decrement(api: APIServer, name: str, budget: PodDisruptionBudget) -> None:
    """Take one disruption from the budget, or raise an error if it allows none. Source: checkAndDecrement."""
    status = budget.status
    if status.observed_generation < (budget.metadata.generation or 0):
        raise _too_many(f"The disruption budget {budget.name} is still being processed by the server.")
    if status.disruptions_allowed < 0:
        raise Forbidden("poddisruptionbudgets.policy", budget.name, "pdb disruptions allowed is negative")
    if len(status.disrupted_pods) > MAX_DISRUPTED_PODS:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise Forbidden("poddisruptionbudgets.policy", budget.name, why)
    if status.disruptions_allowed == 0:
        failed = next((condition for condition in status.conditions if condition.reason == "SyncFailed"), None)
        if failed is not None:
            text = "does not allow evicting pods currently because it failed sync: "
            raise _too_many(f"The disruption budget {budget.name} {text}{failed.message}")
        needs = f"needs {status.desired_healthy} healthy pods and has {status.current_healthy} currently"
        raise _too_many(f"The disruption budget {budget.name} {needs}")
    now = api.store.now()
    status.disruptions_allowed -= 1
    if status.disruptions_allowed == 0:
        status.conditions = with_disruption_allowed(status.conditions, budget, 0, now)
    # Until the disruption controller observes the deletion, it would otherwise count this pod as healthy and allow
    # another disruption.
    status.disrupted_pods = {**status.disrupted_pods, name: now.strftime("%Y-%m-%dT%H:%M:%SZ")}
    api.update_status(budget)


def _too_many(cause: str) -> TooManyRequests:
    return TooManyRequests(WOULD_VIOLATE, [(DISRUPTION_BUDGET, cause)])


def _mark(api: APIServer, pod: Pod) -> None:
    """Set the pod's DisruptionTarget condition. Source: addConditionAndDeletePod."""
    kept = [condition for condition in pod.status.conditions if condition.type != "DisruptionTarget"]
    target = Condition(
        type="DisruptionTarget",
        status="True",
        reason="EvictionByEvictionAPI",
        message="Eviction API: evicting",
        last_transition_time=api.store.now(),
    )
    pod.status.conditions = [*kept, target]
    api.update_status(pod)
