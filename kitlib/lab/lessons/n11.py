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
        "Which pod does the kubelet evict first?",
        choices=PODS,
        why="idle exceeds its request by 40 MiB, report by 140 MiB. cache uses less than its request. The kubelet's "
        "ranking was: {order}.",
    ),
    Question(
        "when",
        "After cache has allocated its memory, 60 to 260 MiB are available. After how many seconds is a pod evicted?",
        unit="seconds",
        tolerance=0.4,
        why="The grace period of 20 s begins when the kubelet, which checks every 10 s, first sees the pressure. "
        "It reported pressure in second {seen:.0f} and evicted in second {acted:.0f}; cache had allocated its "
        "memory in second {filled}.",
    ),
    Question(
        "phase",
        "What happens to the evicted pod?",
        choices=["it is deleted", STAYS, "it goes back to Pending and to another node"],
        answer_of=lambda found: STAYS if found == ("Failed", "Evicted") else "it is deleted",
        why="The kubelet does not move evicted pods. If the pod had an owner, the owner would create a new pod.",
    ),
    Question(
        "priority",
        "With the priority class, which pod does the kubelet evict first?",
        choices=PODS,
        why="idle and report exceed their requests. The kubelet selects the lower priority, not the larger excess.",
    ),
    Question(
        "newcomers",
        "The node reports memory pressure. Which of the two new pods does the scheduler place on the node at once?",
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
            f"report then does not fit on the node: beside cache, which requests 420Mi, {ROOM}Mi are left.",
        ),
        (above >= 40 * MIB, f"report is then still {above // MIB} MiB above its request, idle only 40 MiB."),
    )


EXERCISES = [
    Exercise(
        "survives",
        "idle requests nothing and is 40 MiB above its request. By how much may report exceed its own?",
        _survives,
        'answer = "125Mi"',
        "The kubelet first evicts the pod that exceeds its request by more.",
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
            otherwise="A hard threshold does not wait.",
        ),
        "answer = 0",
        "The hard threshold is met: the kubelet acts at its next check, and the pod gets 1 s.",
    ),
    Exercise(
        "reclaim",
        "The minimum reclaim is added to the threshold.",
        number(660, {400: "The kubelet adds the 400 MiB to the threshold."}, otherwise="Add 260 and 400 together."),
        "answer = 660",
        "With a minimum reclaim the kubelet does not evict again after a small change of the memory usage.",
    ),
]
