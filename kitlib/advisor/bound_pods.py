"""The stages of a pod that has a node: volumes, the kubelet's admission, its containers' start, a resize.

States are read from the pod's status and from VolumeAttachments; the rules of the admission are computed and compared.

Source: kubelet lifecycle predicateAdmitHandler, allocation manager; attach-detach controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from kitlib.advisor.blockers import amounts_on, shown_amount
from kitlib.advisor.findings import HELD, NOTE, PASSED, PLATFORM, TEAM, YOU, StageResult, look, text
from kitlib.advisor.last_word import event_time, is_about
from kitlib.api.core import ContainerStatus, Event, Node, PersistentVolumeClaim, Pod
from kitlib.api.podresources import pod_requests
from kitlib.api.storage import VolumeAttachment
from kitlib.kubelet.loop.predicate import check_platform, general_filter
from kitlib.scheduler.framework.pod_info import amounts
from kitlib.scheduler.framework.volumes import claim_names, is_fully_bound
from kitlib.scheduler.scheduler import Scheduler

if TYPE_CHECKING:
    from kitlib.advisor.dump import Dump

VOLUME_EVENTS = frozenset({"FailedMount", "FailedAttachVolume", "FailedMapVolume"})
SANDBOX_EVENTS = frozenset({"FailedCreatePodSandBox", "NetworkNotReady", "FailedPrepareDynamicResources"})
"""Reasons of warnings before the containers start. Source: kubelet pkg/kubelet/events."""
REFUSED = frozenset(
    {
        *("AppArmor", "InvalidNodeInfo", "NodeAffinity", "NodeName", "NodePorts", "NodeShutdown"),
        *("PodFeatureUnsupported", "PodLevelResourcesNotAdmitted", "PodOSNotSupported"),
        *("PodOSSelectorNodeLabelDoesNotMatch", "SMTAlignmentError", "SupplementalGroupsPolicyNotSupported"),
        *("SysctlForbidden", "TaintToleration", "TopologyAffinityError", "UnexpectedAdmissionError"),
        "UnexpectedPredicateFailureType",
    }
)
"""Values of `status.reason` of pods that a kubelet rejected; those of resources begin with `OutOf`."""


def bound_stages(dump: Dump, pod: Pod, scheduler: Scheduler) -> Iterator[StageResult]:
    """Yield the stages of a pod that has a node, in order.

    Args:
        dump: the cluster.
        pod: the pod.
        scheduler: a view of the cluster without the pod.
    """
    node = scheduler.node(pod.spec.node_name)
    if pod.status.phase == "Failed":
        yield _failed(pod, node, scheduler)
    elif pod.status.phase == "Succeeded":
        yield StageResult("start", PASSED, "the pod has ended successfully", said_by="the kubelet")
    elif pod.status.phase == "Running":
        yield from _running(pod, node, scheduler)
    else:
        yield from _starting(dump, pod, node, scheduler)


def _kubelet(pod: Pod) -> str:
    return f"the kubelet of {pod.spec.node_name}"


def _failed(pod: Pod, node: Node | None, scheduler: Scheduler) -> StageResult:
    reason, message = pod.status.reason, pod.status.message
    if reason.startswith("OutOf") or reason in REFUSED:
        said = f"the pod was refused, {reason}: {message}"
        return StageResult("admission", HELD, said, (f"Node {pod.spec.node_name}",), _kubelet(pod), _start(pod), YOU)
    if reason == "Evicted":
        return StageResult("start", HELD, f"the pod was evicted: {message}", (), _kubelet(pod), _start(pod), YOU)
    return StageResult(
        "start", HELD, f"the pod has failed{f', {reason}: {message}' if reason else ''}", (), _kubelet(pod)
    )


def _start(pod: Pod) -> datetime | None:
    return pod.status.start_time


def _starting(dump: Dump, pod: Pod, node: Node | None, scheduler: Scheduler) -> Iterator[StageResult]:
    if node is None:
        said = f"the node {pod.spec.node_name} does not exist: no kubelet takes the pod"
        yield StageResult("admission", HELD, said, (f"Node {pod.spec.node_name}",), owner=YOU)
        return
    yield from _volumes(dump, pod)
    ready = next((condition for condition in node.status.conditions if condition.type == "Ready"), None)
    statuses = [*pod.status.init_container_statuses, *pod.status.container_statuses]
    if ready is not None and ready.status != "True" and not statuses:
        said = f"{node.name} is not Ready, {ready.reason}: {ready.message}"
        by = "kube-controller-manager" if ready.status == "Unknown" else f"the kubelet of {node.name}"
        yield StageResult("admission", HELD, said, (f"Node {node.name}",), by, ready.last_transition_time, PLATFORM)
    if not statuses:
        yield from _refusal(pod, node, scheduler)
    yield from _waiting_containers(pod, statuses)
    yield from _failing(dump, pod)


def _waiting_containers(pod: Pod, statuses: Iterable[ContainerStatus]) -> Iterator[StageResult]:
    for status in statuses:
        reason = text(status.state, "waiting", "reason")
        if reason and reason not in ("PodInitializing",):
            message = text(status.state, "waiting", "message")
            said = f"container {status.name} waits, {reason}{f': {message}' if message else ''}"
            ended = text(status.last_state, "terminated", "reason")
            code = look(status.last_state, "terminated", "exitCode")
            said += (
                f"; it ended last with {ended}, exit code {code}, after {status.restart_count} restarts"
                if ended
                else ""
            )
            state = NOTE if reason == "ContainerCreating" else HELD
            yield StageResult("start", state, said, (), _kubelet(pod), None, YOU)


def _failing(dump: Dump, pod: Pod) -> Iterator[StageResult]:
    """Yield the newest warning about the volumes or the sandbox of a pod whose containers have not started."""
    events = [event for event in dump.of(Event) if event.type == "Warning" and is_about(event, pod)]
    for stage, reasons in (("volumes", VOLUME_EVENTS), ("start", SANDBOX_EVENTS)):
        newest = max((event for event in events if event.reason in reasons), key=event_time, default=None)
        if newest is not None:
            by = newest.reporting_component or text(newest.source, "component")
            by = _kubelet(pod) if by in ("", "kubelet") else by
            at = event_time(newest) if event_time(newest).year > 1 else None
            yield StageResult(stage, HELD, f"{newest.reason}: {newest.message}", (), by, at, YOU)


def _refusal(pod: Pod, node: Node, scheduler: Scheduler) -> Iterator[StageResult]:
    """Yield the rejection that the kubelet's rules imply now for a pod without any reported status."""
    row = scheduler.snapshot.index[node.name]
    others = [info.pod for info in scheduler.snapshot.pods[row].values()]
    found = [check_platform(pod, node, scheduler.release), *general_filter(pod, node, others, scheduler.release)]
    for refusal in filter(None, found):
        said = f"the kubelet refuses the pod, {refusal.reason}: {refusal.message}"
        yield StageResult("admission", HELD, said, (f"Node {node.name}",), owner=YOU)
        return
    for name, asked, left, most in room_on(scheduler, pod):
        if asked > left:
            said = (
                f"the kubelet refuses the pod, OutOf{name}: {shown_amount(name, asked)} asked, "
                f"{shown_amount(name, left)} of {shown_amount(name, most)} left on {node.name}"
            )
            yield StageResult("admission", HELD, said, (f"Node {node.name}",), owner=YOU)
            return
    yield StageResult("admission", PASSED, f"the pod is bound to {node.name}; no container is reported yet")


