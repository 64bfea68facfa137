"""Explains why a pod waits: its stages in order, the blocking one, the cluster's messages, and remedies.

    explanation = explain_pod(dump, dump.pod("shop/web-0"))
    explanation.verdict, explanation.stage, explanation.exit_code

Stages that the kit models are computed; decisions of other controllers are read from their objects. If the verdict
depends on a field or kind that is not modelled or was not read, it is `uncertain`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from kitlib.advisor.blockers import VOLUME_PLUGINS, blocked, rejected_by
from kitlib.advisor.bound_pods import bound_stages
from kitlib.advisor.dump import Dump, unbound
from kitlib.advisor.findings import HELD, NOTE, PASSED, PLATFORM, STAGES, TEAM, YOU, Gap, StageResult, counted
from kitlib.advisor.foreign import (
    foreign_group,
    foreign_owner,
    foreign_scheduler,
    kueue_workload,
    let_go,
    read_group,
    read_kueue,
    read_node_makers,
)
from kitlib.advisor.gang import group_named_by, group_object, members_of, read_gang
from kitlib.advisor.last_word import LastWord, last_word
from kitlib.advisor.missing_kinds import gaps_of
from kitlib.advisor.remedies import Remedy, remedies
from kitlib.advisor.unreported import budget_gaps
from kitlib.api.core import TERMINAL_PHASES, PersistentVolumeClaim, Pod
from kitlib.api.meta import KubeObject
from kitlib.kubelet.loop.predicate import check_platform
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.framework.volumes import claim_names, is_fully_bound
from kitlib.scheduler.profile import DEFAULT_SCHEDULER
from kitlib.scheduler.scheduler import Scheduler

FITS, HOLDS, RUNS, ENDED, UNCERTAIN = "fits", "held", "runs", "ended", "uncertain"
"""Verdicts: a node is found; a stage blocks; it has its node; it has ended; the answer depends on a gap."""
EXIT_CODES = {FITS: 0, RUNS: 0, ENDED: 0, HOLDS: 1, UNCERTAIN: 3}
SELECTED_NODE = "volume.kubernetes.io/selected-node"


@dataclass(frozen=True)
class Explanation:
    """The answer about a pod, or about an object that makes pods.

    Attributes:
        subject: the object in question.
        pod: the examined pod; None if no pod of the object waits.
        verdict: a key of `EXIT_CODES`: fits, runs, has ended, holds, or is uncertain.
        stage: the first blocking stage; "" = none.
        results: the results of all stages, in order.
        gaps: fields and kinds that the answer depends on but does not take into account.
        decision: the computed scheduler's decision; None if scheduling is not reached.
        remedies: the smallest changes that help.
        said: the last message of the cluster.
    """

    subject: KubeObject
    pod: Pod | None
    verdict: str
    stage: str = ""
    results: tuple[StageResult, ...] = ()
    gaps: tuple[Gap, ...] = ()
    decision: Decision | None = None
    remedies: tuple[Remedy, ...] = ()
    said: LastWord = field(default_factory=LastWord)

    @property
    def exit_code(self) -> int:
        """0: it fits, runs or has ended; 1: it is blocked; 3: the answer is uncertain."""
        return EXIT_CODES[self.verdict]

    @property
    def held(self) -> StageResult | None:
        """The result of the blocking stage; None without one."""
        return next((stage for stage in self.results if stage.state == HELD and stage.stage == self.stage), None)


def explain_pod(dump: Dump, pod: Pod, *, find_remedies: bool = True, scheduler: Scheduler | None = None) -> Explanation:
    """Return the answer about one pod.

    Args:
        dump: the cluster.
        pod: a pod of the cluster.
        find_remedies: whether to look for changes that help if filters block the pod.
        scheduler: an existing `dump.scheduler(without=pod)`; None = make one.
    """
    scheduler = scheduler or dump.scheduler(without=pod)
    gaps = gaps_of(dump, pod)
    if pod.spec.node_name or pod.status.phase in TERMINAL_PHASES:
        results = list(bound_stages(dump, pod, scheduler))
        stage = first_held(results)
        verdict = HOLDS if stage else ENDED if pod.status.phase == "Succeeded" else RUNS
        # The pod has its node, so no gap in the scheduling rules can change the verdict any longer.
        placed = [gap for gap in gaps if not gap.field.startswith("spec.schedulingGroup")]
        return Explanation(pod, pod, verdict, stage, tuple(results), tuple(replace(g, decides=False) for g in placed))
    results = [*_queues(dump, pod), *_gates(pod), *_groups(dump, pod)]
    before = first_held(results)
    # Without its gates, so that the answer covers the stages behind them too.
    decision = scheduler.explain(_ungated(pod))
    results += _scheduling(dump, pod, scheduler, decision, before)
    # Budgets do not forbid a preemption, but they decide which victims are chosen.
    gaps += [replace(gap, decides=False) for gap in budget_gaps(dump, decision.victims)]
    stage = first_held(results)
    if any(one.stage == "gang" and one.state == PASSED for one in results):
        gaps = [gap for gap in gaps if gap.field not in ("spec.schedulingGroup", "spec.workloadRef")]
    foreign = scheduler_of_others(dump, pod)
    if foreign:
        by = foreign_scheduler(foreign) or "another scheduler"
        why = f"{by} ({foreign}) decides about the pod; kube-scheduler's rules say only what they would"
        gaps.append(Gap("Pod", "spec.schedulerName", why))
    said = last_word(dump, pod, None if before else decision)
    helps: list[Remedy] = []
    if find_remedies and not before and not foreign and stage in ("filters", "volumes"):
        helps = remedies(dump, pod, scheduler=scheduler)
    verdict = _verdict(stage, before, foreign, decision, gaps, said)
    shown = replace_gate(decision, pod, scheduler)
    return Explanation(pod, pod, verdict, stage, tuple(results), tuple(gaps), shown, tuple(helps), said)


def replace_gate(decision: Decision, pod: Pod, scheduler: Scheduler) -> Decision:
    """Return the decision that the scheduler makes, scheduling gates included."""
    return scheduler.explain(unbound(pod)) if pod.spec.scheduling_gates else decision


def _verdict(stage: str, before: str, foreign: str, decision: Decision, gaps: list[Gap], said: LastWord) -> str:
    if before:
        return HOLDS
    if foreign:
        return UNCERTAIN
    if not stage:
        return UNCERTAIN if said.contradicts or any(gap.decides for gap in gaps) else FITS
    rejecting = set(rejected_by(decision))
    # Namespace selectors cannot be evaluated without the Namespaces, so a rejection by them may be wrong.
    wrongly = any(gap.kind == "Namespace" and "InterPodAffinity" in rejecting for gap in gaps)
    return UNCERTAIN if wrongly else HOLDS


def first_held(results: list[StageResult]) -> str:
    """Return the first blocking stage; "" = none."""
    held = [stage.stage for stage in results if stage.state == HELD]
    return min(held, key=STAGES.index, default="")


def _ungated(pod: Pod) -> Pod:
    made = unbound(pod)
    made.spec.scheduling_gates = []
    return made


def scheduler_of_others(dump: Dump, pod: Pod) -> str:
    """Return the pod's scheduler if it is not the computed one; "" = it is."""
    own = dump.profile.name if dump.profile is not None else DEFAULT_SCHEDULER
    wanted = pod.spec.scheduler_name or DEFAULT_SCHEDULER
    return wanted if wanted != own else ""


