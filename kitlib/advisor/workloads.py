"""Explains why an object does not have its pods: its own stages, then those of its waiting pod.

Source: pkg/controller job, cronjob, deployment, replicaset, statefulset, daemon; podautoscaler (conditions).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC
from typing import Any, cast

from kitlib.advisor.creation import read_creation
from kitlib.advisor.dump import Dump
from kitlib.advisor.explanation import ENDED, FITS, HOLDS, RUNS, UNCERTAIN, Explanation, explain_pod, first_held
from kitlib.advisor.findings import (
    HELD,
    NOTE,
    PASSED,
    PLATFORM,
    YOU,
    Gap,
    StageResult,
    clock,
    conditions_of,
    counted,
    data_of,
    group_of,
    items,
    name_of,
    number,
    text,
)
from kitlib.advisor.foreign import (
    QUEUE_NAME,
    foreign_group,
    foreign_owner,
    kueue_workload,
    let_go,
    read_group,
    read_keda,
    read_kueue,
)
from kitlib.advisor.gang import GroupName, members_of, read_gang
from kitlib.advisor.last_word import event_time, is_about
from kitlib.api.autoscaling import HorizontalPodAutoscaler
from kitlib.api.batch import Job
from kitlib.api.core import TERMINAL_PHASES, Event, Pod, ResourceQuota
from kitlib.api.cron import parse_standard
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject, is_condition_true
from kitlib.api.pod_templates import template_of
from kitlib.controllers.pod_control import pod_from_template

Results = Iterator[StageResult]


def explain_object(dump: Dump, obj: KubeObject, *, find_remedies: bool = True) -> Explanation:
    """Return the answer about a pod, or about an object that creates pods.

    Raises:
        KitError: the kind does not create pods.
    """
    if isinstance(obj, Pod):
        return explain_pod(dump, obj, find_remedies=find_remedies)
    read = READERS.get(obj.kind)
    if read is None:
        raise KitError(f"explain: {obj.kind} {obj.key}: unsupported kind; supported kinds: Pod, {', '.join(READERS)}")
    own = [*read(dump, obj), *read_keda(dump.objects, obj)]
    stage = first_held(own)
    target = scale_target(dump, obj)
    if target is not None and not stage:
        below = explain_object(dump, target, find_remedies=find_remedies)
        return replace(below, subject=obj, results=(*own, *below.results))
    pods = pods_of(dump, obj)
    if stage:
        return Explanation(obj, None, HOLDS, stage, tuple(own), tuple(_gaps(dump, obj)))
    own.append(_counted(obj, pods))
    waiting = _that_waits(pods)
    if waiting is None or len(pods) < wanted(dump, obj):
        made = list(_creation(dump, obj, pods))
        own += made
        stage = first_held(own)
        if stage:
            return Explanation(obj, waiting, HOLDS, stage, tuple(own), tuple(_gaps(dump, obj)))
    if waiting is not None:
        below = explain_pod(dump, waiting, find_remedies=find_remedies)
        return replace(below, subject=obj, results=(*own, *below.results))
    return _without_pods(dump, obj, pods, own)


def _without_pods(dump: Dump, obj: KubeObject, pods: list[Pod], own: list[StageResult]) -> Explanation:
    """Return the answer if no pod of the object waits: it runs, has ended, or has no pods yet."""
    if any(stage.stage == "start" and stage.state == PASSED for stage in own):
        return Explanation(obj, None, ENDED, "", tuple(own))
    active = [pod for pod in pods if pod.status.phase not in TERMINAL_PHASES]
    if len(active) >= wanted(dump, obj):
        return Explanation(obj, None, RUNS, "", tuple(own))
    template = template_of(obj)
    if template is None:
        return Explanation(obj, None, UNCERTAIN, "", tuple(own), (Gap(obj.kind, "", "no pods of it were read"),))
    fits = dump.scheduler().explain(pod_from_template(template, obj))
    where = f"go to {fits.suggested_host}" if fits.suggested_host else f"wait: {fits.message}"
    own.append(StageResult("filters", NOTE, f"no pod is there yet; a new one would {where}"))
    gaps = tuple(_gaps(dump, obj))
    return Explanation(obj, None, UNCERTAIN if gaps else FITS, "", tuple(own), gaps, fits)


def _gaps(dump: Dump, obj: KubeObject) -> Iterator[Gap]:
    if obj.namespace and template_of(obj) is not None and not dump.has(ResourceQuota):
        yield Gap("ResourceQuota", "", "whether a quota of the namespace refuses the pods", decides=False)


def pods_of(dump: Dump, obj: KubeObject) -> list[Pod]:
    """Return the pods that an object or its owned objects have created."""
    return _pods_below(dump, obj, set())


def _pods_below(dump: Dump, obj: KubeObject, seen: set[tuple[str, str, str]]) -> list[Pod]:
    """Return the pods below an object.

    Args:
        dump: the cluster.
        obj: the object.
        seen: kind, namespace and name of the objects visited so far; owners may form a circle, as a Job and its
            Workload of Kueue do.
    """
    key = (obj.kind, obj.namespace, obj.name)
    if key in seen:
        return []
    seen.add(key)
    if obj.kind == "PodGroup":
        if foreign_owner(group_of(obj)):
            here = [pod for pod in dump.pods if pod.namespace == obj.namespace]
            return [pod for pod in here if foreign_group((), pod)[0] == obj.name]
        return members_of(dump.pods, obj.namespace, GroupName("PodGroup", obj.name))
    if obj.kind == "Workload":
        owners = {owner.uid or owner.name for owner in obj.metadata.owner_references}
        direct = [pod for pod in dump.pods if pod.metadata.uid in owners or pod.name in owners]
        jobs = [item for item in dump.objects if item.kind == "Job" and {item.metadata.uid, item.name} & owners]
        return [*direct, *(pod for job in jobs for pod in _pods_below(dump, job, seen))]
    found = list[Pod]()
    for candidate in dump.objects:
        above = next((owner for owner in candidate.metadata.owner_references if owner.controller), None)
        if above is None or candidate.namespace != obj.namespace:
            continue
        # The UID excludes pods of an earlier object with the same name.
        if (above.kind, above.name) == (obj.kind, obj.name) and above.uid in ("", obj.metadata.uid):
            found += [candidate] if isinstance(candidate, Pod) else _pods_below(dump, candidate, seen)
    return found


def scale_target(dump: Dump, obj: KubeObject) -> KubeObject | None:
    """Return the target of an autoscaler; None if `obj` is not an autoscaler or its target was not read."""
    if not isinstance(obj, HorizontalPodAutoscaler):
        return None
    about = obj.spec.scale_target_ref
    return next(
        (o for o in dump.objects if (o.kind, o.name, o.namespace) == (about.kind, about.name, obj.namespace)), None
    )


def wanted(dump: Dump, obj: KubeObject) -> int:
    """Return the number of simultaneous pods that an object requests."""
    if isinstance(obj, Job):
        left = obj.spec.completions - obj.status.succeeded if obj.spec.completions is not None else None
        most = 1 if obj.spec.parallelism is None else obj.spec.parallelism
        return most if left is None else min(most, max(0, left))
    if obj.kind == "DaemonSet":
        return sum(placement.should_run for placement in _placements(dump, obj).values())
    if obj.kind in ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"):
        return number(data_of(obj), "spec", "replicas", default=1)
    return 0


def _that_waits(pods: list[Pod]) -> Pod | None:
    """Return the pod to examine: one without a node, else one that does not run, else a rejected one."""
    ranks: tuple[Callable[[Pod], bool], ...] = (
        lambda pod: not pod.spec.node_name and pod.status.phase in ("", "Pending"),
        lambda pod: pod.status.phase == "Pending",
        lambda pod: pod.status.phase == "Failed" and not any(p.status.phase in ("Running", "Succeeded") for p in pods),
        lambda pod: any(condition.type == "PodResizePending" for condition in pod.status.conditions),
    )
    for rank in ranks:
        found = sorted((pod for pod in pods if rank(pod)), key=lambda pod: (len(pod.name), pod.name))
        if found:
            return found[0]
    return None


def _counted(obj: KubeObject, pods: list[Pod]) -> StageResult:
    active = [pod for pod in pods if pod.status.phase not in TERMINAL_PHASES]
    bound = sum(bool(pod.spec.node_name) for pod in active)
    running = sum(pod.status.phase == "Running" for pod in active)
    silent = sum(bool(pod.spec.node_name) and not pod.status.phase for pod in active)
    ended = len(pods) - len(active)
    more = f", {ended} {'has' if ended == 1 else 'have'} ended" if ended else ""
    unknown = f", {silent} {'is' if silent == 1 else 'are'} on a node without a status" if silent else ""
    have, run = "has" if bound == 1 else "have", "runs" if running == 1 else "run"
    said = f"{counted(len(active), 'pod', 'exists', 'exist')}, {bound} {have} a node, {running} {run}{unknown}{more}"
    return StageResult("creation", NOTE, said)


def _creation(dump: Dump, obj: KubeObject, pods: list[Pod]) -> Results:
    """Return why pods are missing: the controller's message, and whether the API server accepts another pod now."""
    template = template_of(obj)
    failing = _failure(dump, obj)
    if template is None or obj.kind == "CronJob":
        return
    result, _ = read_creation(dump, pod_from_template(template, obj))
    yield result
    if failing is None:
        return
    if result.state == HELD:
        # The computed rejection has the current numbers; the controller's message may be older.
        yield replace(failing, state=NOTE)
    elif len([pod for pod in pods if pod.status.phase not in TERMINAL_PHASES]) < wanted(dump, obj):
        yield failing


