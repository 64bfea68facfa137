"""Questions and exercises of notebook 11, eviction under pressure."""

from __future__ import annotations

from typing import Any

from kitlib.api.resource import Quantity
from kitlib.lab.exercise import Exercise, Question, choice, first_problem, number

PODS = ("idle", "report", "cache")
STAYS = "it stays, Failed, with reason Evicted"
MIB = 2**20
ROOM = 768 - 60 - 420
"""MiB of the node minus its hard threshold and the request of cache."""

QUESTIONS = [
    Question(
        "who",
        "Who is evicted first?",
        choices=PODS,
        why="Above their request are idle (by 40 MiB) and report (by 140). cache keeps within its own. The kubelet's "
        "ranking was: {order}.",
    ),
    Question(
        "when",
        "Once cache has filled up, less than 260 MiB are left, but more than 60. How long until a pod is evicted?",
        unit="seconds",
        tolerance=0.4,
        why="20 s of grace, from the kubelet's first look at it. It looks every 10 s. It reported pressure in second "
        "{seen:.0f} and acted in second {acted:.0f}; cache was full in second {filled}.",
    ),
    Question(
        "phase",
        "What becomes of the evicted pod?",
        choices=["it is deleted", STAYS, "it goes back to Pending and to another node"],
        answer_of=lambda found: STAYS if found == ("Failed", "Evicted") else "it is deleted",
        why="An evicted pod is never moved. If it had an owner, the owner would make a new one.",
    ),
    Question(
        "priority",
        "Who is evicted first now?",
        choices=PODS,
        why="Both are above their request; the one of lower priority goes, though it is less far above it.",
    ),
    Question(
        "newcomers",
        "The node reports memory pressure. Which of the two new pods are placed on it at once?",
        choices=["both", "only the Burstable one", "neither"],
        answer_of=lambda nodes: "neither" if not any(nodes) else "both" if all(nodes) else "only the Burstable one",
        why="The node has the taint node.kubernetes.io/memory-pressure, and neither pod tolerates it.",
    ),
]


def _survives(answer: Any, _: Any) -> str:
    request = Quantity.parse(str(answer)).value()
    above = 160 * MIB - request
    return first_problem(
        (
            request > ROOM * MIB,
            f"Then it is not on the node at all: beside cache, which requests 420Mi, {ROOM}Mi are left.",
        ),
        (above >= 40 * MIB, f"report is then still {above // MIB} MiB above its request, and idle only 40."),
    )


EXERCISES = [
    Exercise(
        "survives",
        "idle is 40 MiB above its request of nothing. How far above its own may report be?",
        _survives,
        'answer = "125Mi"',
        "The pod that is further above its request goes first.",
    ),
    Exercise(
        "tie",
        "The third rule compares what is used above the request.",
        choice(
            "c",
            {
                "a": "It has no request, but the class is not compared: it is 60 MiB above nothing.",
                "b": "It uses most, but only 50 MiB of that are above its request.",
            },
            otherwise='Answer "a", "b" or "c".',
        ),
        'answer = "c"',
        "It is 70 MiB above its request; neither the use nor the class decides.",
    ),
    Exercise(
        "grace",
        "Which threshold is crossed first by such a fall?",
        number(
            0,
            {20: "The soft threshold's grace does not matter any more."},
            otherwise="A hard threshold waits for nobody.",
        ),
        "answer = 0",
        "The hard threshold is met: the kubelet acts at its next look, and the pod gets 1 s.",
    ),
    Exercise(
        "reclaim",
        "The minimum reclaim is added to the threshold.",
        number(660, {400: "That comes on top of the threshold."}, otherwise="260 and 400 together."),
        "answer = 660",
        "So that a node does not go from one eviction to the next.",
    ),
]
