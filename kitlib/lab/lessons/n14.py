"""Questions and exercises of notebook 14, priority and preemption."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kitlib.api.resource import Quantity
from kitlib.api.serialize import deepcopy
from kitlib.examples.stories import story
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Findings, Question, choice, first_problem, number

PODS = ("web-1", "web-2", "batch-1", "web-3", "batch-2", "batch-3")
ONCE, ENDED, GRACE = "at once", "as soon as the victim has ended", "when the grace period is over"


def _started(times: tuple[float, float]) -> str:
    after, grace = times
    return ONCE if after < 1 else GRACE if after > grace - 1 else ENDED


def _two_cpus() -> str:
    full = story("preemption")
    urgent = deepcopy(full.question)
    urgent.spec.containers[0].resources.requests["cpu"] = Quantity.parse("2")
    pods = [urgent if one is full.question else one for one in full.pods]
    return replace(full, pods=pods).decide().nominated


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
        "node",
        "To place the pod named urgent, on which node does the scheduler preempt a pod?",
        choices=["n1", "n2", "n3"],
        why="The nodes n2 and n3 both have a victim of priority 10. Only the last rule, the latest start, "
        "distinguishes the two nodes.",
        formula="fewest budget violations; lowest maximum priority; smallest sum of priorities; fewest pods; "
        "latest start",
    ),
    Question(
        "victim",
        "Which pod does the scheduler preempt for the pod named urgent?",
        choices=PODS,
        why="The scheduler preempts the pod with the lowest priority. Among pods of equal priority it "
        "preempts the youngest, which started at 8:05.",
    ),
    Question(
        "cycles",
        "How many scheduling cycles does the scheduler need to place the pod named urgent?",
        unit="cycles",
        why="The first cycle selects the victim, and the second cycle places the pod.",
    ),
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
        "double",
        "Does the pod web fit on n1 if the scheduler also counts the nomination of the pod vip?",
        choices=["yes", "no: vip is counted twice"],
        answer_of=lambda host: "yes" if host else "no: vip is counted twice",
        why="The scheduler adds 1 CPU for the running pod vip and 1 CPU for its nomination, so web does not fit.",
        picture=show.outcomes(
            "web on n1",
            lambda seen: {
                "vip counted once": (seen["once"] or "does not fit", bool(seen["once"])),
                "vip counted twice": (seen.observed or "does not fit", bool(seen.observed)),
            },
        ),
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
        "never",
        "How many pods does the scheduler preempt for the pod patient?",
        unit="pods",
        why="The scheduler preempts no pod: the pod patient waits until another pod ends by itself.",
        picture=show.preempted("Pods that leave for patient"),
    ),
    Question(
        "queue",
        "What effect does the priority of the pod patient have?",
        choices=["nothing", "it stands first in the queue", "it cannot be evicted by the kubelet"],
        answer_of=lambda order: "it stands first in the queue" if order[0] == "patient" else "nothing",
        why="The scheduler orders its queue by priority, whatever the preemptionPolicy is.",
        picture=show.steps(
            "The active queue, first in front",
            lambda seen: {
                "": [
                    (f"{place}.", name, "now" if name.endswith("patient") else "done")
                    for place, name in enumerate(seen.observed, 1)
                ]
            },
        ),
    ),
    Question(
        "help",
        "How many pods does the scheduler preempt for the pod picky?",
        unit="pods",
        why="Without the pod small, only 200m of n1 are free, which is too little. The other nodes lack "
        "the required label, so preemption there does not help.",
        picture=show.preempted("Pods that leave for picky"),
    ),
    Question(
        "budget",
        "With the budget for the batch pods, which pod does the scheduler preempt?",
        choices=PODS,
        why="The scheduler avoids a budget violation if it can. It preempts a pod of priority 100 instead of a pod of "
        "priority 10.",
        picture=show.preempted("Pods that leave, with a budget for batch"),
    ),
    Question(
        "budget-all",
        "A second budget also allows no disruption of the web pods. How many pods does the scheduler preempt?",
        unit="pods",
        why="The scheduler tries to respect a budget, but violates it if no other preemption helps.",
        picture=show.preempted("Pods that leave, with budgets for all"),
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
        "two-cpus",
        "To free 2 CPUs, the scheduler must preempt both pods of a node. On which node is the maximum priority of the "
        "victims the lowest?",
        choice(
            _two_cpus,
            {"n1": "On n1 the pod web-1 has priority 100."},
            otherwise="On which node is every pod unimportant, with a low priority?",
        ),
        'answer = "n3"',
        "The pods batch-2 and batch-3 both have priority 10. On n2 the scheduler would have to "
        "preempt a pod of priority 100.",
    ),
    Exercise(
        "lowest",
        "Victims must have a lower priority than the new pod.",
        number(
            11,
            {10: "An equal priority is not lower.", 1: "The lowest-priority pods have priority 10."},
            otherwise="The lowest-priority pods have priority 10.",
        ),
        "answer = 11",
    ),
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