def _failure(dump: Dump, obj: KubeObject) -> StageResult | None:
    """Return a controller's last message about failed pod creation: a condition, else an event."""
    makers = [
        obj,
        *(
            item
            for item in dump.objects
            if item.kind == "ReplicaSet"
            and item.namespace == obj.namespace
            and any((owner.kind, owner.name) == (obj.kind, obj.name) for owner in item.metadata.owner_references)
        ),
    ]
    for controller in makers:
        found = conditions_of(controller).get("ReplicaFailure")
        if found is not None and found.status == "True":
            by = f"the controller of {name_of(controller)}"
            said = f"{found.reason}: {found.message}"
            return StageResult("creation", HELD, said, (name_of(controller),), by, found.last_transition_time, YOU)
    events = [e for e in dump.of(Event) if e.reason == "FailedCreate" and any(is_about(e, maker) for maker in makers)]
    newest = max(events, key=event_time, default=None)
    if newest is None:
        return None
    by = newest.reporting_component or str(newest.source.get("component") or "its controller")
    said = f"{newest.reason}: {newest.message}"
    return StageResult("creation", HELD, said, (name_of(obj),), by, newest.last_timestamp, YOU)


def _placements(dump: Dump, obj: KubeObject) -> dict[str, Any]:
    from kitlib.controllers.daemon.nodes import node_should_run

    return dict(node_should_run(cast(Any, obj), dump.nodes, dump.release))