def room_on(scheduler: Scheduler, pod: Pod) -> list[tuple[str, int, int, int]]:
    """Return resource, requested, free and allocatable amount on the pod's node, without the pod itself."""
    table = scheduler.snapshot
    row = table.index[pod.spec.node_name]
    found = []
    for name, asked in {**amounts(pod_requests(pod, release=scheduler.release)), "pods": 1}.items():
        most, used = (int(column[row]) for column in amounts_on(table, name))
        found.append((name, asked, most - used, most))
    return found


def _volumes(dump: Dump, pod: Pod) -> Iterator[StageResult]:
    claims = {(one.namespace or "default", one.name): one for one in dump.of(PersistentVolumeClaim)}
    attachments = {
        (one.spec.node_name, one.spec.source.persistent_volume_name or ""): one for one in dump.of(VolumeAttachment)
    }
    for name in claim_names(pod):
        claim = claims.get((pod.namespace, name))
        about = f"PersistentVolumeClaim {pod.namespace}/{name}"
        if claim is None:
            if claims or "PersistentVolumeClaim" in dump.listed:
                yield StageResult("volumes", HELD, f"the claim {name} does not exist", (about,), owner=YOU)
            continue
        if not is_fully_bound(claim) and claim.status.phase != "Bound":
            said = (
                f"claim {name} is not bound; a pod that names its node (spec.nodeName) never passes the scheduler, and "
                "claims that wait for their first consumer wait for the scheduler's choice"
            )
            yield StageResult("volumes", HELD, said, (about,), owner=YOU)
            continue
        attachment = attachments.get((pod.spec.node_name, claim.spec.volume_name))
        if attachment is not None and not attachment.status.attached:
            problem = attachment.status.attach_error
            said = f"volume {claim.spec.volume_name} is not attached to {pod.spec.node_name}"
            said += f": {problem.message}" if problem is not None else ""
            at = problem.time if problem is not None else attachment.metadata.creation_timestamp
            names = (f"VolumeAttachment {attachment.name}", about)
            yield StageResult("volumes", HELD, said, names, attachment.spec.attacher, at, PLATFORM)
            continue
        elsewhere = [
            n
            for (n, volume), one in attachments.items()
            if volume == claim.spec.volume_name and n != pod.spec.node_name and one.status.attached
        ]
        if elsewhere and "ReadWriteMany" not in claim.spec.access_modes and attachment is None:
            places = ", ".join(elsewhere)
            said = f"volume {claim.spec.volume_name} is attached to {places} and must be detached there first"
            users = [
                p.key
                for p in dump.pods
                if p.spec.node_name in elsewhere
                and name in claim_names(p)
                and p.namespace == pod.namespace
                and p is not pod
            ]
            said += f"; {', '.join(users)} {'uses' if len(users) == 1 else 'use'} it there" if users else ""
            objects = (about, *(f"Pod {user}" for user in users))
            yield StageResult("volumes", HELD, said, objects, "the attach-detach controller", None, TEAM)


