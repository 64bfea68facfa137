"""Questions and exercises of notebook 13, topology spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kitlib.examples.stories import story
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem, number

NOWHERE = "nowhere: it stays pending"
WORKERS = ("worker", "worker2", "worker3", "worker4", NOWHERE)


def _side(fate: tuple[str, list[str]]) -> str:
    host, before = fate
    return "it stays pending" if not host else "the same" if host in before else "it goes to zone2"


def _default_policy(fate: tuple[list[str], dict[str, Any]]) -> str:
    best, by_policy = fate
    return "it waits: the empty zone counts" if (best or "pending") == by_policy["Ignore"] else "it is placed"


def _fate(best: Sequence[str] | str) -> str:
    """Return the best nodes of a decision in words."""
    return best if isinstance(best, str) else ", ".join(best) or "pending"


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


QUESTIONS = [
    Question(
        "new",
        "With the default policies, on which node does the scheduler place the pod named test?",
        choices=WORKERS,
        answer_of=lambda host: host or NOWHERE,
        why="The pod's node affinity excludes worker3, so the 2 pods there do not count: zone2 has 1 pod and zone1 "
        "has 2. In zone1 the skew would be 2 + 1 − 1 = 2, and zone1 is full; in zone2 it is 1, and worker4 has room.",
    ),
    Question(
        "taints",
        "With the default policies, what happens to a pod that spreads over the three zones with maxSkew 1?",
        choices=["it is placed", "it waits: the empty zone counts"],
        answer_of=_default_policy,
        why="Unlike nodeAffinityPolicy (Honor), nodeTaintsPolicy is Ignore by default: the scheduler counts the "
        "tainted zone with 0 pods, "
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
        "old",
        "On which node does Kubernetes 1.23 place the pod named test?",
        choices=WORKERS,
        answer_of=lambda host: host or NOWHERE,
        why="Release 1.23 counts the pods on worker3: zone1 has 2 pods, and zone2 has 3 pods. In zone2 "
        "the skew would be 3 + 1 − 2 = 2. The constraint allows zone1, but both of its nodes are full.",
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
]

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
]
