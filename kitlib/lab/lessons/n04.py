"""Questions and exercises of notebook 04, memory: limits, OOM kill, restarts."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.lab.exercise import Exercise, Question, first_problem, number

MIB = 2**20
REFUSES, KILLED, NEW_ONLY = (
    "the kernel refuses the new limit",
    "the process is killed",
    "the limit holds for new memory only",
)


def _lowered(result: tuple[str, str]) -> str:
    said, phase = result
    return REFUSES if said != "accepted" else NEW_ONLY if phase.startswith("Running") else KILLED


QUESTIONS = [
    Question(
        "who",
        "Who kills the process?",
        choices=["the kubelet", "the container runtime", "the kernel", "nobody: malloc fails"],
        answer_of=lambda logged: "the kernel" if logged else "nobody: malloc fails",
        why="The charge to the cgroup failed, nothing could be reclaimed, and the OOM killer looked for a "
        "process inside.",
    ),
    Question(
        "code",
        "With which exit code does the container end?",
        choices=["0", "1", "137", "139"],
        answer_of=str,
        why="128 + 9: ended by signal 9, SIGKILL. The reason in the status is {reason}.",
    ),
    Question(
        "phase",
        "What is the pod's phase right after the kill?",
        choices=["Running", "Failed", "Pending", "OOMKilled"],
        why="OOMKilled is a reason of a container, not a phase. With restartPolicy Always the pod stays Running.",
    ),
    Question(
        "wait",
        "How long does the kubelet wait before the restart that follows the second kill?",
        unit="seconds",
        why="10, 20, 40, … up to 300 seconds; ten quiet minutes reset it.",
    ),
    Question(
        "lower-v1",
        "Cgroup v1: a limit below what is in use is written. What happens?",
        choices=[REFUSES, KILLED, NEW_ONLY],
        answer_of=_lowered,
        why="v1 answers EBUSY, and the process lives.",
    ),
    Question(
        "lower-v2",
        "Cgroup v2: the same. What happens?",
        choices=[REFUSES, KILLED, NEW_ONLY],
        answer_of=_lowered,
        why="v2 accepts, then reclaims what it can, then kills.",
    ),
    Question(
        "order",
        "Which file must be written first?",
        choices=["memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "the order does not matter"],
        answer_of=lambda said: (
            "the order does not matter"
            if said[0] == said[1]
            else "memory.memsw.limit_in_bytes"
            if said[0] == "accepted"
            else "memory.limit_in_bytes"
        ),
        why="Memory and swap together may never be limited below memory alone: the kernel refuses it (EINVAL).",
    ),
    Question(
        "units",
        "You write 100M into the memory limit. Which number of bytes does reading show?",
        unit="bytes",
        answer_of=int,
        why="For the kernel K, M and G are powers of 1024. In a manifest 100M is 100 000 000, and 100Mi is this "
        "number.",
    ),
    Question(
        "minus",
        "You write -1, to take the limit away. On which cgroup versions is it accepted?",
        choices=["on v1 only", "on v2 only", "on both"],
        answer_of=lambda said: {(True, False): "on v1 only", (False, True): "on v2 only"}.get(
            tuple(one == "accepted" for one in said), "on both"
        ),
        why="v1 reads -1 as “no limit”; v2 has the word max for it.",
    ),
    Question(
        "kmem",
        "A new kernel, cgroup v1: 10M is written to memory.kmem.limit_in_bytes. What does reading show then?",
        choices=["10485760", "no limit: the write is ignored", "no limit: the write is refused"],
        answer_of=lambda said: (
            "no limit: the write is refused"
            if said[0] != "accepted"
            else "10485760"
            if said[1] == "10485760"
            else "no limit: the write is ignored"
        ),
        why="Since Linux 6.6 the file takes any size and does nothing: kernel memory counts in memory.limit_in_bytes.",
    ),
    Question(
        "free",
        "How many MiB does free show as total in that container, without lxcfs?",
        unit="MiB",
        tolerance=0.02,
        why="The machine's: /proc/meminfo knows nothing of cgroups.",
    ),
]


def _killed_of_two(answer: Any, cluster: Any) -> str:
    try:
        made = cluster.pod("two")
    except KitError:
        return "There is no pod two on the cluster yet."
    states = {s.name: s.state.get("terminated", {}).get("reason", "") for s in made.status.container_statuses}
    killed = [name for name, reason in states.items() if reason == "OOMKilled"]
    return first_problem(
        (sorted(states) != ["a", "b"], "The containers are called a and b."),
        (killed != ["b"], f"Killed so far: {', '.join(killed) or 'nobody'}. Does only b have a limit, and use more?"),
        (str(answer) != "b", "Look at the container statuses: whose reason is OOMKilled?"),
    )


def _once(answer: Any, cluster: Any) -> str:
    try:
        made = cluster.pod("once")
    except KitError:
        return "There is no pod once on the cluster yet."
    ended = [s.state.get("terminated", {}).get("reason", "") for s in made.status.container_statuses]
    return first_problem(
        (made.spec.restart_policy != "Never", "once is restarted: restart='Never'."),
        (not any(ended), "It has not ended yet: lesson.wait(lambda: failed(cluster))."),
        (str(answer) != ended[0], f"The phase is {made.status.phase}; the reason stands in the container's status."),
    )


def _cured(answer: Any, cluster: Any) -> str:
    made = cluster.pod("leak")
    limit = made.spec.containers[0].resources.limits["memory"].value() // MIB
    return first_problem(
        (limit != 300, f"Its limit is {limit}Mi; cluster.resize changes it."),
        (not made.status.container_statuses[0].state.get("running"), "It still waits for its restart: give it time."),
        (answer is not True, "It runs: answer True."),
    )


EXERCISES = [
    Exercise(
        "neighbour",
        "The workload of a container is declared in an annotation of the pod: kitlib.dev/workload.<container>.",
        _killed_of_two,
        """
