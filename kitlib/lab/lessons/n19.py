"""Questions and exercises of notebook 19, memory that is not heap."""

from __future__ import annotations

from typing import Any

from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem, number
from kitlib.lab.readings import memory_parts

_KILLED, _RUNS = "it is killed", "it runs on"
_ONCE, _AGAIN = "once: the restart begins with nothing", "again and again"
_SILENT, _SEEN = "Running, no restart", "OOMKilled, and restarted"


def _status(restarts: int) -> str:
    return _SEEN if restarts else _SILENT


_CHILD = show.steps(
    "A child process exceeds the limit",
    lambda seen: {
        "": [
            ("child", "is killed by the kernel", "stops"),
            ("process 1", "is killed as well" if seen.observed else "runs on", "stops" if seen.observed else "now"),
            ("container", "OOMKilled, and restarted" if seen.observed else "Running, no restart", "done"),
        ]
    },
)

QUESTIONS = [
    Question(
        "cache",
        "The pod reader accesses 550 MiB of memory. What happens when the pod reaches its limit of 200 MiB?",
        choices=[_KILLED, _RUNS],
        answer_of=lambda restarts: _KILLED if restarts else _RUNS,
        why="The kernel reclaims clean page cache before it kills a process. Only the reads become slower.",
        picture=show.amounts("Memory of reader", lambda seen: seen["of"], unit="MiB", bounds=[("limit", 200)]),
    ),
    Question(
        "working",
        "How much memory does kubectl top show for the pod reader?",
        unit="MiB",
        tolerance=0.1,
        why="kubectl top subtracts inactive file pages from the memory usage. Of the charged 200 MiB, "
        "{observed} MiB remain.",
        formula="memory.current - inactive_file",
        picture=show.amounts(
            "Memory of reader",
            lambda seen: {"charged": 200, "kubectl top": seen.observed},
            unit="MiB",
            bounds=[("limit", 200)],
            picked=["kubectl top"],
        ),
    ),
    Question(
        "heap",
        "The heap never exceeds 200 MiB, and the limit is 256 MiB. Does the kernel kill the container?",
        choices=["yes", "no"],
        answer_of=lambda reason: "yes" if reason == "OOMKilled" else "no",
        why="Heap and other memory, 200 + 80 = 280 MiB, exceed the limit of 256 MiB. -Xmx limits only the heap.",
        picture=show.amounts(
            "Memory of the JVM",
            {"heap": 200, "heap and other memory": 280},
            unit="MiB",
            bounds=[("limit", 256)],
            crossed=lambda seen: {"heap and other memory": seen.observed} if seen.observed else {},
        ),
    ),
    Question(
        "tmpfs",
        "How often does the kernel kill the container of the pod scratch in a minute?",
        choices=["never", _ONCE, _AGAIN],
        answer_of=lambda restarts: "never" if not restarts else _ONCE if restarts == 1 else _AGAIN,
        why="The container restarts {observed} times in a minute; the kubelet's back-off delays the restarts.",
    ),
    Question(
        "child-v1",
        "On cgroup v1, what does the container's status show after the kernel has killed a child process?",
        choices=[_SILENT, _SEEN],
        answer_of=_status,
        why="The kernel killed one process, which was not process 1 of the container (lines in the kernel log: "
        "{kills}).",
        picture=_CHILD,
    ),
    Question(
        "child-v2",
        "On cgroup v2, what does the container's status show after the kernel has killed a child process?",
        choices=[_SILENT, _SEEN],
        answer_of=_status,
        why="With memory.oom.group the kernel kills all processes in the container's cgroup.",
        picture=_CHILD,
    ),
]


def _mend(cluster: Any, _: Any) -> str:
    scratch = next((pod for pod in cluster.pods() if pod.name == "scratch"), None)
    if scratch is None:
        return "There is no pod scratch."
    if not scratch.status.container_statuses:
        return "The pod does not run. Look at its events."
    parts = memory_parts(cluster, "scratch")
    return first_problem(
        (not scratch.spec.containers[0].resources.limits.get("memory"), "The exercise requires a memory limit."),
        (
            bool(scratch.status.container_statuses[0].restart_count),
            "The container was killed, because its 50 MiB and 120 MiB are counted together.",
        ),
        (parts["tmpfs"] < 120, "The pod does not have 120 MiB of files yet. Declare shm=120Mi, and let time pass."),
        (parts["anonymous"] < 50, "The pod keeps 50 MiB beside its files. Declare memory=50Mi."),
    )


EXERCISES = [
    Exercise(
        "limit",
        "The memory limit applies to all memory that the process uses, not only to the heap.",
        number(
            760,
            {
                512: "512 MiB is the heap alone.",
                720: "Forty stacks are memory, too: add one stack for each thread.",
                721: "Add forty stacks, not one.",
            },
            otherwise="Add all five parts: heap, class data, code, 40 stacks, buffers.",
        ),
        "answer = 512 + 96 + 48 + 40 * 1 + 64",
        "Set the limit above this value, because the value is only one measurement.",
    ),
    Exercise(
        "set",
        "Which line of memory.stat is subtracted from memory.current?",
        number(
            280,
            {
                150: "Anonymous memory alone is not enough: active file pages and tmpfs also count.",
                200: "Only inactive file pages are subtracted from the usage.",
            },
            otherwise="The working set is memory.current less inactive_file.",
        ),
        "answer = 400 - 120",
        "Active file pages count as working set, although the kernel could reclaim them.",
    ),
    Exercise(
        "back",
        "Which pages have a copy on the disk?",
        number(
            200,
            {
                120: "Active file pages can go too: the kernel reclaims them if necessary.",
                250: "The value file includes shmem, which has no copy on any disk.",
            },
            otherwise="The kernel can reclaim all file pages except those of a tmpfs.",
        ),
        "answer = 120 + 80",
        "150 MiB of anonymous memory and 50 MiB of tmpfs remain. Without swap the kernel cannot reclaim them.",
    ),
    Exercise(
        "mend",
        "The limit must be sufficient for the memory of the process and its files together.",
        _mend,
        """
answer = lesson.simulated("its clock can run faster", NODE)
answer.apply(pod("scratch", memory_limit="200Mi", uses="memory=50Mi shm=120Mi"))
answer.advance(10)
""",
        "The limit of the container also applies to a volume of medium Memory. Include the volume's "
        "files in the limit.",
    ),
]
