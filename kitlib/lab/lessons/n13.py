"""Questions and exercises of notebook 13, topology spread."""

from __future__ import annotations

from typing import Any

from kitlib.examples.stories import story
from kitlib.lab.exercise import Exercise, Question, first_problem, number

NOWHERE = "nowhere: it stays pending"
WORKERS = ("worker", "worker2", "worker3", "worker4", NOWHERE)
ADDED = "zone3, after the autoscaler has added it"
THIRD = ("zone1 or zone2", ADDED, "it waits for ever")


def _third(zone: str) -> str:
    return {"zone3": ADDED, "pending": "it waits for ever"}.get(zone, "zone1 or zone2")


def _side(fate: tuple[str, list[str]]) -> str:
    host, before = fate
    return "it stays pending" if not host else "the same" if host in before else "it goes to zone2"


def _default_policy(fate: tuple[list[str], dict[str, Any]]) -> str:
    best, by_policy = fate
    return "it waits: the empty zone counts" if (best or "pending") == by_policy["Ignore"] else "it is placed"


QUESTIONS = [
    Question(
        "old",
        "On which node does Kubernetes 1.23 place the pod test?",
        choices=WORKERS,
        answer_of=lambda host: host or NOWHERE,
        why="Release 1.23 counts the pods on worker3: zone1 has 2 pods, zone2 has 3. In zone2 the skew is 3 + 1 − 2 = "
        "2, and zone1 is full.",
    ),
    Question(
        "new",
        "On which node does Kubernetes 1.24 place the pod test?",
        choices=WORKERS,
        answer_of=lambda host: host or NOWHERE,
        why="Release 1.24 does not count nodes that the pod's node affinity excludes. zone2 has 1 pod, so test fits "
        "there.",
    ),
    Question(
        "side",
        "Release 1.23 places the pod test in zone1. What does 1.24 do?",
        choices=["the same", "it goes to zone2", "it stays pending"],
        answer_of=_side,
        why="Release 1.24 does not count worker4: zone1 has 2 pods, zone2 has 1. Only zone2 is allowed, and test "
        "fits on neither of its nodes.",
    ),
    Question(
        "taints",
        "With the default policies of 1.26, what happens to a pod that spreads over the three zones with maxSkew 1?",
        choices=["it is placed", "it waits: the empty zone counts"],
        answer_of=_default_policy,
        why="The default nodeTaintsPolicy is Ignore: the tainted zone counts with 0 pods and blocks other zones.",
    ),
    Question(
        "third",
        "Without minDomains, in which zone does the third pod run?",
        choices=THIRD,
        answer_of=_third,
        why="A skew of 1 is allowed, so no pod has to wait, and the autoscaler adds no node in zone3.",
    ),
    Question(
        "min",
        "With minDomains: 3, in which zone does the third pod run?",
        choices=THIRD,
        answer_of=_third,
        why="With fewer zones than minDomains the smallest count is 0: a second pod in any zone would raise the "
        "skew to 2.",
    ),
    Question(
        "rounded",
        "Do the scores of the nodes differ between 1.23 and 1.24?",
        choices=["yes, by rounding", "no"],
        answer_of=lambda differ: "yes, by rounding" if differ else "no",
        why="The scheduler multiplies counts by a logarithm of the number of domains. 1.23 truncates the product, 1.24 "
        "rounds it.",
    ),
    Question(
        "defaults",
        "A Service selects the pods. Which nodes have the highest score for the fourth pod?",
        choices=["all four alike", "those of zone b", "a-1, beside the others"],
        answer_of=lambda best: {("b-1", "b-2"): "those of zone b", ("a-1",): "a-1, beside the others"}.get(
            tuple(best[1]), "all four alike"
        ),
        why="The default constraints prefer zones and hosts with fewer pods of the same Service. "
        "Without a Service or an owner no selector defines which pods belong together.",
    ),
    Question(
        "cordoned",
        "How many of the 15 pods stay pending?",
        unit="pods",
        why="The three pods of the cordoned zone count. Each other zone may have one pod more: 4 + 4 + 3 pods run.",
    ),
]


def _room(answer: Any, _: Any) -> str:
    from dataclasses import replace

    first = story("affinity-and-skew")
    free = [p for p in first.pods if p.spec.node_name != "worker"]
    best = replace(first, pods=free).decide("1.23").best
    return first_problem(
        (str(answer) in best, ""),
        (str(answer) == "worker4", "In 1.23 the pods on worker3 count, so zone2 has more pods than zone1."),
        (True, "worker has room only if pods leave it. Then zone1 has fewer matching pods than zone2."),
    )


EXERCISES = [
    Exercise(
        "room",
        "Remove the pods of worker: replace(first, pods=[p for p in first.pods if p.spec.node_name != 'worker']).",
        _room,
        """
from dataclasses import replace

free = [p for p in first.pods if p.spec.node_name != "worker"]
answer = replace(first, pods=free).decide("1.23").best[0]
""",
        "zone1 has the smallest count, and it now has a node with room.",
    ),
    Exercise(
        "two",
        "Count zones first. Which zone may take one more pod with maxSkew 1?",
        number(
            1,
            {
                3: "3 + 1 − 1 = 3 in the first two zones.",
                2: "The first two zones have equal counts: maxSkew allows both or neither.",
            },
            otherwise="Compute the skew of each zone: its pods + 1 − the smallest count.",
        ),
        "answer = 1",
        "Only the third zone can take the pod, on the host without a pod. The other host would have a skew of 1 + 1 − "
        "0 = 2.",
    ),
    Exercise(
        "revision",
        "matchLabelKeys adds the new pod's own value of the label to the selector.",
        number(
            0,
            {4: "Without matchLabelKeys all four of the old revision would count."},
            otherwise="Only pods with the same pod-template-hash count.",
        ),
        "answer = 0",
        "Each revision spreads separately, so pods that will be deleted do not affect the new revision.",
    ),
    Exercise(
        "waits",
        "With fewer zones than minDomains the smallest count is 0, so each zone may hold maxSkew pods.",
        number(
            4,
            {2: "2 is right for maxSkew 1.", 6: "The cluster has two zones."},
            otherwise="Two zones can have maxSkew pods each.",
        ),
        "answer = 4",
    ),
]
