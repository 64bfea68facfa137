"""Questions and exercises of notebook 18, throttled at 20% use."""

from __future__ import annotations

from statistics import median
from typing import Any

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
        "The limit is 500m. What does kubectl top show for the pod?",
        unit="milli-CPU",
        tolerance=0.15,
        why="100 ms of CPU time in each second. That is 20% of the limit, on every dashboard.",
        formula="100 ms / 1000 ms",
        measured=True,
    ),
    Question(
        "took",
        "How long does one request take? It needs 10 ms on each of ten threads.",
        choices=[_SIDE_BY_SIDE, _QUOTA, _PERIOD],
        answer_of=lambda seconds: _SIDE_BY_SIDE if seconds < 0.03 else _QUOTA if seconds < 0.09 else _PERIOD,
        why="Half of them took {observed} s or more. After 5 ms the quota of 50 ms is used up; the rest runs in the "
        "next period.",
        measured=True,
    ),
    Question(
        "counted",
        "A period is 100 ms. By how much does nr_periods grow in 20 seconds?",
        choices=[_ALWAYS, _BURSTS],
        answer_of=lambda periods: _ALWAYS if periods > 150 else _BURSTS,
        why="It grew by {observed}. The timer stops after a period in which nobody used quota. So throttled periods "
        "divided by periods are a third here, although every request is stopped.",
        measured=True,
    ),
    Question(
        "limit",
        "With a limit of 1 CPU: is the pod throttled?",
        choices=[_NEVER, _SOME, _EVERY],
        answer_of=lambda times: _NEVER if not times else _SOME if times < 15 else _EVERY,
        why="Periods that ended throttled: {observed} in 20 requests. They make the worst requests, which a 99th "
        "percentile shows and an average hides.",
        measured=True,
    ),
    Question(
        "threads",
        "When does its quota stop the collector?",
        choices=[_BOTH, _EIGHT, _TWO],
        answer_of=_throttled,
        why="Two threads use 200 ms in a period at most, and that is the quota.",
        formula="2 threads × 100 ms = quota of 2 CPUs",
    ),
    Question(
        "burst",
        "Which field of a Pod sets cpu.max.burst?",
        choices=[_NONE, _LIMITS],
        answer_of=lambda written: _LIMITS if written else _NONE,
        why="It is not among the files that the kubelet desires. A file written by hand goes with the container.",
    ),
]


def _mend(answer: Any, cluster: Any) -> str:
    api = next((one for one in cluster.pods() if one.name == "api"), None)
    if api is None:
        return "There is no pod api."
    quota = quota_of(pod_cgroup(cluster, "api"))
    last = burst_times(cluster, "api")[-5:]
    text = api.metadata.annotations.get(ANNOTATION + "main", "")
    wanted = declared_workload("cpu=10 burst=100ms every=1s").phases
    other = not text or declared_workload(text).phases != wanted
    slow = isinstance(answer, list) and answer and median(answer[-5:]) > 0.09
    return first_problem(
        (other, "The work stays as it is: ten threads, 100 ms, every second."),
        (quota is None, "The exercise asks for a limit: how large must it be?"),
        (quota is not None and quota < 150_000, "Ten processors take slices of 5 ms: 100 ms of work want more quota."),
        (len(last) < 5, "Let some seconds pass: cluster.advance(10)."),
        (len(last) == 5 and median(last) > 0.09, "The last requests still waited: let time pass after the change."),
        (not isinstance(answer, list) or not answer, "The answer is burst_times(cluster, 'api')."),
        (bool(slow), "In your list requests still wait: call burst_times(cluster, 'api') after the change."),
    )


EXERCISES = [
    Exercise(
        "used-up",
        "How many milliseconds a period is the quota, and how many threads use it at once?",
        number(
            5,
            {
                30: "That is the quota; six threads use it at the same time.",
                100: "That is the period.",
                50: "30 ms divided by six.",
            },
            otherwise="The limit of 300m is a quota of 30 ms for all threads together.",
        ),
        "answer = 300 * 100 / 1000 / 6",
        "Then all six wait for 95 ms.",
    ),
    Exercise(
        "share",
        "How many bursts make 600 periods?",
        number(
            100,
            {
                33: "That is the share of periods. Three of them belong to one burst.",
                33.3: "Three periods are one burst.",
            },
            otherwise="600 periods are 200 bursts, and 200 periods ended throttled.",
        ),
        "answer = 100 * 200 / (600 / 3)",
        "An alert at 50% of the periods would never see this service.",
    ),
    Exercise(
        "threads",
        "What can so many threads use in one period at most?",
        number(
            3,
            {64: "64 threads use 300 ms in 5 ms.", 30: "Threads, not milliseconds."},
            otherwise="Each thread uses 100 ms a period at most, and the quota is 300 ms.",
        ),
        "answer = 3",
        "More threads are no faster in the long run; they only wait together.",
    ),
    Exercise(
        "mend",
        "A limit above the largest burst: 100 ms of work in a period, and a slice of 5 ms for each of ten processors.",
        _mend,
        """
cluster = lesson.cluster(NODE)
cluster.apply(pod("api", cpu="100m", cpu_limit="2", uses="cpu=10 burst=100ms every=1s"))
cluster.advance(15)
answer = burst_times(cluster, "api")
""",
        "The request keeps what the scheduler counts; the limit only has to be above the burst.",
    ),
]
