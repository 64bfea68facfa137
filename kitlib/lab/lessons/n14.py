"""Questions and exercises of notebook 14, priority and preemption."""

from __future__ import annotations

from dataclasses import replace

from kitlib.api.resource import Quantity
from kitlib.api.serialize import deepcopy
from kitlib.examples.stories import story
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, choice, number

PODS = ("web-1", "web-2", "batch-1", "web-3", "batch-2", "batch-3")


def _two_cpus() -> str:
    full = story("preemption")
    urgent = deepcopy(full.question)
    urgent.spec.containers[0].resources.requests["cpu"] = Quantity.parse("2")
    pods = [urgent if pod is full.question else pod for pod in full.pods]
    return replace(full, pods=pods).decide().nominated


QUESTIONS = [
    Question(
        "node",
        "To place the pod named urgent, on which node does the scheduler preempt a pod?",
        choices=["n1", "n2", "n3"],
        why="The nodes n2 and n3 both have a victim of priority 10. The rules before the last one "
        "do not distinguish these nodes. The last rule prefers the node whose victims started latest.",
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
        picture=show.steps(
            "The scheduling cycles of urgent",
            lambda seen: {
                "": [
                    (f"cycle {place}", f"binds to {made.suggested_host}", "now")
                    if made.suggested_host
                    else (f"cycle {place}", f"no room; preempts {made.victims[0].name}", "stops")
                    for place, made in enumerate(seen["of"], 1)
                ]
            },
        ),
    ),
    Question(
        "budget",
        "With the budget for the batch pods, which pod does the scheduler preempt?",
        choices=PODS,
        why="The scheduler avoids a budget violation if it can. It preempts a pod of priority 100 instead of a pod of "
        "priority 10. Of n1 and n2, n2 has the victim that started later.",
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
]