def owners_of(dump: Dump, pod: KubeObject) -> list[KubeObject]:
    """Return the owners of an object that were read, the nearest first."""
    found: list[KubeObject] = [pod]
    for _ in range(5):
        above = next((reference for reference in found[-1].metadata.owner_references if reference.controller), None)
        owner = above and next(
            (
                item
                for item in dump.objects
                if item.kind == above.kind and item.name == above.name and item.namespace == pod.namespace
            ),
            None,
        )
        if not owner:
            break
        found.append(owner)
    return found[1:]


def _queues(dump: Dump, pod: Pod) -> Iterator[StageResult]:
    """Yield the results of a queueing controller that owns a gate of the pod, or has admitted it."""
    workload = kueue_workload(dump.objects, [pod, *owners_of(dump, pod)])
    if workload is not None:
        results = read_kueue(dump.objects, workload)
        gated = any(foreign_owner(gate.name) == "Kueue" for gate in pod.spec.scheduling_gates)
        yield from results if gated else let_go(results)


def _gates(pod: Pod) -> Iterator[StageResult]:
    for gate in pod.spec.scheduling_gates:
        by = foreign_owner(gate.name)
        if by:
            said = f"the scheduling gate {gate.name} is {by}'s: {by} removes it when it admits the pod"
        else:
            said = f"the scheduling gate {gate.name} is set; who set it removes it when its condition holds"
        yield StageResult("gate", HELD, said, (f"Pod {pod.key}",), owner=by or "the gate's owner")


