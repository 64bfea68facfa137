"""The pictures of answers: a question names a kind of picture and how its data follow from the observation.

    picture=show.amounts("The quota of a period", lambda seen: {"quota": seen.observed}, unit="µs")

Each argument of a kind is a value, or a function of `Findings`. The data are read when the notebook observes the
answer; the picture is drawn when it is shown, with the learner's guess.

Imported by the lessons.
Face: the kinds `amounts` to `points`, and `where`, `levels`, `node_cpus` and `node_memory` for their data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kitlib.charts.answers import (
    PlaceCard,
    TimePoint,
    TimeSpan,
    amounts_chart,
    cpu_sets_chart,
    moments_chart,
    nested_chart,
    parts_chart,
    places_chart,
    pod_chart,
    steps_chart,
)
from kitlib.charts.base import Chart
from kitlib.kubelet.qos.policy import BEST_EFFORT_OOM_SCORE_ADJ, GUARANTEED_OOM_SCORE_ADJ
from kitlib.lab.exercise import Drawn, Findings, Picture, Question
from kitlib.lab.tables import short

WAY = ("API server", "scheduler", "kubelet", "kernel")
"""The way of a pod from its manifest."""
RESIZE = ("API server", "kubelet", "kernel")
"""The way of a resize, which the scheduler does not pass on."""


def picture_of(question: Question, seen: Findings) -> Drawn | None:
    """Return the function that draws a question's picture; None if the notebook's values do not fit it.

    A learner may change the cells before an answer, so that the values are others than the picture expects. The answer
    is shown without a picture then.
    """
    if question.picture is None:
        return None
    try:
        drawn = question.picture(seen)
        drawn(guess=None).svg()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None
    return drawn


def _kind(draw: Drawn) -> Callable[..., Picture]:
    def kind(title: Any, *data: Any, **more: Any) -> Picture:
        def picture(seen: Findings) -> Drawn:
            def read(value: Any) -> Any:
                return value(seen) if callable(value) else value

            return partial(draw, read(title), *map(read, data), **{name: read(value) for name, value in more.items()})

        return picture

    return kind


amounts = _kind(amounts_chart)
cpu_sets = _kind(cpu_sets_chart)
moments = _kind(moments_chart)
nested = _kind(nested_chart)
parts = _kind(parts_chart)
places = _kind(places_chart)
steps = _kind(steps_chart)


def pod(name: str) -> Picture:
    """Return the picture of a pod's requests and limits, whose outline shows its QoS class."""

    def picture(seen: Findings) -> Drawn:
        made = seen.cluster.pod(name)
        return partial(pod_chart, name, _containers(made), made.status.qos_class)

    return picture


def pod_picture(cluster: Any, name: str) -> Chart:
    """Return a pod's requests and limits as boxes, init containers first; the outline shows its QoS class."""
    made = cluster.pod(name)
    return pod_chart(name, _containers(made), made.status.qos_class)


def _containers(made: Any) -> list[dict[str, Any]]:
    """Return the rows of a pod's box, init containers first: milli-CPU and bytes, None = not set."""
    rows = []
    for one in [*made.spec.init_containers, *made.spec.containers]:
        row: dict[str, Any] = {"name": one.name}
        for what, given in (("request", one.resources.requests), ("limit", one.resources.limits)):
            row[f"cpu_{what}"] = given["cpu"].milli_value() if "cpu" in given else None
            row[f"memory_{what}"] = given["memory"].value() if "memory" in given else None
        rows.append(row)
    return rows


def outcomes(title: str, rows: Any) -> Picture:
    """Return the picture of what happens in each case: a box a case, crossed where it fails.

    Args:
        title: the subject in a few words.
        rows: case -> (words, whether it succeeds), or a function of `Findings`.
    """

    def boxes(seen: Findings) -> dict[str, Any]:
        found = rows(seen) if callable(rows) else rows
        return {case: [("", words, "now" if good else "stops")] for case, (words, good) in found.items()}

    return steps(title, boxes)


def admission(
    title: str, asked: str, *, refused: Callable[[Findings], bool], by: str = "API server", way: Sequence[str] = WAY
) -> Picture:
    """Return the picture of the way of a request: accepted, or refused by the API server or the kubelet.

    Args:
        title: the subject in a few words.
        asked: the request in a few words.
        refused: returns whether the request was refused.
        by: the component that refuses it.
        way: the components on its way.
    """

    def boxes(seen: Findings) -> dict[str, Any]:
        at = way.index(by) if refused(seen) else len(way)
        made = [("manifest", asked, "done")]
        for place, who in enumerate(way):
            words = "refuses it" if place == at else "passes it on" if place < at else "never sees it"
            made.append((who, words, "stops" if place == at else "done" if place < at else "never"))
        return {"": made}

    return steps(title, boxes)


def fates(title: str, words: Any = None) -> Picture:
    """Return the picture of what became of each pod of the cluster: one card a pod, struck out if it failed.

    Args:
        title: the subject in a few words.
        words: pod -> words about it, such as its usage, or a function of `Findings`.
    """

    def cards(seen: Findings) -> dict[str, Any]:
        made, said = {}, (words(seen) if callable(words) else words) or {}
        for pod in seen.cluster.pods():
            states = [container.state for container in pod.status.container_statuses]
            reasons = [pod.status.reason, *(state.get("terminated", {}).get("reason", "") for state in states)]
            phase = ", ".join(filter(None, (pod.status.phase, *dict.fromkeys(reasons))))
            state = {"Pending": "queue", "Failed": "gone"}.get(pod.status.phase, "")
            made[pod.name] = PlaceCard([], ": ".join(filter(None, (said.get(pod.name), phase))), state)
        return made

    return places(title, cards)


