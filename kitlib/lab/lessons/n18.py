"""Questions and exercises of notebook 18, throttled at 20% use."""

from __future__ import annotations

from statistics import median
from typing import Any

from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem, number
from kitlib.lab.readings import burst_times, pod_cgroup, quota_of
from kitlib.node.common.workload import ANNOTATION, declared_workload

_SIDE_BY_SIDE = "about 10 ms: ten threads side by side"
_QUOTA = "about 50 ms: as long as the quota"
_PERIOD = "more than 100 ms"
_ALWAYS, _BURSTS = "200: ten a second", "about 60: three for each request"
_NEVER, _SOME, _EVERY = "never again", "in some requests", "in every request"
_BOTH, _EIGHT, _TWO = "with eight threads and with two", "with eight threads, not with two", "with two, not with eight"
_NONE, _LIMITS = "none: the kubelet never writes it", "resources.limits, above the request"


def _throttled(by_threads: dict[int, bool]) -> str:
    return _BOTH if by_threads[8] and by_threads[2] else _EIGHT if by_threads[8] else _TWO


QUESTIONS = [
    Question(
        "use",
        "The CPU limit is 500m. Which CPU usage does kubectl top show for the pod?",
        unit="milli-CPU",
        tolerance=0.15,
        why="The pod uses 100 ms of CPU time in each second. Every dashboard shows this as 20% of the limit.",
        formula="100 ms / 1000 ms",
        measured=True,
        picture=show.amounts(
            "CPU usage as kubectl top shows it",
            lambda seen: {"api": seen.observed},
            unit="milli-CPU",
            bounds=[("limit", 500)],
            picked=["api"],
        ),
    ),
    Question(
        "took",
        "A request needs 10 ms on each of ten threads. How long does one request take?",
        choices=[_SIDE_BY_SIDE, _QUOTA, _PERIOD],
        answer_of=lambda seconds: _SIDE_BY_SIDE if seconds < 0.03 else _QUOTA if seconds < 0.09 else _PERIOD,
        why="Half of the requests took {observed} s or more. After 5 ms the quota of 50 ms is used up. "
        "The rest of the request runs in the next period.",
        measured=True,
    ),
    Question(
        "counted",
        "A period is 100 ms. By how much does nr_periods grow in 20 seconds?",
        choices=[_ALWAYS, _BURSTS],
        answer_of=lambda periods: _ALWAYS if periods > 150 else _BURSTS,
        why="nr_periods grew by {observed}. The kernel's timer stops after a period in which no quota is "
        "used. So a third of the counted periods is throttled, although every request is throttled.",
        measured=True,
        picture=show.amounts(
            "nr_periods in 20 seconds",
            lambda seen: {"counted": seen.observed},
            unit="periods",
            bounds=[("all periods", 200)],
            picked=["counted"],
        ),
    ),
    Question(
        "limit",
        "With a limit of 1 CPU for the pod, when does the kernel throttle the pod?",
        choices=[_NEVER, _SOME, _EVERY],
        answer_of=lambda times: _NEVER if not times else _SOME if times < 15 else _EVERY,
        why="In 20 requests the kernel throttled {observed} periods. The throttled requests are the "
        "slowest. A 99th percentile shows these requests, but an average hides them.",
        measured=True,
    ),
    Question(
        "threads",
        "With how many threads does the kernel throttle the garbage collector?",
        choices=[_BOTH, _EIGHT, _TWO],
        answer_of=_throttled,
        why="Two threads use at most 200 ms of CPU time in a period, which is the quota.",
        formula="2 threads × 100 ms = quota of 2 CPUs",
    ),
    Question(
        "burst",
        "Which field of a Pod sets cpu.max.burst?",
        choices=[_NONE, _LIMITS],
        answer_of=lambda written: _LIMITS if written else _NONE,
        why="The kubelet does not write cpu.max.burst. A value that you write by hand is lost when the container ends.",
        picture=show.steps(
            "Who writes cpu.max.burst",
            lambda seen: {
                "": [
                    ("manifest", "limits, requests", "done"),
                    ("kubelet", "writes the quota", "done"),
                    (
                        "cpu.max.burst",
                        "written" if seen.observed else "is not written",
                        "now" if seen.observed else "stops",
                    ),
                ]
            },
        ),
    ),
]


def _mend(answer: Any, cluster: Any) -> str:
    api = next((pod for pod in cluster.pods() if pod.name == "api"), None)
    if api is None:
        return "There is no pod api."
    quota = quota_of(pod_cgroup(cluster, "api"))
    last = burst_times(cluster, "api")[-5:]
    text = api.metadata.annotations.get(ANNOTATION + "main", "")
    wanted = declared_workload("cpu=10 burst=100ms every=1s").phases
    other = not text or declared_workload(text).phases != wanted
    slow = isinstance(answer, list) and answer and median(answer[-5:]) > 0.09
    return first_problem(
        (other, "The work stays the same: ten threads, 100 ms, every second."),
        (quota is None, "The exercise requires a CPU limit: how large must it be?"),
        (
            quota is not None and quota < 150_000,
            "Ten processors take slices of 5 ms each, so 100 ms of work want more quota.",
        ),
        (len(last) < 5, "Let some seconds pass: cluster.advance(10)."),
        (len(last) == 5 and median(last) > 0.09, "The last requests still waited. Let time pass after the change."),
        (not isinstance(answer, list) or not answer, "The answer is burst_times(cluster, 'api')."),
        (bool(slow), "Requests in your list still wait. Call burst_times(cluster, 'api') after the change."),
    )


EXERCISES = [
    Exercise(
        "used-up",
        "How many milliseconds is the quota of a period, and how many threads use it at the same time?",
        number(
            5,
            {
                30: "30 ms is the quota; six threads use it at the same time.",
                100: "100 ms is the period.",
                50: "The answer is 30 ms divided by six.",
            },
            otherwise="The limit of 300m is a quota of 30 ms for all threads together.",
        ),
        "answer = 300 * 100 / 1000 / 6",
        "After 5 ms all six threads wait for 95 ms.",
    ),
    Exercise(
        "share",
        "How many bursts produce 600 periods?",
        number(
            100,
            {
                33: "33% is the share of periods. Three periods belong to one burst.",
                33.3: "Three periods belong to one burst.",
            },
            otherwise="200 bursts produce 600 periods, and 200 periods were throttled.",
        ),
        "answer = 100 * 200 / (600 / 3)",
        "An alert at 50% of the periods would never fire for this service.",
    ),
    Exercise(
        "threads",
        "How much CPU time can this number of threads use in one period at most?",
        number(
            3,
            {
                64: "64 threads use up the quota of 300 ms in 5 ms.",
                30: "Threads are asked for, not milliseconds.",
            },
            otherwise="Each thread uses at most 100 ms in a period, and the quota is 300 ms.",
        ),
        "answer = 3",
        "More threads are not faster in the long run, because they only wait together.",
    ),
    Exercise(
        "mend",
        "The limit must exceed the largest burst: 100 ms of work in a period, and a slice of 5 ms for each "
        "of ten processors.",
        _mend,
        """
cluster = lesson.cluster(NODE)
cluster.apply(pod("api", cpu="100m", cpu_limit="2", uses="cpu=10 burst=100ms every=1s"))
cluster.advance(15)
answer = burst_times(cluster, "api")
""",
        "The scheduler uses only the request. The limit only has to exceed the burst.",
    ),
]