def _groups(dump: Dump, pod: Pod) -> Iterator[StageResult]:
    group = group_named_by(pod)
    if group is not None:
        obj = group_object(dump.objects, pod.namespace, group)
        members = members_of(dump.pods, pod.namespace, group)
        if obj is not None:
            yield read_gang(obj, group, members)
        else:
            said = f"the {group.kind} {group} was not read; {counted(len(members), 'member', 'exists', 'exist')}"
            yield StageResult("gang", NOTE, said, owner=YOU)
    name, other = foreign_group(dump.objects, pod)
    if not name:
        return
    same = [one for one in dump.pods if foreign_group((), one)[0] == name and one.namespace == pod.namespace]
    members = [one for one in same if one.status.phase not in TERMINAL_PHASES]
    if other is not None:
        yield from read_group(dump.objects, other, members)
    else:
        bound = sum(bool(one.spec.node_name) for one in members)
        exist, have = counted(len(members), "member", "exists", "exist"), "has" if bound == 1 else "have"
        said = f"PodGroup {name} was not read; {exist}, {bound} {have} a node"
        yield StageResult("gang", NOTE, said, owner=YOU)


def _scheduling(dump: Dump, pod: Pod, scheduler: Scheduler, decision: Decision, before: str) -> Iterator[StageResult]:
    """Yield filters, preemption, volumes and binding; after a blocking stage they are notes."""
    state = NOTE if before else HELD
    ahead = "once it is let through, " if before else ""
    if decision.suggested_host:
        said = f"{ahead}{len(decision.feasible)} of {len(decision.nodes)} nodes pass every filter"
        yield StageResult("filters", PASSED, said)
        yield from _binding(dump, pod, state)
        yield from _platform(scheduler, pod, decision.suggested_host, state)
        return
    volumes = VOLUME_PLUGINS & set(rejected_by(decision))
    waiting = _nominated(dump, pod)
    if decision.nominated or waiting:
        yield StageResult("filters", NOTE, f"{ahead}{decision.filter_message}")
        if waiting:
            yield replace(waiting, state=state)
        else:
            victims = tuple(f"Pod {victim.key}" for victim in decision.victims)
            gone = ", ".join(victim.key for victim in decision.victims)
            said = f"{ahead}preempting {gone} makes room on {decision.nominated}"
            yield StageResult("preemption", state, said, victims, owner="kube-scheduler")
    else:
        owner = PLATFORM if volumes else YOU
        yield StageResult("volumes" if volumes else "filters", state, f"{ahead}{decision.message}", owner=owner)
        yield from _no_preemption(pod, decision)
    yield from blocked(scheduler, decision, _ungated(pod))
    yield from read_node_makers(dump.objects)


def _platform(scheduler: Scheduler, pod: Pod, name: str, state: str) -> Iterator[StageResult]:
    """Yield the kubelet's refusal of a pod for whose operating system the scheduler does not look."""
    node = scheduler.node(name)
    refusal = check_platform(pod, node, scheduler.release) if node is not None else None
    if refusal is not None:
        said = f"the scheduler chooses {name}, whose kubelet refuses the pod, {refusal.reason}: {refusal.message}"
        yield StageResult("admission", state, said, (f"Node {name}",), owner=YOU)


def _no_preemption(pod: Pod, decision: Decision) -> Iterator[StageResult]:
    if pod.spec.preemption_policy == "Never":
        yield StageResult("preemption", NOTE, "the pod preempts nothing (preemptionPolicy: Never)", owner=YOU)
    elif decision.post_filter is not None and decision.filters is not None and decision.filters.status.ok:
        said = f"no pods of lower priority than {pod.spec.priority or 0} whose removal makes room"
        yield StageResult("preemption", NOTE, said, owner=PLATFORM)


def _nominated(dump: Dump, pod: Pod) -> StageResult | None:
    """Return the wait for preempted pods to end on the nominated node; None = not nominated."""
    node = pod.status.nominated_node_name
    leaving = [one for one in dump.pods if one.spec.node_name == node and one.metadata.deletion_timestamp is not None]
    if not node or not leaving:
        return None
    names = tuple(f"Pod {one.key}" for one in leaving)
    ending = f"{counted(len(leaving), 'pod')} there still {'ends' if len(leaving) == 1 else 'end'}"
    said = f"{node} is nominated; {ending}: {', '.join(one.key for one in leaving[:3])}"
    return StageResult("preemption", HELD, said, names, "kube-scheduler", owner=TEAM)


def _binding(dump: Dump, pod: Pod, state: str) -> Iterator[StageResult]:
    """Yield the claims that wait for their provisioner on the selected node. Source: volumebinding PreBind."""
    claims = {(one.namespace or "default", one.name): one for one in dump.of(PersistentVolumeClaim)}
    for name in claim_names(pod):
        claim = claims.get((pod.namespace, name))
        node = claim.metadata.annotations.get(SELECTED_NODE) if claim is not None else None
        if claim is not None and node and not is_fully_bound(claim):
            said = (
                f"claim {name} waits for its provisioner on the selected node {node}; the pod is bound when the claim "
                "is, and tried again after 600 seconds (bindTimeoutSeconds)"
            )
            about = f"PersistentVolumeClaim {pod.namespace}/{name}"
            yield StageResult("binding", state, said, (about,), owner=PLATFORM)