def where(seen: Findings) -> dict[str, str]:
    """Return pod -> node of the cluster's pods; "" = it waits."""
    return {pod.name: pod.spec.node_name for pod in seen.cluster.pods()}


def placed(title: str, pods: Any = where, *, chosen: Any = "", words: Any = None, leaving: Any = ()) -> Picture:
    """Return the picture of pods on their nodes; pods without a node wait in a queue.

    Args:
        title: the subject in a few words.
        pods: pod -> node ("" or "pending" = it waits), or a function of `Findings`.
        chosen: the node of the decision, or a function of `Findings`.
        words: node -> words about it, also of empty nodes, or a function of `Findings`.
        leaving: names of pods that are removed, or a function of `Findings`.
    """

    def cards(seen: Findings) -> dict[str, Any]:
        found, best, gone, special = (one(seen) if callable(one) else one for one in (pods, chosen, leaving, words))
        special = special or {}
        on = {pod: node if node != "pending" else "" for pod, node in found.items()}
        made = {}
        for name in sorted({*special, best, *on.values()} - {"", None}):
            inside = [pod for pod, node in on.items() if node == name]
            state = "chosen" if name == best else ""
            made[name] = PlaceCard(inside, special.get(name, ""), state, [one for one in inside if one in gone])
        waiting = [pod for pod, node in on.items() if not node]
        return made | ({"waits": PlaceCard(waiting, "", "queue")} if waiting else {})

    return places(title, cards)


def decided(title: str, decision: Callable[[Findings], Any]) -> Picture:
    """Return the picture of a scheduler's decision: the points of each node, or the reasons of its refusal."""

    def cards(seen: Findings) -> dict[str, Any]:
        made = decision(seen)
        total = {} if made.scores is None else dict(zip(made.feasible, map(int, made.scores.total), strict=True))
        result = {}
        for name in made.nodes:
            reasons = made.reasons_of(name)
            words = ", ".join(reasons) or (f"{total[name]} points" if name in total else "not evaluated")
            state = "chosen" if name == made.suggested_host else "refused" if reasons else ""
            result[name] = PlaceCard([], words, state)
        return result

    return places(title, cards)


def preempted(title: str) -> Picture:
    """Return the picture of a preemption: the pods of each node and its victims; facts: `scenario`, `decision`."""

    def pods(seen: Findings) -> dict[str, str]:
        return {pod.name: pod.spec.node_name for pod in seen["scenario"].pods}

    return placed(
        title,
        pods,
        chosen=lambda seen: seen["decision"].nominated,
        leaving=lambda seen: [victim.name for victim in seen["decision"].victims],
        words=lambda seen: {node.name: "" for node in seen["scenario"].nodes},
    )


def repaired(title: str, file: str, every: str) -> Picture:
    """Return the picture of a changed file until the kubelet writes it again; observed: the seconds, None = never.

    Args:
        title: the subject in a few words.
        file: the file or cgroup.
        every: the loop that would repair it, with its interval.
    """

    def rows(seen: Findings) -> dict[str, Any]:
        end = seen.observed
        if end is None:
            return {file: [TimeSpan(0, 120, "slow", "stays changed: no loop repairs it")]}
        return {file: [TimeSpan(0, end, "slow", "changed"), TimePoint(end, "new", every)]}

    return moments(title, rows)


def levels(path: str) -> list[tuple[str, str]]:
    """Return the levels of a cgroup path for `nested`; the pod's UID and container IDs are shortened."""
    names = [short(part) for part in path.split("/") if part]
    return [(name if len(name) <= 46 else f"{name[:14]}…{name[-26:]}", "") for name in names]


def points(title: str, this: str) -> Picture:
    """Return the picture of an oom_score_adj between the values of the other QoS classes."""
    return amounts(
        title,
        lambda seen: {
            "Guaranteed": GUARANTEED_OOM_SCORE_ADJ,
            this: seen.observed,
            "BestEffort": BEST_EFFORT_OOM_SCORE_ADJ,
        },
        picked=[this],
    )


def node_cpus(seen: Findings) -> int:
    """Return the number of CPUs of the first node."""
    cpus: int = seen.cluster.nodes[0].status.capacity["cpu"].value()
    return cpus


def node_memory(seen: Findings, less_gib: float = 0.0, *, limit_gib: float = 0.0) -> dict[str, float]:
    """Return the node's memory in GiB: capacity, the limit of kubepods if it is given, and allocatable.

    Args:
        seen: the notebook's values.
        less_gib: the difference between the capacity and the limit; 0 = not given.
        limit_gib: the limit; 0 = not given.
    """
    status = seen.cluster.nodes[0].status
    has, offers = (amount["memory"].value() / 2**30 for amount in (status.capacity, status.allocatable))
    limit = limit_gib or (has - less_gib if less_gib else 0)
    middle = {"limit of kubepods": limit} if limit else {"difference": has - offers}
    return {"capacity": has, **middle, "allocatable": offers}
