"""An in-place resize of one pod, carried out on a copy of its cluster.

    wanted = parse_amounts(pod, ["app:cpu=2", "limits.memory=1Gi"])
    carry_out(copy, pod, wanted, settings, used)

The API server of the copy validates the resize. The kubelet's rules then say whether the node has room: a hollow node
of the copy has no kubelet that could. The copy gets the status that the kubelet would report, so that later questions
count the new amounts.

Source: kubelet allocation.manager.canAdmitPod (rules in `kitlib.kubelet.loop.resize`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kitlib.advisor.blockers import shown_amount
from kitlib.advisor.findings import Gap
from kitlib.advisor.what_if_answer import Effect
from kitlib.api.core import TERMINAL_PHASES, Container, Node, Pod, ResourceList
from kitlib.api.errors import KitError
from kitlib.api.meta import Condition, with_condition
from kitlib.api.podresources import containers_of, pod_requests
from kitlib.api.resource import Quantity, QuantityError
from kitlib.api.serialize import deepcopy
from kitlib.kubelet.config.settings import KubeletSettings
from kitlib.kubelet.loop.resize import (
    DEFERRED,
    ERROR,
    IN_PROGRESS,
    INFEASIBLE,
    PENDING,
    below_usage,
    changes_request,
    restarting,
    static_policy_conflict,
)
from kitlib.kubelet.qos.qos_class import get_pod_qos

DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
WHOLE = "spec.resources"
"""The place of the pod's own resources in a question."""
GATE = "InPlacePodVerticalScaling"
RESOURCES = ("cpu", "memory")
USAGE = "[CONTAINER:][requests.|limits.]cpu=AMOUNT or memory=AMOUNT; pod:cpu=AMOUNT for the resources of the whole pod"

Amounts = dict[str, dict[str, Quantity]]
"""`requests` and `limits` -> amount by resource."""


class WantedAmounts(NamedTuple):
    """The amounts of a resize.

    Attributes:
        containers: container -> its new amounts.
        whole: the new amounts of `spec.resources`; {} = unchanged.
    """

    containers: dict[str, Amounts]
    whole: Amounts


class ResizeOutcome(NamedTuple):
    """The result of a resize.

    Attributes:
        effect: the effect on the pod; None = the API server has refused the resize.
        refused: the API server's message; "" = it has accepted the resize.
        gaps: settings of the kubelet that the answer depends on.
    """

    effect: Effect | None
    refused: str = ""
    gaps: tuple[Gap, ...] = ()


def parse_amounts(pod: Pod, words: Sequence[str]) -> WantedAmounts:
    """Return the amounts in the words of a question.

    A request above the standing limit raises the limit too, unless the question sets the limit.

    Args:
        pod: the pod; an amount without a container is that of kubectl's default container.
        words: the amounts, in the notation of `USAGE`.

    Raises:
        KitError: a word is invalid, or the pod has no such container.
    """
    wanted = WantedAmounts({}, {})
    for word in words:
        left, equals, amount = word.partition("=")
        place, colon, name = left.rpartition(":")
        kind, dot, resource = name.rpartition(".")
        if not equals or resource not in RESOURCES or (dot and kind not in ("requests", "limits")):
            raise KitError(f"whatif resize: {word!r}: must have the form {USAGE}")
        container = _container(pod, place, bool(colon))
        own = wanted.whole if container is None else wanted.containers.setdefault(container.name, {})
        own.setdefault(kind or "requests", {})[resource] = _quantity(amount, word)
    if not words:
        raise KitError(f"whatif resize: at least one amount is required: {USAGE}")
    for name, asked in wanted.containers.items():
        container = next(one for one in containers_of(pod) if one.name == name)
        _raise_limits(asked, container.resources.limits)
    if wanted.whole:
        _raise_limits(wanted.whole, pod.spec.resources.limits if pod.spec.resources is not None else {})
    return wanted


def _container(pod: Pod, place: str, named: bool) -> Container | None:
    """Return the container of a place; None = the pod as a whole."""
    names = {container.name: container for container in containers_of(pod)}
    if not named:
        place = pod.metadata.annotations.get(DEFAULT_CONTAINER, "")
        return names.get(place) or pod.spec.containers[0]
    if place in names:
        return names[place]
    if place in ("pod", WHOLE):
        return None
    valid = ", ".join([*names, "pod (the resources of the whole pod)"])
    raise KitError(f"whatif resize: pod {pod.key} has no container {place!r}; valid values: {valid}")


def _raise_limits(asked: Amounts, limits: ResourceList) -> None:
    for name, amount in asked.get("requests", {}).items():
        if name in limits and limits[name] < amount:
            asked.setdefault("limits", {}).setdefault(name, amount)


def _quantity(text: str, word: str) -> Quantity:
    try:
        return Quantity(text)
    except QuantityError as error:
        raise KitError(f"whatif resize: {word!r}: {error}") from error