def _job(dump: Dump, job: Any) -> Results:
    conditions = job.status.conditions
    if is_condition_true(conditions, "Complete"):
        yield StageResult("start", PASSED, "the Job is complete", said_by="the Job controller")
        return
    failed = next(
        (condition for condition in conditions if condition.type == "Failed" and condition.status == "True"), None
    )
    if failed is not None:
        said = f"the Job has failed, {failed.reason}: {failed.message}"
        yield StageResult("start", HELD, said, (name_of(job),), "the Job controller", failed.last_transition_time, YOU)
        return
    workload = kueue_workload(dump.objects, [job])
    queued = workload is not None or QUEUE_NAME in job.metadata.labels
    if workload is not None:
        results = read_kueue(dump.objects, workload)
        yield from results if job.spec.suspend else let_go(results)
    if job.spec.managed_by not in (None, "", "kubernetes.io/job-controller"):
        said = f"the Job is managed by {job.spec.managed_by} (spec.managedBy), not by the Job controller"
        yield StageResult("suspension", NOTE, said, (name_of(job),), owner=job.spec.managed_by)
    if job.spec.suspend:
        by = (
            foreign_owner(QUEUE_NAME)
            if queued
            else next(
                (foreign_owner(o.api_version) for o in job.metadata.owner_references if foreign_owner(o.api_version)),
                "",
            )
        )
        since = next(
            (condition.last_transition_time for condition in conditions if condition.type == "Suspended"), None
        )
        who = f"; {by} resumes it when it admits it" if by else ""
        queue = job.metadata.labels.get(QUEUE_NAME)
        read = f" (queue {queue}; its Workload was not read)" if queue and workload is None else ""
        what = "" if by else "; it starts when the field is false"
        said = f"the Job is suspended (spec.suspend: true){who}{read}{what}"
        yield StageResult("suspension", HELD, said, (name_of(job),), "", since, by or YOU)
    if job.spec.parallelism == 0:
        yield StageResult("scaling", HELD, "the Job wants no pods (spec.parallelism: 0)", (name_of(job),), owner=YOU)


