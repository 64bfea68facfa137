"""The vertical pod autoscaler, carried out on a copy of a cluster: its recommender, updater and admission controller.

    for plan in plans(dump, "deployment/web"):
        carry_out(copy, plan, resize)

A recommendation is read from the status of a VerticalPodAutoscaler, or computed from the usage in the dump. The updater
evicts the pods that deviate from it, through the API with its budgets, or resizes them in place; at most half of a
controller's pods are missing at a time. New pods get the recommended requests when they are created.

The updater waits until a pod is 12 hours old unless its request is outside the bounds; here all pods are old enough.
Not modelled: the recommender's confidence, which widens the bounds of a short history, and capping by LimitRanges.

Source: vertical-pod-autoscaler pkg/updater (UpdatePriorityCalculator, PodsEvictionRestriction, PodsInPlaceRestriction),
pkg/admission-controller/resource/pod, pkg/utils/vpa (capping.go, limit_and_request_scaling.go).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kitlib.advisor.dump import Dump
from kitlib.advisor.findings import Gap, counted, data_of, group_of, items, look, mapping, name_of, number, text
from kitlib.advisor.other_pods import root_of
from kitlib.advisor.pod_usage import COMMAND, measured, processes_of
from kitlib.advisor.resizing import Amounts, ResizeOutcome, WantedAmounts
from kitlib.advisor.targets import find_target
from kitlib.advisor.what_if_answer import Effect
from kitlib.api.apps import DaemonSet
from kitlib.api.core import TERMINAL_PHASES, Container, LimitRange, Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject
from kitlib.api.resource import Quantity, QuantityError
from kitlib.controllers.workload_status import status_data
from kitlib.study.vertical import after_oom_kill, cpu_recommendation, memory_recommendation

GROUP, KIND = "autoscaling.k8s.io", "VerticalPodAutoscaler"
ACTING = ("Auto", "Recreate", "InPlaceOrRecreate", "InPlace")
"""Modes in which pods are changed while they run. Source: UpdateMode; the default is Recreate."""
IN_PLACE = ("InPlaceOrRecreate", "InPlace")
MIN_REPLICAS = 2
"""Minimum number of pods of a controller of which the updater evicts one (--min-replicas)."""
TOLERANCE = 0.5
"""Share of a controller's pods that may be missing (--eviction-tolerance)."""
MIN_CHANGE = 0.1
"""Least relative change of a pod's requests for an update (--pod-update-threshold)."""
INTERVAL = 60.0
"""Seconds between two rounds of the updater (--updater-interval)."""
MOST_OWNERS = 5
"""Maximum number of owners above a pod."""
MOST_ROUNDS = 300
"""Maximum number of rounds."""
RESOURCES = ("cpu", "memory")


@dataclass(frozen=True)
class RecommendedRange:
    """A recommended request and the range outside of which a request is changed at once; None = no bound."""

    target: Quantity
    lower: Quantity | None = None
    upper: Quantity | None = None

    def excludes(self, request: Quantity) -> bool:
        """Return whether a request is outside the range."""
        low = self.lower is not None and request < self.lower
        return low or (self.upper is not None and request > self.upper)


