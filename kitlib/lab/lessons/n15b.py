"""Questions and exercises of notebook 15b, queues and quota."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Findings, Question, first_problem, number
from kitlib.lab.readings import placed

NEVER, MINUTE, FIVE = "never", "after about one minute", "after about five minutes"
WAITS, REFUSED, GATED = "it waits, Pending", "it is refused and does not exist", "it waits, SchedulingGated"


def _waits(seen: Findings) -> dict[str, float]:
    """Return the seconds after each attempt; `of` has them in order."""
    return {f"attempt {place}": wait for place, wait in enumerate(seen["of"], 1)}


def _free(answer: Any, cluster: Any) -> str:
    try:
        node = cluster.pod("d").spec.node_name
    except KitError:
        return "The open cluster has no pod d."
    there = placed(cluster)
    return first_problem(
        (
            not {"b", "c"} <= set(there) and "a" in there,
            "The quota manager admits the oldest pod first: which must end before the pod d can run?",
        ),
        (not node, "The pod d still waits: 2 CPUs are allowed, and two older pods use them."),
        (str(answer) != node, "The answer is the name of d's node, the node on which d runs."),
    )


QUESTIONS = [
    Question(
        "backoff",
        "In release 1.32 the scheduler rejects a pod repeatedly, and an event occurs right after each "
        "attempt. How long does the pod wait after the fifth attempt?",
        unit="seconds",
        tolerance=0.02,
        why="The back-off is 1, 2, 4, 8, then always 10 seconds (podInitialBackoffSeconds, podMaxBackoffSeconds).",
        picture=show.amounts("Release 1.32: wait after each attempt", _waits, unit="seconds", picked=["attempt 5"]),
    ),
    Question(
        "early",
        "In release 1.33, how long does the same pod wait after the fifth attempt if no other pod waits?",
        unit="seconds",
        tolerance=0.02,
        why="When activeQ is empty, the scheduler takes a pod out of backoffQ immediately.",
        picture=show.amounts("Release 1.33: wait after each attempt", _waits, unit="seconds", picked=["attempt 5"]),
    ),
    Question(
        "flush",
        "The scheduler rejects a pod, and then no event occurs in the cluster. When does the "
        "scheduler try the pod again?",
        choices=[NEVER, MINUTE, FIVE, "every ten seconds"],
        answer_of=lambda second: FIVE if 300 <= second < 360 else MINUTE if second < 120 else NEVER,
        why="The scheduler tried the pod again after {quiet} s, because an event could have been lost.",
        picture=show.moments(
            "Attempts without an event",
            lambda seen: {"big": [show.TimePoint(second, "try", f"{second:g} s") for second in seen["of"]]},
        ),
    ),
    Question(
        "starving",
        "How many scheduling cycles does the scheduler run before the cycle of the small pod?",
        unit="cycles",
        why="activeQ is sorted by priority, so the scheduler first tries all fifty pods again. The small pod waits "
        "behind pods that do not fit.",
        picture=show.amounts(
            "Cycles until the small pod has its own",
            lambda seen: {"large pods before it": seen.observed, "the small pod": 1},
            unit="cycles",
            picked=["large pods before it"],
        ),
    ),
    Question(
        "quota",
        "With a quota of 2 CPUs, what happens to the third of the four pods of 1 CPU each?",
        choices=[WAITS, REFUSED, GATED],
        answer_of=lambda names: REFUSED if "c" not in names else WAITS,
        why="The API server checks the quota when a pod is created. It queues no pods; the pod's creator must retry.",
        picture=show.outcomes(
            "Four pods of 1 CPU under a quota of 2",
            lambda seen: {
                pod: ("created", True) if pod in seen.observed else ("refused by the API server", False)
                for pod in "abcd"
            },
        ),
    ),
    Question(
        "nosy",
        "Which of the two pods, plain and nosy, does the API server create?",
        choices=["both", "only plain", "neither"],
        answer_of=lambda names: {("plain",): "only plain", (): "neither"}.get(tuple(names), "both"),
        why="The quota counts only pods with affinity terms for other namespaces, and allows no such pod.",
        picture=show.outcomes(
            "Two pods under the quota",
            lambda seen: {
                pod: ("created", True) if pod in seen.observed else ("refused by the API server", False)
                for pod in ("plain", "nosy")
            },
        ),
    ),
]

EXERCISES = [
    Exercise(
        "slow-events",
        "The longest back-off is 10 seconds.",
        number(0, {10: "The back-off is over long before the next event."}, otherwise="Compare 10 s with a minute."),
        "answer = 0",
        "The events are a minute apart, so every back-off has ended. The scheduler tries the pod at once.",
    ),
    Exercise(
        "free",
        "At most two pods run at a time. Delete the pods that are older than d.",
        _free,
        """
cluster = lesson.cluster([{"name": "n1", "cpus": 8, "memory": "1Gi"}], gate_manager={"hard": {"cpu": "2"}})
cluster.apply([pod(name, cpu="1") for name in ("a", "b", "c", "d")])
lesson.wait(lambda: cluster.pod("b").spec.node_name, 30)
for name in ("a", "b"):
    cluster.delete("Pod", name, grace=0)
lesson.wait(lambda: cluster.pod("d").spec.node_name, 60)
answer = cluster.pod("d").spec.node_name
""",
    ),
]
