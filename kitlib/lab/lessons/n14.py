"""Questions and exercises of notebook 14, priority and preemption."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kitlib.api.resource import Quantity
from kitlib.api.serialize import deepcopy
from kitlib.examples.stories import story
from kitlib.lab.exercise import Exercise, Question, choice, first_problem, number

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
        (old == 500, "The first: a pod's priority never changes after it has been created."),
        (new == 0, "The second: the default holds for every pod that is created without a class."),
        ((old, new) != (0, 500), "Without a class and without a default a pod has priority 0."),
    )


QUESTIONS = [
    Question(
        "node",
        "Which node is chosen?",
        choices=["n1", "n2", "n3"],
        why="n2 and n3 can both give away a pod of priority 10. They tie until the last rule: the latest start.",
        formula="fewest budget violations; lowest highest priority; smallest sum of priorities; fewest pods; "
        "latest start",
    ),
    Question(
        "victim",
        "Who must go?",
        choices=PODS,
        why="On a node the least important go, and of equals the youngest: the victim that started at 8:05.",
    ),
    Question(
        "cycles",
        "In how many scheduling cycles is urgent placed?",
        unit="cycles",
        why="The first finds the victim, the second places the pod.",
    ),
    Question(
        "better",
        "Where does vip go?",
        choices=["n1", "better"],
        why="The nominated node is tried first. If the pod fits there, no other node is looked at "
        "(PreferNominatedNode, "
        "stable since 1.24). Had n1 not been free yet, vip would have gone to the better node.",
    ),
    Question(
        "double",
        "With the nomination on top, does web fit?",
        choices=["yes", "no: vip is counted twice"],
        answer_of=lambda host: "yes" if host else "no: vip is counted twice",
        why="1 CPU of the running pod and 1 of its nomination: room is reserved for nothing.",
    ),
    Question(
        "promise",
        "What becomes of preemptor's nomination?",
        choices=["it stays: first come, first served", "it is cleared", "both are nominated"],
        answer_of=lambda pair: "it is cleared" if pair[0] and not pair[1] else "it stays: first come, first served",
        why="Else room would be kept for a pod that will not get it. Older schedulers forgot to clear it.",
    ),
    Question(
        "never",
        "How many pods are removed for it?",
        unit="pods",
        why="Nobody leaves for it. It waits until a pod ends by itself.",
    ),
    Question(
        "queue",
        "What then is its priority good for?",
        choices=["nothing", "it stands first in the queue", "it cannot be evicted by the kubelet"],
        answer_of=lambda order: "it stands first in the queue" if order[0] == "patient" else "nothing",
        why="The queue is ordered by priority, whatever the policy.",
    ),
    Question(
        "help",
        "How many victims are there?",
        unit="pods",
        why="Without small 200m would be free, which is too little; emptying the other nodes would not give them the "
        "label.",
    ),
    Question(
        "budget",
        "Who must go now?",
        choices=PODS,
        why="A budget is avoided where there is a choice: a pod of priority 100 goes rather than one of priority 10.",
    ),
    Question(
        "budget-all",
        "And if another budget allows no disruption of web either: how many victims are there?",
        unit="pods",
        why="A budget is a wish to preemption, not a wall: it is violated where nothing else helps.",
    ),
    Question(
        "starts",
        "When does the newcomer's process start?",
        choices=[ONCE, ENDED, GRACE],
        answer_of=_started,
        why="It ran {after:.0f} seconds later. The grace period is only the longest that it may take.",
    ),
    Question(
        "deaf",
        "And if the victim does not listen to SIGTERM? Its grace period is 6 seconds.",
        choices=[ONCE, ENDED, GRACE],
        answer_of=_started,
        why="It ran {after:.0f} seconds later: SIGKILL needs nobody's consent.",
    ),
]

EXERCISES = [
    Exercise(
        "two-cpus",
        "2 CPUs mean that both pods of a node must go. Which node's most important victim is the least important one?",
        choice(_two_cpus, {"n1": "web-1 has priority 100."}, otherwise="On which node is every pod unimportant?"),
        'answer = "n3"',
        "batch-2 and batch-3 both have priority 10; on n2 a pod of priority 100 would have to go.",
    ),
    Exercise(
        "lowest",
        "Victims must have a lower priority than the newcomer.",
        number(
            11,
            {10: "Equal is not lower.", 1: "The least important pods have priority 10."},
            otherwise="The least important pods have priority 10.",
        ),
        "answer = 11",
    ),
    Exercise(
        "own-victim",
        "Would the pod fit after its victim has left?",
        number(0, {1: "Without that pod the affinity cannot be satisfied."}, otherwise="There is only one candidate."),
        "answer = 0",
        "Removing it does not help, so preemption does not do it: the pod stays pending.",
    ),
    Exercise(
        "default",
        "The admission plugin Priority sets the priority when a pod is created.",
        _default_class,
        "answer = (0, 500)",
        "A pod's priority is set once; old pods keep theirs until they are made again.",
    ),
]
