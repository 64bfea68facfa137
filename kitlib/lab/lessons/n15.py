"""Questions and exercises of notebook 15, scheduling gates."""

from __future__ import annotations

from typing import Any

from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem, number


def _cost(found: dict[str, int]) -> str:
    if found["processes"]:
        return "a pause container and its cgroup"
    return "a cgroup" if found["cgroups"] else "nothing"


def _hints(answer: Any, _: Any) -> str:
    new, old = (str(one).lower() for one in answer)
    return first_problem(
        (new != "no", "Release 1.36 has queueing hints: does a label give a pod CPU?"),
        (
            old != "yes",
            "Release 1.28 without queueing hints detects only that a node changed, and tries again.",
        ),
    )


QUESTIONS = [
    Question(
        "status",
        "A pod has the field schedulingGates. Which reason does its condition PodScheduled have?",
        choices=["Unschedulable", "SchedulingGated", "Pending", "it has no such condition"],
        why="The scheduler never tried to place the pod, so the pod is not unschedulable and has no FailedScheduling "
        "event.",
        picture=show.steps(
            "A pod with schedulingGates",
            lambda seen: {
                "": [
                    ("API server", "stores the pod", "done"),
                    ("PreEnqueue", f"PodScheduled: {seen.observed}", "stops"),
                    ("Filter, Score", "are never asked", "never"),
                    ("kubelet", "never sees it", "never"),
                ]
            },
        ),
    ),
    Question(
        "cost",
        "What does a node create for a gated pod?",
        choices=["a pause container and its cgroup", "a cgroup", "nothing"],
        answer_of=_cost,
        why="The gated pod has no node, so no kubelet creates anything for it.",
        picture=show.amounts("With the gated pods", lambda seen: seen.observed),
    ),
    Question(
        "one-gate",
        "A pod has two scheduling gates, and a controller removes one of them. What happens?",
        choices=["it is scheduled", "it still waits"],
        answer_of=lambda node: "it is scheduled" if node else "it still waits",
        why="The scheduler waits until all gates are removed. You cannot add a gate to an existing pod.",
        picture=show.placed(
            "After one of two gates is removed", lambda seen: {"test-pod": seen.observed}, words={"n1": ""}
        ),
    ),
    Question(
        "cycles",
        "How many scheduling cycles does the gated pod cause?",
        unit="cycles",
        why="PreEnqueue keeps a gated pod out of the active queue, so the scheduler never tries to place it.",
    ),
    Question(
        "wasted",
        "How many scheduling cycles does the pod without a gate cause?",
        unit="cycles",
        tolerance=0.2,
        why="The scheduler tries the pod when it is created, and then after each event that might help. Each attempt "
        "evaluates all nodes.",
        picture=show.moments(
            "Scheduling cycles in ten minutes",
            lambda seen: {case: [show.TimePoint(second) for second in tried] for case, tried in seen["of"].items()},
        ),
    ),
    Question(
        "autoscaler",
        "How many nodes does the cluster have after two minutes if the pod has a scheduling gate?",
        unit="nodes",
        why="An autoscaler ignores gated pods. For an unschedulable pod without a gate it adds a node.",
        picture=show.amounts("Nodes after two minutes", lambda seen: seen["of"], unit="nodes", picked=["with a gate"]),
    ),
]

EXERCISES = [
    Exercise(
        "hints",
        "NodeResourcesFit checks the node in the event. Has the node's allocatable CPU grown?",
        _hints,
        'answer = ("no", "yes")',
        "Queueing hints prevent scheduling cycles that cannot succeed.",
    ),
    Exercise(
        "starve",
        "Which pod gets a CPU when it becomes free?",
        number(
            0,
            {
                1: "The next small pod gets each CPU that becomes free.",
                4: "The small pods are let through first by the quota manager, and one of them always waits.",
            },
            otherwise="Five small pods need CPUs at any time, and the quota is four CPUs.",
        ),
        "answer = 0",
        "The large pod may never run. A quota manager can prevent this: it admits the oldest pod "
        "first, or it reserves CPUs for the first pod in the queue.",
    ),
]
