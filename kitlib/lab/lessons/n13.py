"""Questions and exercises of notebook 13, topology spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.examples.stories import story
from kitlib.lab import pictures as show
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


def _fate(best: Sequence[str] | str) -> str:
    """Return the best nodes of a decision in words."""
    return best if isinstance(best, str) else ", ".join(best) or "pending"


QUESTIONS = [
    Question(
        "old",
        "On which node does Kubernetes 1.23 place the pod named test?",
        choices=WORKERS,
        answer_of=lambda host: host or NOWHERE,
        why="Release 1.23 counts the pods on worker3: zone1 has 2 pods, and zone2 has 3 pods. In zone2 "
        "the skew would be 3 + 1 − 2 = 2, and zone1 is full.",
    ),
    Question(
        "new",
        "On which node does Kubernetes 1.24 place the pod named test?",
        choices=WORKERS,
        answer_of=lambda host: host or NOWHERE,
        why="Release 1.24 does not count nodes that the pod's node affinity excludes. So zone2 has 1 pod, "
        "and the pod named test fits in zone2.",
    ),
    Question(
        "side",
        "Release 1.23 places the pod named test in zone1. What does release 1.24 do?",
        choices=["the same", "it goes to zone2", "it stays pending"],
        answer_of=_side,
        why="Release 1.24 does not count the pod on worker4: zone1 has 2 pods, and zone2 has 1 pod. Only "
        "zone2 satisfies maxSkew, and the pod named test fits on neither of its nodes.",
        picture=show.outcomes(
            "Where the pod test goes",
            lambda seen: {
                "1.23": (", ".join(seen.observed[1]) or "pending", bool(seen.observed[1])),
                "1.24": (seen.observed[0] or "pending", bool(seen.observed[0])),
            },
        ),
    ),
    Question(
        "taints",
        "With the default policies of 1.26, what happens to a pod that spreads over the three zones with maxSkew 1?",
        choices=["it is placed", "it waits: the empty zone counts"],
        answer_of=_default_policy,
        why="The default nodeTaintsPolicy is Ignore: the scheduler counts the tainted zone with 0 pods, "
        "and this zone blocks other zones.",
        picture=show.outcomes(
            "nodeTaintsPolicy and the pod",
            lambda seen: {
                "by default": (_fate(seen.observed[0]), bool(seen.observed[0])),
                **{policy: (_fate(best), best != "pending") for policy, best in seen.observed[1].items()},
            },
        ),
    ),
    Question(
        "third",
        "Without minDomains, in which zone does the third pod run?",
        choices=THIRD,
        answer_of=_third,
        why="A skew of 1 is allowed, so no pod has to wait, and the autoscaler adds no node in zone3.",
        picture=show.placed(
            "Pods by zone, without minDomains",
            lambda seen: seen["of"],
            chosen=lambda seen: seen.observed,
            words={"zone1": "", "zone2": "", "zone3": ""},
        ),
    ),
    Question(
        "min",
        "With minDomains: 3, in which zone does the third pod run?",
        choices=THIRD,
        answer_of=_third,
        why="If the cluster has fewer zones than minDomains, the smallest count is 0. A second pod in any "
        "zone would raise the skew to 2.",
        picture=show.placed(
            "Pods by zone, minDomains: 3",
            lambda seen: seen["of"],
            chosen=lambda seen: seen.observed,
            words={"zone1": "", "zone2": "", "zone3": ""},
        ),
    ),
    Question(
        "rounded",
        "Do the scores of the nodes differ between releases 1.23 and 1.24?",
        choices=["yes, by rounding", "no"],
        answer_of=lambda differ: "yes, by rounding" if differ else "no",
        why="The scheduler multiplies counts by a logarithm of the number of domains. Release 1.23 "
        "truncates the product, and release 1.24 rounds it.",
        picture=show.amounts(
            "Points of PodTopologySpread",
            lambda seen: {
                f"{release} {node}": points for release, of in seen["of"].items() for node, points in of.items()
            },
            unit="points",
        ),
    ),
    Question(
        "defaults",
        "A Service selects the pods of web. Which nodes have the highest score for the fourth pod?",
        choices=["all four alike", "those of zone b", "a-1, beside the others"],
        answer_of=lambda best: {("b-1", "b-2"): "those of zone b", ("a-1",): "a-1, beside the others"}.get(
            tuple(best[1]), "all four alike"
        ),
        why="The default constraints prefer zones and hosts with fewer pods of the same Service. "
        "Without a Service or an owner no selector defines which pods belong together.",
        picture=show.outcomes(
            "Best nodes for the fourth pod",
            lambda seen: {
                case: (", ".join(best), True)
                for case, best in zip(("nothing selects it", "a Service selects it"), seen.observed, strict=True)
            },
        ),
    ),
    Question(
        "cordoned",
        "How many of the Deployment's 15 pods stay pending?",
        unit="pods",
        why="The scheduler counts the three pods of the cordoned zone. Each of the other zones may have "
        "one pod more, so 4 + 4 + 3 pods run.",
    ),
]


def _room(answer: Any, _: Any) -> str:
    from dataclasses import replace

    first = story("affinity-and-skew")
    free = [p for p in first.pods if p.spec.node_name != "worker"]
    best = replace(first, pods=free).decide("1.23").best
    return first_problem(
        (str(answer) in best, ""),
        (
            str(answer) == "worker4",
            "In 1.23 the scheduler counts the pods on worker3, so zone2 has more pods than zone1.",
        ),
        (True, "The node worker has room only if pods leave it. Then zone1 has fewer matching pods than zone2."),
    )


EXERCISES = [
    Exercise(
        "room",
        "Remove the pods of the node worker: replace(first, pods=[p for p in first.pods if "
        "p.spec.node_name != 'worker']).",
        _room,
        """
from dataclasses import replace

free = [p for p in first.pods if p.spec.node_name != "worker"]
answer = replace(first, pods=free).decide("1.23").best[0]
""",
        "zone1 has the smallest number of pods, and it now has a node with room.",
    ),
    Exercise(
        "two",
        "First count the pods of each zone. Which zone may take one more pod with maxSkew 1?",
        number(
            1,
            {
                3: "In the first two zones the skew would be 3 + 1 − 1 = 3.",
                2: "The first two zones have equal counts: maxSkew allows both or neither.",
            },
            otherwise="Compute the skew of each zone: its pods + 1 − the smallest count.",
        ),
        "answer = 1",
        "Only the third zone can take the pod, on its host without a pod. On the other host the skew "
        "would be 1 + 1 − 0 = 2.",
    ),
    Exercise(
        "revision",
        "matchLabelKeys adds the new pod's value of the label to the selector of the constraint.",
        number(
            0,
            {4: "Without matchLabelKeys the scheduler would count all four pods of the old revision."},
            otherwise="The scheduler counts only pods with the same pod-template-hash.",
        ),
        "answer = 0",
        "Each revision spreads separately, so pods that will be deleted do not affect the new revision.",
    ),
    Exercise(
        "waits",
        "With fewer zones than minDomains the smallest count is 0, so each zone may hold maxSkew pods.",
        number(
            4,
            {
                2: "2 is the right answer for maxSkew 1.",
                6: "6 is the right answer for three zones. The cluster has two zones.",
            },
            otherwise="Two zones can have maxSkew pods each.",
        ),
        "answer = 4",
    ),
]