from kitlib.lab import container

both = [container("a", image="app"), container("b", image="app", memory_limit="80Mi")]
two = pod("two", containers=both, restart="Never")
for one in two["spec"]["containers"]:
    del one["command"]
two["metadata"]["annotations"] = {"kitlib.dev/workload.a": "memory=60Mi", "kitlib.dev/workload.b": "memory=90Mi"}
cluster.apply(two)
lesson.wait(lambda: any(s.state.get("terminated") for s in cluster.pod("two").status.container_statuses), 60)
answer = "b"
""",
        "Each container has its own cgroup, so only the one that broke its limit is looked at.",
    ),
    Exercise(
        "never",
        "restart='Never' is an argument of pod().",
        _once,
        """
cluster.apply(pod("once", memory_limit="100Mi", uses="4s memory=60Mi; memory=200Mi", restart="Never"))
lesson.wait(lambda: cluster.pod("once").status.phase == "Failed", 60)
answer = cluster.pod("once").status.container_statuses[0].state["terminated"]["reason"]
""",
        "The phase is Failed now; the reason is the same.",
    ),
    Exercise(
        "tmpfs",
        "Files in memory are pages of the container that wrote them, and cannot be given back without swap.",
        number(
            20,
            {
                100: "The files are charged to the cgroup of the container that wrote them.",
                180: "A file in memory takes from the limit, it does not raise it.",
            },
            otherwise="Its own memory and the 80 MiB of files are charged to one cgroup, with a limit of 100.",
        ),
        "answer = 20",
        "A tmpfs is memory. Without this charge a pod could fill the node with files.",
    ),
    Exercise(
        "cure",
        "cluster.resize('leak', {'main': {'limits': {'memory': '300Mi'}}}); the next restart finds the new limit.",
        _cured,
        """
cluster.resize("leak", {"main": {"limits": {"memory": "300Mi"}}})
lesson.wait(lambda: cluster.pod("leak").status.container_statuses[0].state.get("running"), 120)
answer = True
""",
        "The resize itself restarts nothing; the limit holds from now on.",
    ),
]