def carry_out(
    copy: Any,
    pod: Pod,
    wanted: WantedAmounts,
    settings: KubeletSettings | None = None,
    used: Mapping[str, int] | None = None,
) -> ResizeOutcome:
    """Resize a pod of a copy.

    Args:
        copy: the copy of the cluster.
        pod: the pod, as the copy has stored it.
        wanted: the new amounts.
        settings: settings of the node's kubelet; None = the defaults, named as a gap where they decide.
        used: container -> memory in use in bytes; None = not measured.
    """
    if pod.spec.node_name and not copy.release.enabled(GATE):
        return ResizeOutcome(None, f"pod {pod.key} cannot be resized in place in {copy.release.name} ({GATE} is off)")
    plain = {name: _plain(own) for name, own in wanted.containers.items()}
    try:
        changed: Pod = copy.resize(pod.name, plain, pod.namespace, pod=_plain(wanted.whole) or None)
    except KitError as error:
        return ResizeOutcome(None, str(error))
    node = pod.spec.node_name
    if not node:
        return ResizeOutcome(Effect(pod.key, "pending", why="the pod has no node yet; the new requests hold at once"))
    gaps: tuple[Gap, ...] = ()
    if settings is None and get_pod_qos(pod, copy.release) == "Guaranteed":
        why = "a static policy makes the resize of a Guaranteed pod infeasible; --kubelet FILE says what the node has"
        manager = {"cpu": "cpuManagerPolicy", "memory": "memoryManagerPolicy"}
        gaps = tuple(
            Gap("KubeletConfiguration", manager[name], why) for name in RESOURCES if changes_request(changed, pod, name)
        )
    kind, condition, message = _verdict(copy, pod, changed, settings or KubeletSettings(), used or {})
    _report(copy, changed, condition, message)
    again = restarting(changed, pod, copy.release) if not condition else []
    why = message or "the node has room"
    if again:
        why += f"; container {', '.join(again)} restarts (resizePolicy RestartContainer)"
    return ResizeOutcome(Effect(pod.key, kind, node, node, why), gaps=gaps)


def _plain(amounts: Amounts) -> dict[str, dict[str, str]]:
    return {kind: {name: str(quantity) for name, quantity in values.items()} for kind, values in amounts.items()}


def _verdict(
    copy: Any, pod: Pod, changed: Pod, settings: KubeletSettings, used: Mapping[str, int]
) -> tuple[str, str, str]:
    """Return the kind of effect, the reason of the condition ("" = none) and the message. Source: canAdmitPod."""
    conflict = static_policy_conflict(changed, pod, settings, copy.release)
    if conflict:
        return "infeasible", INFEASIBLE, conflict
    before = pod_requests(pod, release=copy.release)
    for name, asked, left, most in _room(copy, changed):
        old = before[name].nano if name in before else 0
        if asked > left and asked.nano > old:
            reason = INFEASIBLE if asked > most else DEFERRED
            amounts = [shown_amount(name, _amount(name, quantity)) for quantity in (asked, left, most)]
            why = f"{name}: {amounts[0]} asked, {amounts[1]} of {amounts[2]} left beside the other pods"
            return reason.lower(), reason, why
    low = below_usage(_memory_limits(changed), _memory_limits(pod), used)
    return ("deferred", ERROR, low) if low else ("resized", "", "")


def _room(copy: Any, pod: Pod) -> Iterable[tuple[str, Quantity, Quantity, Quantity]]:
    """Yield resource, requested, free and allocatable amount of the pod's node, the pod itself left out."""
    store = copy.api.store
    node: Node = store.get(Node, pod.spec.node_name)
    others = [
        pod_requests(one, use_status=True, release=copy.release)
        for one in store.list(Pod, copy=False)
        if one.spec.node_name == node.name
        and one.metadata.uid != pod.metadata.uid
        and one.status.phase not in TERMINAL_PHASES
    ]
    zero = Quantity.from_int(0, "DecimalSI")
    for name, asked in sorted(pod_requests(pod, release=copy.release).items()):
        most = node.status.allocatable.get(name, zero)
        yield name, asked, most - sum((one[name] for one in others if name in one), zero), most


def _amount(resource: str, amount: Quantity) -> int:
    return amount.milli_value() if resource == "cpu" else amount.value()


def _memory_limits(pod: Pod) -> dict[str, int | None]:
    return {
        container.name: container.resources.limits["memory"].value() if "memory" in container.resources.limits else None
        for container in containers_of(pod)
    }


def _report(copy: Any, changed: Pod, reason: str, message: str) -> None:
    """Write the status that the kubelet reports: the new amounts, or the condition of a resize that waits."""
    pod: Pod = deepcopy(copy.api.store.get(Pod, changed.name, changed.namespace))
    if reason:
        kind = IN_PROGRESS if reason == ERROR else PENDING
        waits = Condition(type=kind, status="True", reason=reason, message=message, last_transition_time=copy.now())
        pod.status.conditions = with_condition(pod.status.conditions, waits)
    else:
        own = {container.name: container.resources for container in containers_of(pod)}
        for status in [*pod.status.init_container_statuses, *pod.status.container_statuses]:
            if status.resources is not None:
                status.resources, status.allocated_resources = own[status.name], dict(own[status.name].requests)
        if pod.status.resources is not None and pod.spec.resources is not None:
            pod.status.resources = pod.spec.resources
            pod.status.allocated_resources = dict(pod.spec.resources.requests)
    copy.api.update_status(pod)
