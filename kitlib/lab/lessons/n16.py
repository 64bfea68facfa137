"""Questions and exercises of notebook 16, one scenario, every release."""

from __future__ import annotations

from functools import cache
from typing import Any

from kitlib.api.release import RELEASES, Release
from kitlib.examples.stories import stories, story
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, choice, first_problem, number
from kitlib.study.compare import choice as decided
from kitlib.study.compare import compare

AFFINITY, TAINTS, LATER = (
    "excluded nodes no longer count in the skew",
    "tainted nodes no longer count",
    "the pod waits for an autoscaler",
)


@cache
def _differ(old: str, new: str) -> int:
    """Return the number of stories that two releases decide differently."""
    names = [name.partition("-")[2] for name in stories()]
    return sum(decided(story(name).decide(old)) != decided(story(name).decide(new)) for name in names)


def _first_with(gate: str) -> str:
    return next(release for release in RELEASES if Release(release).knows(gate) and Release(release).enabled(gate))


QUESTIONS = [
    Question(
        "how-many",
        "For how many of the thirteen scenarios does the decision (node, victim or none) differ "
        "between releases 1.23 and 1.36?",
        unit="stories",
        answer_of=len,
        why="The scenarios are {names}. In the other scenarios only messages or scores can differ.",
        picture=show.places(
            "Stories by their decision in 1.23 and 1.36",
            lambda seen: {
                name: show.PlaceCard([], "differs", "chosen") if name in seen.observed else show.PlaceCard([], "same")
                for name in seen["of"]
            },
        ),
    ),
    Question(
        "gates",
        "In the scenario named gates, a pod has schedulingGates. With default settings, what is the first "
        "release in which this pod waits?",
        choices=["1.24", "1.25", "1.26", "1.27"],
        why="The feature gate was alpha in 1.26 (off by default) and beta in 1.27 (on by default).",
        picture=show.steps(
            "A pod with schedulingGates, default settings",
            lambda seen: {
                "": [
                    (
                        release,
                        "waits at its gate"
                        if RELEASES.index(release) >= RELEASES.index(seen.observed)
                        else "gates are ignored",
                        "now"
                        if release == seen.observed
                        else "done"
                        if RELEASES.index(release) >= RELEASES.index(seen.observed)
                        else "never",
                    )
                    for release in ("1.24", "1.25", "1.26", "1.27", "1.28")
                ]
            },
        ),
    ),
    Question(
        "cause",
        "In the scenario affinity-side-effect, the scheduler of 1.23 finds a node for the pod, but the "
        "scheduler of 1.24 does not. Why?",
        choices=[AFFINITY, TAINTS, LATER],
        answer_of=lambda sentence: AFFINITY if "affinity" in sentence.lower() else TAINTS,
        why="Without this change, release 1.24 makes the same decision as release 1.23.",
    ),
    Question(
        "class",
        "Which QoS class does the pod with spec.resources have in release 1.31?",
        choices=["Guaranteed", "Burstable", "BestEffort"],
        why="Release 1.31 does not have the field spec.resources. (A real API server of 1.31 drops the field.)",
        picture=show.outcomes(
            "QoS class of the pod whole", lambda seen: {release: (qos, True) for release, qos in seen["of"].items()}
        ),
    ),
    Question(
        "cluster",
        "Where is the cgroup of the pod with spec.resources in a cluster of release 1.34?",
        choices=["directly below kubepods", "below besteffort"],
        answer_of=lambda above: "below besteffort" if "besteffort" in above else "directly below kubepods",
        why="From 1.34 on the feature gate is on by default and the pod is Guaranteed. Its cgroup path "
        "and its oom_score_adj change.",
        picture=show.nested(
            "Where the pod is in 1.34",
            lambda seen: [*show.levels(seen.observed), ("the pod whole", "")],
            picked=lambda seen: [len(show.levels(seen.observed))],
        ),
    ),
]


def _sentence(answer: Any, _: Any) -> str:
    right = compare(story("tainted-zone"), "1.24", "1.26").sentence()
    return first_problem(
        (str(answer) != right, "Use compare(story('tainted-zone'), …).sentence(), with the earlier release first.")
    )


def _by_gate(answer: Any, _: Any) -> str:
    old = story("affinity-and-skew").decide("1.23")
    return first_problem(
        (answer.release.name != "1.24", f"That is a decision of {answer.release.name}; use 1.24 and set a gate."),
        (decided(answer) != decided(old), "This is still the decision of release 1.24: which gate does compare name?"),
    )


EXERCISES = [
    Exercise(
        "match-label-keys",
        "Call Release(name).enabled('MatchLabelKeysInPodTopologySpread') for each release.",
        choice(
            lambda: _first_with("MatchLabelKeysInPodTopologySpread"),
            {"1.25": "The gate was alpha in 1.25, so it was off by default."},
            otherwise="Ask each release for its gate: Release(name).enabled(…).",
        ),
        """
GATE = "MatchLabelKeysInPodTopologySpread"
answer = next(name for name in RELEASES_ALL if Release(name).knows(GATE) and Release(name).enabled(GATE))
""",
    ),
    Exercise(
        "sentence",
        "The function compare takes a story and two releases.",
        _sentence,
        'answer = compare(story("tainted-zone"), "1.24", "1.26").sentence()',
    ),
    Exercise(
        "by-gate",
        "compare(story('affinity-and-skew'), '1.23', '1.24').gates contains the name of the gate. "
        "Gates named Kit… stand for changes without a gate. Then call story(…).decide('1.24', "
        "gates={name: …}).",
        _by_gate,
        'answer = story("affinity-and-skew").decide("1.24", gates={"KitSpreadHonoursNodeAffinity": False})',
        "This gate alone causes the difference.",
    ),
    Exercise(
        "upgrade",
        "Compare the columns 1.26 and 1.36 of the board.",
        number(lambda: _differ("1.26", "1.36"), otherwise="Count the rows in which the two columns differ."),
        """
answer = sum(board[name]["1.26"] != board[name]["1.36"] for name in names)
""",
        "For each of these scenarios, an upgrade from 1.26 to 1.36 changes the decision.",
    ),
]
