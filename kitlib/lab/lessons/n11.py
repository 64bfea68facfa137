"""Questions and exercises of notebook 11, eviction under pressure."""

from __future__ import annotations

from typing import Any

from kitlib.api.resource import Quantity
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Findings, Question, choice, first_problem, number

PODS = ("idle", "report", "cache")
STAYS = "it stays, Failed, with reason Evicted"
MIB = 2**20
GRACE = 20
"""Grace period of the soft threshold in seconds."""
ATONCE, EXACT, RANGE = "within 10 s", "exactly 20 s later", "20 to 30 s later"
ROOM = 768 - 60 - 420
"""MiB of the node minus its hard threshold and the request of cache."""


def _eviction(seen: Findings) -> dict[str, list[show.TimeSpan | show.TimePoint]]:
    """Return what the kubelet does, in seconds since the threshold is crossed.

    The kubelet evicts at the measurement with which the grace period is over, so it began one grace period earlier.
    """
    saw, acted = seen["seen"] - seen["filled"], seen["acted"] - seen["filled"]
    measured = max(0, acted - GRACE)
    return {
        "eviction": [
            show.TimeSpan(0, measured, "waits", "not measured yet"),
            show.TimeSpan(measured, acted, "slow", f"grace period, {GRACE} s"),
            show.TimePoint(measured, "try", "measures"),
            show.TimePoint(acted, "end", "evicts"),
        ],
        "node status": [show.TimePoint(saw, "new", "MemoryPressure")],
    }


QUESTIONS = [
    Question(
        "who",
        "Which of the pods idle, report and cache does the kubelet evict first?",
        choices=PODS,
        why="The pod named idle uses 40 MiB more than it requests, and the pod named report uses 140 MiB "
        "more. The pod named cache uses less than it requests. The kubelet's ranking was: {order}.",
    ),
    Question(
        "when",
        "After the pod cache has allocated its memory, 60 to 260 MiB are available. When does the kubelet evict a pod?",
        choices=[ATONCE, EXACT, RANGE],
        answer_of=lambda waited: ATONCE if waited < GRACE else RANGE,
        why="The grace period of 20 s does not begin when the threshold is crossed, but at the kubelet's next "
        "measurement, up to 10 s later. Here the threshold was crossed in second "
        "{filled}, and the kubelet evicted a pod in second {acted:.0f}. The kubelet reports pressure with the next "
        "update of the node's status, here in second {seen:.0f}; the grace period does not depend on it.",
        picture=show.moments("From the threshold to the eviction", _eviction, every=10),
    ),
    Question(
        "phase",
        "What happens to the evicted pod?",
        choices=["it is deleted", STAYS, "it goes back to Pending and to another node"],
        answer_of=lambda found: STAYS if found == ("Failed", "Evicted") else "it is deleted",
        why="The kubelet does not move evicted pods. If the pod had an owner, the owner would create a new pod.",
        picture=show.fates("What became of each pod"),
    ),
    Question(
        "priority",
        "If report has the priority class important, which pod does the kubelet evict first?",
        choices=PODS,
        why="The pods named idle and report exceed their memory requests. Of these two pods, the kubelet "
        "selects the pod of lower priority, not the pod with the larger excess.",
        picture=show.fates(
            "What became of each pod",
            lambda seen: {
                name: f"{words}, evicted first" if name == seen.observed else words
                for name, words in {
                    "idle": "40Mi above its request, priority 0",
                    "report": "140Mi above, priority 1000",
                    "cache": "below its request",
                }.items()
            },
        ),
    ),
    Question(
        "newcomers",
        "The node reports memory pressure. Which of the two new pods does the scheduler place on the node immediately?",
        choices=["both", "only the Burstable one", "neither"],
        answer_of=lambda nodes: "neither" if not any(nodes) else "both" if all(nodes) else "only the Burstable one",
        why="The node has the taint node.kubernetes.io/memory-pressure, and neither pod tolerates it.",
        picture=show.placed(
            "The two new pods",
            lambda seen: dict(zip(("new-besteffort", "new-burstable"), seen.observed, strict=True)),
            words=lambda seen: {
                seen.cluster.nodes[0].name: ", ".join(
                    f"taint {taint.key.rpartition('/')[2]}" for taint in seen.cluster.nodes[0].spec.taints
                )
            },
        ),
    ),
]


def _survives(answer: Any, _: Any) -> str:
    request = Quantity.parse(str(answer)).value()
    above = 160 * MIB - request
    return first_problem(
        (
            request > ROOM * MIB,
            f"The pod report then does not fit on the node: beside cache, which requests 420Mi, {ROOM}Mi are left.",
        ),
        (
            above >= 40 * MIB,
            f"The pod report is then still {above // MIB} MiB above its request, and idle only 40 MiB.",
        ),
    )


EXERCISES = [
    Exercise(
        "survives",
        "The pod idle requests nothing and is 40 MiB above its request. By how much may the pod "
        "report exceed its request?",
        _survives,
        'answer = "125Mi"',
        "The kubelet first evicts the pod that exceeds its request by more.",
    ),
    Exercise(
        "tie",
        "The third rule of the ranking compares the memory use above the request.",
        choice(
            "c",
            {
                "a": "The pod a has no request, so it exceeds its request by 60 MiB. The QoS class is not compared.",
                "b": "The pod b uses most memory, but only 50 MiB are above its request.",
            },
            otherwise='Answer "a", "b" or "c".',
        ),
        'answer = "c"',
        "The pod c exceeds its request by 70 MiB. Neither the total memory use nor the QoS class matters.",
    ),
    Exercise(
        "grace",
        "Which threshold takes effect first when the available memory falls so fast?",
        number(
            0,
            {20: "The grace period of the soft threshold no longer matters."},
            otherwise="A hard threshold does not wait.",
        ),
        "answer = 0",
        "The available memory is below the hard threshold: the kubelet acts at its next check, and "
        "the pod gets 1 s to end.",
    ),
    Exercise(
        "reclaim",
        "The kubelet adds the minimum reclaim to the threshold.",
        number(660, {400: "The kubelet adds the 400 MiB to the threshold."}, otherwise="Add 260 and 400 together."),
        "answer = 660",
        "With a minimum reclaim the kubelet does not evict again after a small change of the memory usage.",
    ),
]
