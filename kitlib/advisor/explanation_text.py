"""An explanation as text, and as data for `kitlib explain --json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kitlib.advisor.change import OWNERS
from kitlib.advisor.dump import Dump
from kitlib.advisor.explanation import ENDED, FITS, HOLDS, RUNS, Explanation, scheduler_of_others
from kitlib.advisor.findings import HELD, YOU
from kitlib.api.core import Pod

GATED = "Scheduling is blocked due to non-empty scheduling gates"
"""The condition's message. Source: registry/core/pod applySchedulingGatedCondition."""


def in_text(dump: Dump, explanation: Explanation, *, remedies_asked: bool = True) -> Iterator[str]:
    """Yield the paragraphs of an answer."""
    pod = explanation.pod if isinstance(explanation.pod, Pod) else None
    if pod is not None and pod is not explanation.subject:
        yield f"{explanation.subject.kind} {explanation.subject.key}: looking at its pod {pod.key}."
    if pod is not None and pod.spec.node_name:
        yield f"Pod {pod.key} is bound to {pod.spec.node_name} ({pod.status.phase or 'Pending'})."
    foreign = scheduler_of_others(dump, pod) if pod is not None else ""
    if foreign and pod is not None and not pod.spec.node_name:
        yield (
            f"Pod {pod.key} asks for the scheduler {foreign!r}: the default scheduler does not look at it, and no "
            "event comes from it. If it did:"
        )
    yield headline(explanation)
    if explanation.decision is not None:
        yield explanation.decision.explain()
        if explanation.decision.gate is not None and pod is not None and pod.spec.scheduling_gates:
            yield f"There is no event. The condition PodScheduled says: {GATED}"
        elif explanation.decision.gate is not None:
            yield "There is no event and no condition: a pod that does not enter the queue is not tried."
        elif explanation.decision.message and pod is not None and not (foreign or pod.spec.node_name):
            yield f"The event says: {explanation.decision.message}"
    elif pod is not None and pod.spec.node_name and not explanation.stage:
        yield f"If it were scheduled anew: {dump.explain(pod).explain()}"
    if explanation.results:
        lines = [f"  {r.stage:10s} {r.state:6s} {str(r).rstrip('.')}.{_owner(r)}" for r in explanation.results]
        yield "\n".join(["Stages:", *lines])
    if explanation.said.text:
        yield explanation.said.text
    if explanation.remedies:
        yield "\n".join(["The smallest changes that let it in (each was tried):", *_by_owner(explanation)])
    elif (
        remedies_asked
        and explanation.stage in ("filters", "volumes")
        and explanation.decision is not None
        and not foreign
    ):
        yield "No change of up to three steps was found that lets it in."
    if explanation.gaps:
        yield f"Not taken into account: {'; '.join(map(str, explanation.gaps))}."
    if dump.unknown_release_text:
        yield f"A release that is not known: {dump.unknown_release_text}."
    if dump.release_origin:
        yield f"{dump.release_origin}."


def _owner(result: Any) -> str:
    return f" To be changed by {result.owner}." if result.owner and result.state == HELD else ""


def _by_owner(explanation: Explanation) -> Iterator[str]:
    for owner in OWNERS:
        found = [remedy for remedy in explanation.remedies if remedy.owner == owner]
        if found:
            yield f"  {owner}:" if owner != YOU else "  you, in the pod or its template:"
            yield from (f"  - {remedy}" for remedy in found)


def headline(explanation: Explanation) -> str:
    """Return the verdict in one sentence."""
    name = f"{explanation.subject.kind} {explanation.subject.key}"
    if explanation.verdict == HOLDS:
        held = explanation.held
        return (
            f"{name} is held at the stage {explanation.stage}{f': {held}' if held is not None else ''}".rstrip(".")
            + "."
        )
    if explanation.verdict == FITS:
        return f"{name} fits; no stage holds it."
    if explanation.verdict == RUNS:
        return f"{name} is held by nothing."
    if explanation.verdict == ENDED:
        return f"{name} has ended."
    why = [str(gap) for gap in explanation.gaps if gap.decides]
    if explanation.said.contradicts:
        why.append("by the rules the pod fits, and what the cluster says does not agree")
    return f"The answer is uncertain{': ' if why else ''}{'; '.join(why)}."


def as_data(dump: Dump, explanation: Explanation) -> dict[str, Any]:
    """Return the answer as plain data."""
    pod, decision = explanation.pod, explanation.decision
    if decision is None and pod is not None and pod.spec.node_name:
        decision = dump.explain(pod)
    held = explanation.held
    return {
        "subject": {
            "kind": explanation.subject.kind,
            "namespace": explanation.subject.namespace,
            "name": explanation.subject.name,
        },
        "pod": pod.key if pod is not None else "",
        "verdict": explanation.verdict,
        "stage": explanation.stage,
        "cause": str(held) if held is not None else "",
        "owner": held.owner if held is not None else "",
        "stages": [
            {
                "stage": r.stage,
                "state": r.state,
                "text": r.text,
                "objects": list(r.objects),
                "saidBy": r.said_by,
                "at": r.at.isoformat() if r.at is not None else None,
                "owner": r.owner,
            }
            for r in explanation.results
        ],
        "notModelled": [
            {"kind": g.kind, "field": g.field, "why": g.why, "decides": g.decides} for g in explanation.gaps
        ],
        "said": explanation.said.text,
        "release": str(decision.release if decision is not None else dump.release),
        "chosen": decision.suggested_host if decision is not None else "",
        "feasible": decision.feasible if decision is not None else [],
        "message": decision.message if decision is not None else "",
        "nodes": decision.reasons_by_node() if decision is not None else {},
        "victims": [victim.key for victim in decision.victims] if decision is not None else [],
        "remedies": [
            {
                "changes": [c.text for c in remedy.changes],
                "node": remedy.node,
                "owner": remedy.owner,
                "preempts": list(remedy.victims),
            }
            for remedy in explanation.remedies
        ],
        "leftOut": dump.left_out_of(pod) if pod is not None else dump.left_out,
        "unknownReleases": dump.unknown_releases,
        "scheduler": scheduler_of_others(dump, pod) if pod is not None else "",
        "runsOn": pod.spec.node_name if pod is not None else "",
    }
