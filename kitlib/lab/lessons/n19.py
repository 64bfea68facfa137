"""Questions and exercises of notebook 19, memory that is not heap."""

from __future__ import annotations

from typing import Any

from kitlib.lab.exercise import Exercise, Question, first_problem, number
from kitlib.lab.readings import memory_parts

_KILLED, _RUNS = "it is killed", "it runs on"
_ONCE, _AGAIN = "once: the restart begins with nothing", "again and again"
_SILENT, _SEEN = "Running, no restart", "OOMKilled, and restarted"


def _status(restarts: int) -> str:
    return _SEEN if restarts else _SILENT


QUESTIONS = [
    Question(
        "cache",
        "It touches 550 MiB. What happens at its limit of 200?",
        choices=[_KILLED, _RUNS],
        answer_of=lambda restarts: _KILLED if restarts else _RUNS,
        why="Clean page cache is given back before anyone dies; only reading gets slower.",
    ),
    Question(
        "working",
        "What does kubectl top show for it then?",
        unit="MiB",
        tolerance=0.1,
        why="Usage less the file pages that were not used again: {observed} MiB of the 200 that are charged.",
        formula="memory.current - inactive_file",
    ),
    Question(
        "heap",
        "Is it killed, although its heap never exceeds 200 MiB?",
        choices=["yes", "no"],
        answer_of=lambda reason: "yes" if reason == "OOMKilled" else "no",
        why="200 + 80 = 280 MiB are more than 256, whatever the heap's maximum is.",
    ),
    Question(
        "tmpfs",
        "How often is it killed in a minute?",
        choices=["never", _ONCE, _AGAIN],
        answer_of=lambda restarts: "never" if not restarts else _ONCE if restarts == 1 else _AGAIN,
        why="Restarts in a minute: {observed}, and the kubelet's back-off waits between them.",
    ),
    Question(
        "child-v1",
        "On cgroup v1: what does the container's status say then?",
        choices=[_SILENT, _SEEN],
        answer_of=_status,
        why="One process was killed (lines in the kernel's log: {kills}), and it was not the container's first.",
    ),
    Question(
        "child-v2",
        "And on cgroup v2?",
        choices=[_SILENT, _SEEN],
        answer_of=_status,
        why="With memory.oom.group everything in the container's cgroup is killed with it.",
    ),
]


def _mend(cluster: Any, _: Any) -> str:
    scratch = next((one for one in cluster.pods() if one.name == "scratch"), None)
    if scratch is None:
        return "There is no pod scratch."
    if not scratch.status.container_statuses:
        return "It does not run: look at its events."
    parts = memory_parts(cluster, "scratch")
    return first_problem(
        (not scratch.spec.containers[0].resources.limits.get("memory"), "The exercise asks for a memory limit."),
        (
            bool(scratch.status.container_statuses[0].restart_count),
            "It was killed: 50 and 120 MiB are counted together.",
        ),
        (parts["tmpfs"] < 120, "There are no 120 MiB of files yet: shm=120Mi, and let time pass."),
        (parts["anonymous"] < 50, "It keeps 50 MiB beside its files: memory=50Mi."),
    )


EXERCISES = [
    Exercise(
        "limit",
        "Everything that the process touches counts, not only the heap.",
        number(
            760,
            {512: "That is the heap alone.", 720: "Forty stacks are memory too.", 721: "Forty stacks, not one."},
            otherwise="Add all five: heap, class data, code, 40 stacks, buffers.",
        ),
        "answer = 512 + 96 + 48 + 40 * 1 + 64",
        "And leave some room above it: this is what was counted on one day.",
    ),
    Exercise(
        "set",
        "Which line of memory.stat is taken away from memory.current?",
        number(
            280,
            {
                150: "Anonymous memory alone; active file pages and tmpfs count too.",
                200: "Only inactive file pages go.",
            },
            otherwise="memory.current less inactive_file.",
        ),
        "answer = 400 - 120",
        "Active file pages count as working set, although they could be given back.",
    ),
    Exercise(
        "back",
        "Which pages have a copy on the disk?",
        number(
            200,
            {
                120: "Active file pages can go too, when it must be.",
                250: "shmem is in file, and has no copy on any disk.",
            },
            otherwise="All file pages except those of a tmpfs.",
        ),
        "answer = 120 + 80",
        "150 of anonymous memory and 50 of tmpfs stay: without swap they have nowhere to go.",
    ),
    Exercise(
        "mend",
        "The limit has to hold what the process keeps and what its files take, together.",
        _mend,
        """
answer = lesson.simulated("its clock can run faster", NODE)
answer.apply(pod("scratch", memory_limit="200Mi", uses="memory=50Mi shm=120Mi"))
answer.advance(10)
""",
        "A volume of medium Memory is part of the container's limit: plan it in.",
    ),
]
