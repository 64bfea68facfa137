"""Questions and exercises of notebook 13b, zones that do not exist yet, and soft constraints."""

from __future__ import annotations

from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, number

ADDED = "zone3, after the autoscaler has added it"
THIRD = ("zone1 or zone2", ADDED, "it waits for ever")


def _third(zone: str) -> str:
    return {"zone3": ADDED, "pending": "it waits for ever"}.get(zone, "zone1 or zone2")


QUESTIONS = [
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
        picture=show.amounts(
            "The 15 pods, zone3 cordoned",
            lambda seen: {name: pods for name, pods in seen["of"].items() if name != "running"},
            unit="pods",
            picked=["pending"],
        ),
    ),
]

EXERCISES = [
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