@dataclass(frozen=True)
class VerticalPlan:
    """The recommendation for the pods of one workload.

    Attributes:
        namespace: namespace of the workload.
        kind: kind of the workload.
        name: name of the workload.
        containers: container -> resource -> its bounds.
        limits_too: container -> whether its limits are scaled in proportion (controlledValues RequestsAndLimits).
        mode: the mode of the updater, one of `ACTING`.
        min_replicas: minimum number of pods of a controller of which the updater evicts one.
        notes: origin of the recommendation, as sentences without a full stop.
        gaps: parts of the answer that are uncertain.
    """

    namespace: str
    kind: str
    name: str
    containers: Mapping[str, Mapping[str, RecommendedRange]]
    limits_too: Mapping[str, bool] = field(default_factory=dict)
    mode: str = "Recreate"
    min_replicas: int = MIN_REPLICAS
    notes: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()

    def amounts(self, container: Container) -> Amounts:
        """Return the new requests and limits of a container; {} = nothing is recommended for it.

        Source: limit_and_request_scaling.go GetProportionalLimit: the limit keeps its ratio to the request, and a limit
        without a request, or equal to it, becomes the new request.
        """
        own = {
            name: recommended_range.target
            for name, recommended_range in self.containers.get(container.name, {}).items()
        }
        limits: dict[str, Quantity] = {}
        for name, target in own.items():
            limit, request = container.resources.limits.get(name), container.resources.requests.get(name)
            if limit is not None and limit.nano and self.limits_too.get(container.name, True):
                ratio = request is not None and request.nano and request != limit
                limits[name] = _scaled(name, target.nano * limit.nano // request.nano) if request and ratio else target
        return {kind: values for kind, values in (("requests", own), ("limits", limits)) if values}


def _scaled(resource: str, nano: int) -> Quantity:
    """Return nano-units as whole milli-CPU or bytes."""
    if resource == "cpu":
        return Quantity.from_milli(nano // 1_000_000, "DecimalSI")
    return Quantity.from_int(nano // 1_000_000_000, "BinarySI")


def plans(dump: Dump, target: str = "") -> list[VerticalPlan]:
    """Return what the autoscalers of a dump do, or what one would do with a workload.

    Args:
        dump: the cluster.
        target: KIND/NAME of a workload; "" = the workloads of all VerticalPodAutoscalers that act.

    Raises:
        KitError: no VerticalPodAutoscaler acts, or no usage of the workload is known.
    """
    autoscalers = [item for item in dump.objects if item.kind == KIND and group_of(item) == GROUP]
    if target:
        workload = find_target(dump, target)
        own = next((autoscaler for autoscaler in autoscalers if _targets(autoscaler, workload)), None)
        return [_plan(dump, workload, own)]
    found = []
    for candidate in autoscalers:
        about = next((obj for obj in dump.objects if _targets(candidate, obj)), None)
        if about is not None and _mode(candidate) in ACTING:
            found.append(_plan(dump, about, candidate))
    if not found:
        said = f"{counted(len(autoscalers), KIND)} found, and none changes the pods of a workload in the input"
        raise KitError(
            f"whatif vertical: {said}; to see the effect of a VerticalPodAutoscaler on a workload, write vertical "
            "KIND/NAME"
        )
    return found


def _targets(autoscaler: KubeObject, obj: KubeObject) -> bool:
    reference = mapping(data_of(autoscaler), "spec", "targetRef")
    return (text(reference, "kind"), text(reference, "name")) == (obj.kind, obj.name) and (
        autoscaler.namespace or "default"
    ) == (obj.namespace or "default")


def _mode(autoscaler: KubeObject) -> str:
    return text(data_of(autoscaler), "spec", "updatePolicy", "updateMode") or "Recreate"


def _plan(dump: Dump, workload: KubeObject, autoscaler: KubeObject | None) -> VerticalPlan:
    pods = [pod for pod in dump.pods if _belongs(dump, pod, workload) and pod.status.phase not in TERMINAL_PHASES]
    if isinstance(workload, Pod) or not pods:
        raise KitError(
            f"whatif vertical: {name_of(workload)} is not a workload with pods; name a workload that has pods as "
            "KIND/NAME"
        )
    data = data_of(autoscaler) if autoscaler is not None else {}
    said = {
        text(recommendation, "containerName"): recommendation
        for recommendation in items(data, "status", "recommendation", "containerRecommendations")
    }
    notes, gaps = list[str](), list[Gap]()
    if said and autoscaler is not None:
        bounds = {name: _read(bound) for name, bound in said.items()}
        origin = f"as the recommender wrote into {name_of(autoscaler)}"
    else:
        bounds, samples = _computed(dump, pods)
        if not bounds:
            raise KitError(
                f"whatif vertical: the input has no usage of the pods of {name_of(workload)}; add the output of "
                f"{COMMAND}"
            )
        origin = f"computed from {counted(samples, 'sample')} of usage"
        why = "one sample of usage by pod was read, and the recommender weighs the samples of eight days"
        gaps.append(Gap("PodMetrics", "usage", why))
    policies = {
        text(policy, "containerName"): policy for policy in items(data, "spec", "resourcePolicy", "containerPolicies")
    }
    capped, limits_too = {}, {}
    for name, own in bounds.items():
        policy = policies.get(name, policies.get("*", {}))
        if text(policy, "mode") == "Off":
            continue
        capped[name] = _capped(own, policy)
        limits_too[name] = text(policy, "controlledValues") != "RequestsOnly"
        amounts = ", ".join(
            f"{resource} {recommended_range.target}" for resource, recommended_range in capped[name].items()
        )
        notes.append(f"{name_of(workload)}, container {name}: {amounts}, {origin}")
    if any(limit_range.namespace == pods[0].namespace for limit_range in dump.of(LimitRange)):
        why = "the admission controller keeps the recommendation within a LimitRange; the copy only rejects"
        gaps.append(Gap("LimitRange", "spec.limits", why))
    mode = _mode(autoscaler) if autoscaler is not None else "Recreate"
    return VerticalPlan(
        pods[0].namespace,
        workload.kind,
        workload.name,
        capped,
        limits_too,
        mode if mode in ACTING else "Recreate",
        number(data, "spec", "updatePolicy", "minReplicas", default=MIN_REPLICAS),
        tuple(notes),
        tuple(gaps),
    )


def _belongs(dump: Dump, pod: Pod, workload: KubeObject) -> bool:
    near = next((reference for reference in pod.metadata.owner_references if reference.controller), None)
    wanted = (workload.kind, workload.name)
    above = [reference for reference in (near, root_of(dump, pod)) if reference is not None]
    return pod.namespace == (workload.namespace or "default") and any((o.kind, o.name) == wanted for o in above)


def _read(said: Mapping[str, Any]) -> dict[str, RecommendedRange]:
    found = {}
    for resource in RESOURCES:
        target, lower, upper = (
            _quantity(look(said, kind, resource)) for kind in ("target", "lowerBound", "upperBound")
        )
        if target is not None:
            found[resource] = RecommendedRange(target, lower, upper)
    return found


def _quantity(value: object) -> Quantity | None:
    try:
        return Quantity(str(value)) if value is not None else None
    except QuantityError:
        return None


def _computed(dump: Dump, pods: list[Pod]) -> tuple[dict[str, dict[str, RecommendedRange]], int]:
    """Return the recommendation for each container, and the number of pods with a sample.

    The pods of a workload share one histogram for each container. Source: AggregateStateKey.
    """
    used = {name: measured(dump, name) for name in RESOURCES}
    sampled = [pod for pod in pods if pod.key in used["memory"]]
    found: dict[str, dict[str, RecommendedRange]] = {}
    for container in processes_of(pods[0]):
        cpu = [used["cpu"][pod.key][container.name] for pod in sampled if container.name in used["cpu"][pod.key]]
        peaks = [_peak(pod, container, used["memory"][pod.key]) for pod in sampled]
        if cpu:
            asked = container.resources.requests.get("cpu")
            milli = asked.milli_value() if asked is not None else 0
            number_of = len(processes_of(pods[0]))
            by_cpu = cpu_recommendation(cpu, request=milli, every=0, containers=number_of)
            by_memory = memory_recommendation(peaks, every=0, containers=number_of)
            # A range needs a history: with one sample, the recommender's confidence widens it to almost any request.
            found[container.name] = {
                "cpu": RecommendedRange(Quantity.from_milli(round(by_cpu.target), "DecimalSI")),
                "memory": RecommendedRange(Quantity.from_int(round(by_memory.target), "BinarySI")),
            }
    return found, len(sampled)


def _peak(pod: Pod, container: Container, used: Mapping[str, int]) -> float:
    """Return a container's memory peak in bytes, raised if its last run was OOM-killed."""
    peak = used.get(container.name, 0)
    statuses = [*pod.status.init_container_statuses, *pod.status.container_statuses]
    for status in statuses:
        if status.name == container.name and text(status.last_state, "terminated", "reason") == "OOMKilled":
            asked = container.resources.requests.get("memory")
            return after_oom_kill(asked.value() if asked is not None else 0, peak)
    return peak


def _capped(own: Mapping[str, RecommendedRange], policy: Mapping[str, Any]) -> dict[str, RecommendedRange]:
    """Return a recommendation within its policy. Source: capping.go applyVPAPolicy."""
    controlled = look(policy, "controlledResources")
    found = {}
    for resource, bounds in own.items():
        if isinstance(controlled, list) and resource not in controlled:
            continue
        least, most = (_quantity(look(policy, kind, resource)) for kind in ("minAllowed", "maxAllowed"))

        def within(quantity: Quantity, least: Quantity | None = least, most: Quantity | None = most) -> Quantity:
            raised = max(quantity, least) if least is not None else quantity
            return min(raised, most) if most is not None else raised

        limits = [within(quantity) if quantity is not None else None for quantity in (bounds.lower, bounds.upper)]
        found[resource] = RecommendedRange(within(bounds.target), *limits)
    return found


class VerticalOutcome(NamedTuple):
    """What the updater has done.

    Attributes:
        effects: the in-place resizes.
        refused: the obstacles, as sentences.
        gaps: settings of kubelets that the resizes depend on.
    """

    effects: list[Effect]
    refused: list[str]
    gaps: list[Gap]


def carry_out(copy: Any, plan: VerticalPlan, resize: Callable[[Pod, WantedAmounts], ResizeOutcome]) -> VerticalOutcome:
    """Bring the pods of a workload to the recommended requests.

    Args:
        copy: the copy of the cluster.
        plan: the recommendation.
        resize: resizes a pod of the copy in place.
    """
    updater = _Updater(copy, plan, resize)
    copy.api.mutators.append(updater.admit)
    for _ in range(MOST_ROUNDS):
        if not updater.round():
            break
        copy.advance(INTERVAL)
    return VerticalOutcome(list(updater.effects.values()), list(updater.refused.values()), updater.gaps)


class _Updater:
    """The updater and the admission controller of one workload's pods."""

    def __init__(self, copy: Any, plan: VerticalPlan, resize: Callable[[Pod, WantedAmounts], ResizeOutcome]) -> None:
        self._copy, self._plan, self._resize = copy, plan, resize
        self.effects: dict[str, Effect] = {}
        self.refused: dict[str, str] = {}
        self.gaps: list[Gap] = []
        self._waiting: set[str] = set()  # UIDs of pods whose resize the kubelet has not accepted

    def admit(self, pod: Pod) -> None:
        """Give a new pod of the workload the recommended requests, in place, as the admission webhook does."""
        if self._is_ours(pod):
            for container in processes_of(pod):
                amounts = self._plan.amounts(container)
                own = container.resources
                own.requests = {**own.requests, **amounts.get("requests", {})}
                own.limits = {**own.limits, **amounts.get("limits", {})}

    def round(self) -> bool:
        """Run the updater once; return whether it has changed a pod."""
        groups: dict[tuple[str, str], list[Pod]] = {}
        for pod in self._copy.api.store.list(Pod, self._plan.namespace, copy=False):
            # The updater lists only pods that have a node. Source: newPodLister.
            live = pod.spec.node_name and pod.status.phase not in TERMINAL_PHASES
            if live and pod.metadata.deletion_timestamp is None and self._is_ours(pod):
                above = _controller(pod)
                groups.setdefault((above.kind, above.name), []).append(pod)
        self.refused.clear()
        changed = [self._update(*key, pods) for key, pods in groups.items()]
        return any(changed)

    def _update(self, kind: str, name: str, pods: list[Pod]) -> bool:
        """Update pods of one controller, as many as may be missing; return whether one was changed."""
        configured = self._configured(kind, name, pods)
        # Truncated as upstream: of three pods one may be missing, of one pod none, which the second condition allows.
        tolerance = int(configured * TOLERANCE)
        running = sum(replica.status.phase != "Pending" for replica in pods)
        disrupted = 0
        for pod in self._in_order(pods):
            alive = running - disrupted
            alone = configured == running and not tolerance and not disrupted
            problem = ""
            if len(pods) < self._plan.min_replicas:
                has = counted(len(pods), "pod")
                problem = f"its controller has {has} with a node, minReplicas is {self._plan.min_replicas}"
            elif pod.status.phase != "Pending" and alive <= configured - tolerance and not alone:
                least = configured - tolerance
                problem = f"{alive} of {configured} pods of its controller run, and one more than {least} must"
            else:
                problem = self._change(pod)
                disrupted += not problem and pod.status.phase != "Pending"
            if problem:
                self.refused[pod.metadata.uid] = f"the updater does not change {pod.key}: {problem}"
        return disrupted > 0

    def _configured(self, kind: str, name: str, pods: list[Pod]) -> int:
        """Return the controller's number of pods. Source: GetCreatorMaps, getReplicaCount."""
        found = self._copy.api.store.find(kind, name, self._plan.namespace, copy=False)
        if isinstance(found, DaemonSet):
            return int(status_data(found).get("numberReady", 0)) or len(pods)
        wanted = getattr(getattr(found, "spec", None), "replicas", None)
        return wanted if isinstance(wanted, int) else len(pods)

    def _change(self, pod: Pod) -> str:
        """Resize a pod in place or evict it; return the obstacle, "" = it was changed."""
        uid = pod.metadata.uid
        if self._plan.mode in IN_PLACE and pod.status.phase == "Running" and uid not in self._waiting:
            wanted = {container.name: self._plan.amounts(container) for container in processes_of(pod)}
            outcome = self._resize(pod, WantedAmounts({name: own for name, own in wanted.items() if own}, {}))
            self.gaps += outcome.gaps
            if outcome.effect is not None:
                self.effects[uid] = outcome.effect
                if outcome.effect.kind != "resized" and self._plan.mode != "InPlace":
                    self._waiting.add(uid)  # evicted in a later round: upstream waits for up to five minutes
                return ""
            if self._plan.mode == "InPlace":
                return outcome.refused
        try:
            self._copy.evict(pod.name, pod.namespace)
        except KitError as error:
            return str(error)
        self.effects.pop(uid, None)
        return ""

    def _in_order(self, pods: list[Pod]) -> list[Pod]:
        """Return the pods to update: those that grow first, then by the relative change of their requests.

        Source: UpdatePriorityCalculator AddPod, PodPriority Less; defaultPriorityProcessor GetUpdatePriority.
        """
        found = []
        for pod in pods:
            outside = grows = pod.metadata.uid in self._waiting
            asked, wanted = dict.fromkeys(RESOURCES, 0), dict.fromkeys(RESOURCES, 0)
            for container in processes_of(pod):
                for resource, recommended_range in self._plan.containers.get(container.name, {}).items():
                    request = container.resources.requests.get(resource)
                    wanted[resource] += recommended_range.target.nano
                    asked[resource] += request.nano if request is not None else 0
                    outside |= request is None or recommended_range.excludes(request)
                    grows |= request is None or recommended_range.target > request
            differs = sum(
                abs(asked[resource] - wanted[resource]) / max(asked[resource], 1)
                for resource in RESOURCES
                if wanted[resource]
            )
            if outside or differs >= MIN_CHANGE:
                found.append((grows, differs, pod))
        return [pod for _, _, pod in sorted(found, key=lambda row: row[:2], reverse=True)]

    def _is_ours(self, pod: Pod) -> bool:
        """Return whether the workload is above a pod of the copy."""
        namespace, above = self._plan.namespace, _controller(pod)
        for _ in range(MOST_OWNERS if pod.namespace == namespace else 0):
            if above is None:
                break
            if (above.kind, above.name) == (self._plan.kind, self._plan.name):
                return True
            owner = self._copy.api.store.find(above.kind, above.name, namespace, copy=False)
            above = _controller(owner) if owner is not None else None
        return False


def _controller(obj: KubeObject) -> Any:
    """Return the owner reference of an object's controller; None = it has none."""
    return next((reference for reference in obj.metadata.owner_references if reference.controller), None)
