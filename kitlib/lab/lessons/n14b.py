"""Questions and exercises of notebook 14b, a preemption, second by second."""

from __future__ import annotations

from typing import Any

from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Findings, Question, first_problem, number

ONCE, ENDED, GRACE = "at once", "as soon as the victim has ended", "when the grace period is over"


def _started(times: tuple[float, float]) -> str:
    after, grace = times
    return ONCE if after < 1 else GRACE if after > grace - 1 else ENDED


def _default_class(answer: Any, _: Any) -> str:
    old, new = (float(one) for one in answer)
    return first_problem(
        (old == 500, "The first number is wrong: a pod's priority never changes after the pod has been created."),
        (new == 0, "The second number is wrong: the default applies to every pod that is created without a class."),
        ((old, new) != (0, 500), "Without a class and without a default a pod has priority 0."),
    )


def _arrivals(seen: Findings) -> dict[str, list[show.TimeSpan | show.TimePoint]]:
    """Return when the new pod was nominated and bound, and how long which processes ran; `of` has the rows."""
    rows = seen["of"]
    end, last = rows[-1]["second"], rows[-1]["processes of"]
    before = rows[0]["processes of"]
    left = next((row["second"] for row in rows if row["processes of"] != before), end)
    found: list[show.TimeSpan | show.TimePoint] = [
        show.TimeSpan(0, end, "waits"),
        show.TimePoint(end, "new", f"runs: {last}"),
    ]
    return {
        "new pod": found,
        f"before: {before}": [show.TimeSpan(0, left, "ends", "grace period"), show.TimePoint(left, "end")],
    }


QUESTIONS = [
    Question(
        "better",
        "On which node does the scheduler place the pod vip?",
        choices=["n1", "better"],
        why="The scheduler tries the nominated node first. If the pod fits there, it evaluates no other "
        "node (PreferNominatedNode, stable since 1.24). If n1 were not free yet, the scheduler would "
        "choose the other node (better).",
        picture=show.decided("vip, nominated to n1", lambda seen: seen["of"]),
    ),
    Question(
        "promise",
        "What happens to the nomination of the pod preemptor?",
        choices=["it stays: first come, first served", "it is cleared", "both are nominated"],
        answer_of=lambda pair: "it is cleared" if pair[0] and not pair[1] else "it stays: first come, first served",
        why="With the nomination the scheduler would reserve room for a pod that cannot use this room. "
        "Older releases did not clear the nomination.",
        picture=show.steps(
            "The nomination of preemptor",
            lambda seen: {
                "": [
                    ("preemptor", f"is nominated to {seen.observed[0]}", "done"),
                    ("emperor", "arrives with a higher priority", "done"),
                    (
                        "preemptor",
                        f"is nominated to {seen.observed[1] or 'no node'}",
                        "now" if seen.observed[1] else "stops",
                    ),
                ]
            },
        ),
    ),
    Question(
        "starts",
        "When does the process of the new pod start?",
        choices=[ONCE, ENDED, GRACE],
        answer_of=_started,
        why="The new process started {after:.0f} seconds later. The victim ended before its grace period expired.",
        picture=show.moments("From the new pod to its process", _arrivals),
    ),
    Question(
        "deaf",
        "The victim ignores SIGTERM, and its grace period is 6 seconds. When does the process of the new pod start?",
        choices=[ONCE, ENDED, GRACE],
        answer_of=_started,
        why="The new process started {after:.0f} seconds later, because no process can ignore SIGKILL.",
        picture=show.moments("From the new pod to its process", _arrivals),
    ),
]

EXERCISES = [
    Exercise(
        "own-victim",
        "Would the pod fit after the removal of its victim?",
        number(
            0,
            {1: "Without the victim the pod's affinity cannot be satisfied."},
            otherwise="The scheduler has only one candidate.",
        ),
        "answer = 0",
        "The removal of the victim does not help, so the scheduler removes no pod. The new pod stays pending.",
    ),
    Exercise(
        "default",
        "The admission plugin Priority sets the priority when a pod is created.",
        _default_class,
        "answer = (0, 500)",
        "The API server sets a pod's priority once. Existing pods keep their priority until they are recreated.",
    ),
]