def _cron_job(dump: Dump, cron_job: Any) -> Results:
    if cron_job.spec.suspend:
        yield StageResult(
            "suspension", HELD, "the CronJob is suspended (spec.suspend: true)", (name_of(cron_job),), owner=YOU
        )
        return
    active = [job.name for job in cron_job.status.active]
    if active and cron_job.spec.concurrency_policy == "Forbid":
        said = f"the next run waits for {', '.join(active)} (concurrencyPolicy: Forbid)"
        yield StageResult(
            "suspension", NOTE, said, tuple(f"Job {cron_job.namespace}/{name}" for name in active), owner=YOU
        )
    last = cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp
    if last is not None:
        try:
            coming = parse_standard(cron_job.spec.schedule).next(last.astimezone(UTC))
        except KitError as error:
            yield StageResult("suspension", HELD, f"spec.schedule: {error}", (name_of(cron_job),), owner=YOU)
            return
        zone = f", in the time zone {cron_job.spec.time_zone}" if cron_job.spec.time_zone else ""
        if coming is not None:
            said = f"the first run after {clock(last)} is at {clock(coming)} by {cron_job.spec.schedule!r}{zone}"
            yield StageResult("suspension", NOTE, said)


def _replicas(dump: Dump, obj: Any) -> Results:
    if obj.spec.replicas == 0:
        scaler = next((h for h in dump.of(HorizontalPodAutoscaler) if scale_target(dump, h) is obj), None)
        who = f"; HorizontalPodAutoscaler {scaler.name} does not scale from 0" if scaler is not None else ""
        yield StageResult("scaling", HELD, f"no pods are wanted (spec.replicas: 0){who}", (name_of(obj),), owner=YOU)
    generation, seen = obj.metadata.generation, number(data_of(obj), "status", "observedGeneration", default=-1)
    if generation is not None and 0 <= seen < generation:
        said = f"its controller has seen generation {seen} of {generation}"
        yield StageResult("creation", NOTE, said, (name_of(obj),), owner=PLATFORM)


def _deployment(dump: Dump, obj: Any) -> Results:
    yield from _replicas(dump, obj)
    if obj.spec.paused:
        said = "the rollout is paused (spec.paused: true): pods of a new template are not made"
        yield StageResult("scaling", NOTE, said, (name_of(obj),), owner=YOU)
    late = conditions_of(obj).get("Progressing")
    if late is not None and late.status == "False":
        said = f"{late.reason}: {late.message}"
        by = "the Deployment controller"
        yield StageResult("creation", NOTE, said, (name_of(obj),), by, late.last_transition_time)