def _running(pod: Pod, node: Node | None, scheduler: Scheduler) -> Iterator[StageResult]:
    waits = list(_waiting_containers(pod, pod.status.container_statuses))
    yield from waits or [StageResult("start", PASSED, f"the pod runs on {pod.spec.node_name}")]
    ready = next((condition for condition in pod.status.conditions if condition.type == "Ready"), None)
    if ready is not None and ready.status == "False" and not waits:
        said = f"it is not Ready, {ready.reason}{f': {ready.message}' if ready.message else ''}"
        yield StageResult("start", NOTE, said, (), _kubelet(pod), ready.last_transition_time, YOU)
    for one in pod.status.conditions:
        if one.status != "True" or one.type not in ("PodResizePending", "PodResizeInProgress"):
            continue
        failing = one.type == "PodResizePending" or one.reason == "Error"
        words = "waits" if one.type == "PodResizePending" else "is in progress"
        said = f"its resize {words}{f', {one.reason}' if one.reason else ''}{f': {one.message}' if one.message else ''}"
        state = HELD if failing else NOTE
        yield StageResult("resize", state, said, (), _kubelet(pod), one.last_transition_time, YOU)
        if node is not None and one.type == "PodResizePending":
            yield from _resize_room(pod, scheduler)
    if pod.status.resize in ("Deferred", "Infeasible") and not any(
        condition.type == "PodResizePending" for condition in pod.status.conditions
    ):
        yield StageResult("resize", HELD, f"its resize is {pod.status.resize}", (), _kubelet(pod), None, YOU)
        if node is not None:
            yield from _resize_room(pod, scheduler)


def _resize_room(pod: Pod, scheduler: Scheduler) -> Iterator[StageResult]:
    """Yield the numbers of a pending resize: the request of the whole pod, and the free amount on its node."""
    rows = [row for row in room_on(scheduler, pod) if row[0] != "pods"]
    told = [
        f"{name}: {shown_amount(name, asked)} asked, {shown_amount(name, left)} of {shown_amount(name, most)} left"
        for name, asked, left, most in rows
    ]
    short = [row for row in rows if row[1] > row[2]]
    tail = "" if short else "; by requests it fits now: the kubelet tries again when a pod of the node changes"
    said = f"beside the other pods of {pod.spec.node_name}, {'; '.join(told)}{tail}"
    yield StageResult("resize", NOTE, said, (f"Node {pod.spec.node_name}",), owner=TEAM)
