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
        "Which pod is evicted first?",
        choices=PODS,
        why="idle is 40 MiB above its request, report 140 MiB. cache uses less than it requests. The kubelet's "
        "ranking was: {order}.",
    ),
    Question(
        "when",
        "When cache has filled up, less than 260 MiB are left, but more than 60. After how many seconds is a pod "
        "evicted?",
        unit="seconds",
        tolerance=0.4,
        why="The grace period of 20 s begins when the kubelet, which checks every 10 s, first sees the pressure. "
        "It reported pressure in second {seen:.0f} and acted in second {acted:.0f}; cache was full in second "
        "{filled}.",
    ),
    Question(
        "phase",
        "What happens to the evicted pod?",
        choices=["it is deleted", STAYS, "it goes back to Pending and to another node"],
        answer_of=lambda found: STAYS if found == ("Failed", "Evicted") else "it is deleted",
        why="An evicted pod is never moved. If it had an owner, the owner would create a new pod.",
    ),
    Question(
        "priority",
        "Which pod is evicted first now?",
        choices=PODS,
        why="Both are above their request. The pod of lower priority is evicted, although it is less far above.",
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
            f"Then report is not on the node at all: beside cache, which requests 420Mi, {ROOM}Mi are left.",
        ),
        (above >= 40 * MIB, f"report is then still {above // MIB} MiB above its request, and idle only 40."),
    )


EXERCISES = [
    Exercise(
        "survives",
        "idle requests nothing and is 40 MiB above its request. How far above its own may report be?",
        _survives,
        'answer = "125Mi"',
        "The pod that is further above its request is evicted first.",
    ),
    Exercise(
        "tie",
        "The third rule compares the memory above the request.",
        choice(
            "c",
            {
                "a": "a has no request, so it is 60 MiB above its request. The class is not compared.",
                "b": "b uses most, but only 50 MiB are above its request.",
            },
            otherwise='Answer "a", "b" or "c".',
        ),
        'answer = "c"',
        "c is 70 MiB above its request. Neither the total use nor the class decides.",
    ),
    Exercise(
        "grace",
        "Which threshold takes effect first when memory falls so fast?",
        number(
            0,
            {20: "The soft threshold's grace period no longer matters."},
            otherwise="A hard threshold waits for nobody.",
        ),
        "answer = 0",
        "The hard threshold is met: the kubelet acts at its next check, and the pod gets 1 s.",
    ),
    Exercise(
        "reclaim",
        "The minimum reclaim is added to the threshold.",
        number(660, {400: "400 MiB come on top of the threshold."}, otherwise="Add 260 and 400 together."),
        "answer = 660",
        "A node then does not go from one eviction to the next.",
    ),
]