def _stateful_set(dump: Dump, obj: Any) -> Results:
    yield from _replicas(dump, obj)
    pods = sorted(pods_of(dump, obj), key=lambda pod: (len(pod.name), pod.name))
    reported = [pod for pod in pods if pod.status.conditions or not pod.spec.node_name]
    late = next((pod for pod in reported if not is_condition_true(pod.status.conditions, "Ready")), None)
    if obj.spec.pod_management_policy != "Parallel" and late is not None and len(pods) < wanted(dump, obj):
        said = (
            f"pods are made in order (podManagementPolicy: OrderedReady): the next one waits until {late.name} is Ready"
        )
        yield StageResult("creation", NOTE, said, (name_of(late),), owner=YOU)


def _daemon_set(dump: Dump, obj: Any) -> Results:
    placements = _placements(dump, obj)
    runs = [name for name, placement in placements.items() if placement.should_run]
    others = [name for name in placements if name not in runs]
    if not runs:
        said = "no node matches its node selector, affinity and tolerations: it wants no pods"
        yield StageResult("scaling", HELD, said, (name_of(obj),), owner=YOU)
    elif others:
        shown = f"{', '.join(others[:3])}{f' and {len(others) - 3} more' if len(others) > 3 else ''}"
        said = f"it belongs on {len(runs)} of {len(placements)} nodes; not on {shown} (selector, affinity or a taint)"
        yield StageResult("scaling", NOTE, said, (name_of(obj),), owner=YOU)


def _autoscaler(dump: Dump, obj: Any) -> Results:
    conditions = {condition.type: condition for condition in obj.status.conditions}
    by, names = "the HPA controller", (name_of(obj),)
    for kind in ("AbleToScale", "ScalingActive"):
        reported = conditions.get(kind)
        if reported is not None and reported.status == "False":
            said = f"{kind} is False, {reported.reason}: {reported.message}"
            yield StageResult("scaling", HELD, said, names, by, reported.last_transition_time, YOU)
    limited = conditions.get("ScalingLimited")
    if limited is not None and limited.status == "True":
        said = f"{limited.reason}: {limited.message}"
        yield StageResult("scaling", NOTE, said, names, by, limited.last_transition_time, YOU)
    current, desired = obj.status.current_replicas, obj.status.desired_replicas
    if obj.status == type(obj.status)():
        yield StageResult("scaling", NOTE, "the HPA controller has not reported on it yet", names, owner=PLATFORM)
        return
    yield StageResult("scaling", NOTE, f"{current} replicas, {desired} desired", names, by)


def _pod_group(dump: Dump, obj: KubeObject) -> Results:
    pods = [pod for pod in pods_of(dump, obj) if pod.status.phase not in TERMINAL_PHASES]
    if foreign_owner(group_of(obj)):
        yield from read_group(dump.objects, obj, pods)
    else:
        yield read_gang(obj, GroupName("PodGroup", obj.name), pods)


def _workload(dump: Dump, obj: KubeObject) -> Results:
    if foreign_owner(group_of(obj)) == "Kueue":
        yield from read_kueue(dump.objects, obj)
        return
    for entry in items(data_of(obj), "spec", "podGroups"):
        group = GroupName("Workload", obj.name, text(entry, "name"))
        yield read_gang(obj, group, members_of(dump.pods, obj.namespace, group))


READERS: dict[str, Callable[[Dump, Any], Results]] = {
    "Job": _job,
    "CronJob": _cron_job,
    "Deployment": _deployment,
    "ReplicaSet": _replicas,
    "ReplicationController": _replicas,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "PodGroup": _pod_group,
    "Workload": _workload,
    "HorizontalPodAutoscaler": _autoscaler,
}
