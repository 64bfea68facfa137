"""Questions and exercises of notebook 04, memory: limits, OOM kill, restarts."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.loop.backoff import restart_back_off
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Findings, Question, first_problem, number

MIB = 2**20
REFUSES, KILLED, NEW_ONLY = (
    "the kernel refuses the new limit",
    "the process is killed",
    "the limit holds for new memory only",
)


def _lowered(result: tuple[str, str]) -> str:
    said, phase = result
    return REFUSES if said != "accepted" else NEW_ONLY if phase.startswith("Running") else KILLED


def _back_offs(_: Findings) -> dict[str, float]:
    """Return the kubelet's wait in seconds before each restart of a container."""
    first, longest = restart_back_off(read_settings([]), Release.latest())
    waits = [min(first * 2**kill, longest) for kill in range(6)]
    return {f"after kill {kill}": wait for kill, wait in enumerate(waits, 2)}


_LOWERED = show.steps(
    "A limit below the memory in use",
    lambda seen: {
        "": [
            ("administrator", "writes 100Mi; 150Mi are in use"),
            ("kernel", seen.observed[0].partition(":")[0], "done" if seen.observed[0] == "accepted" else "stops"),
            ("process", seen.observed[1], "now" if seen.observed[1] == "Running" else "stops"),
        ]
    },
)

QUESTIONS = [
    Question(
        "who",
        "Which component kills a process that exceeds its memory limit?",
        choices=["the kubelet", "the container runtime", "the kernel", "nobody: malloc fails"],
        answer_of=lambda logged: "the kernel" if logged else "nobody: malloc fails",
        why="When the cgroup reaches its limit and the kernel cannot reclaim memory, the kernel's OOM "
        "killer selects a process of the cgroup.",
    ),
    Question(
        "code",
        "Which exit code does the container have after the OOM kill?",
        choices=["0", "1", "137", "139"],
        answer_of=str,
        why="The exit code is 128 + 9, because signal 9 (SIGKILL) ended the process. The status reason is {reason}.",
    ),
    Question(
        "phase",
        "What is the pod's phase immediately after the OOM kill?",
        choices=["Running", "Failed", "Pending", "OOMKilled"],
        why="OOMKilled is a reason in the status of a container, not a phase of a pod. With restartPolicy "
        "Always the pod stays Running.",
    ),
    Question(
        "wait",
        "How long does the kubelet wait before it restarts the container after the second kill?",
        unit="seconds",
        why="The back-off is 10, 20, 40, … up to 300 seconds. The kubelet resets the back-off after ten "
        "minutes without a restart.",
        picture=show.amounts(
            "Back-off before each restart",
            _back_offs,
            unit="seconds",
            picked=lambda seen: [name for name, wait in _back_offs(seen).items() if wait == seen.observed],
        ),
    ),
    Question(
        "lower-v1",
        "On cgroup v1, an administrator writes a memory limit below the memory in use. What happens?",
        choices=[REFUSES, KILLED, NEW_ONLY],
        answer_of=_lowered,
        why="On cgroup v1 the kernel returns EBUSY, and the process continues to run.",
        picture=_LOWERED,
    ),
    Question(
        "lower-v2",
        "On cgroup v2, an administrator writes a memory limit below the memory in use. What happens?",
        choices=[REFUSES, KILLED, NEW_ONLY],
        answer_of=_lowered,
        why="On cgroup v2 the kernel accepts the new limit, reclaims memory, and then kills the process.",
        picture=_LOWERED,
    ),
    Question(
        "order",
        "An administrator raises both memory limits of a cgroup. Which file must the administrator write first?",
        choices=["memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "the order does not matter"],
        answer_of=lambda said: (
            "the order does not matter"
            if said[0] == said[1]
            else "memory.memsw.limit_in_bytes"
            if said[0] == "accepted"
            else "memory.limit_in_bytes"
        ),
        why="The limit of memory and swap must not be below the limit of memory alone: the kernel returns EINVAL.",
        picture=show.outcomes(
            "Which file can be written first",
            lambda seen: {
                file: (said.partition(":")[0], said == "accepted")
                for file, said in zip(("memory.memsw first", "memory first"), seen.observed, strict=True)
            },
        ),
    ),
    Question(
        "units",
        "You write 100M into the memory limit file of a cgroup. How many bytes does the file show then?",
        unit="bytes",
        answer_of=int,
        why="The kernel reads K, M and G as powers of 1024. In a manifest 100M is 100 000 000 bytes, and "
        "100Mi is the number that the file shows.",
        picture=show.amounts(
            "100M in two languages",
            lambda seen: {"100M in a manifest": 100_000_000, "100M in the file": int(seen.observed)},
            unit="bytes",
            picked=["100M in the file"],
        ),
    ),
    Question(
        "minus",
        "You write -1 to remove a memory limit. On which cgroup versions does the kernel accept this value?",
        choices=["on v1 only", "on v2 only", "on both"],
        answer_of=lambda said: {(True, False): "on v1 only", (False, True): "on v2 only"}.get(
            tuple(one == "accepted" for one in said), "on both"
        ),
        why="On cgroup v1 the kernel reads -1 as “no limit”. On cgroup v2 you write the word max instead.",
        picture=show.outcomes(
            "-1 as a limit",
            lambda seen: {
                f"cgroup v{version}": (said.partition(":")[0], said == "accepted")
                for version, said in zip((1, 2), seen.observed, strict=True)
            },
        ),
    ),
    Question(
        "kmem",
        "On a recent kernel with cgroup v1, you write 10M to memory.kmem.limit_in_bytes. What does the file show then?",
        choices=["10485760", "no limit: the write is ignored", "no limit: the write is refused"],
        answer_of=lambda said: (
            "no limit: the write is refused"
            if said[0] != "accepted"
            else "10485760"
            if said[1] == "10485760"
            else "no limit: the write is ignored"
        ),
        why="Since Linux 6.6 a write to this file has no effect: memory.limit_in_bytes includes kernel memory.",
        picture=show.steps(
            "A write to memory.kmem.limit_in_bytes",
            lambda seen: {
                "": [
                    ("administrator", "writes 10M"),
                    (
                        "kernel",
                        seen.observed[0].partition(":")[0],
                        "done" if seen.observed[0] == "accepted" else "stops",
                    ),
                    ("the file", f"shows {seen.observed[1]}", "now"),
                ]
            },
        ),
    ),
    Question(
        "free",
        "Without lxcfs, how many MiB of total memory does the command free show in the container?",
        unit="MiB",
        tolerance=0.02,
        why="The command free shows the machine's memory, because /proc/meminfo ignores cgroups.",
        picture=show.amounts(
            "Which memory free shows",
            lambda seen: {
                "the machine": seen.cluster.nodes[0].status.capacity["memory"].value() / MIB,
                "free in the container": seen.observed,
            },
            unit="MiB",
            bounds=[("limit of the pod", 100)],
            picked=["free in the container"],
        ),
    ),
]


def _killed_of_two(answer: Any, cluster: Any) -> str:
    try:
        made = cluster.pod("two")
    except KitError:
        return "The cluster has no pod two yet."
    states = {s.name: s.state.get("terminated", {}).get("reason", "") for s in made.status.container_statuses}
    killed = [name for name, reason in states.items() if reason == "OOMKilled"]
    return first_problem(
        (sorted(states) != ["a", "b"], "The containers of the pod two must be called a and b."),
        (killed != ["b"], f"Killed so far: {', '.join(killed) or 'none'}. Does only b have a limit, and exceed it?"),
        (str(answer) != "b", "Look at the container statuses: which container has the reason OOMKilled?"),
    )


def _once(answer: Any, cluster: Any) -> str:
    try:
        made = cluster.pod("once")
    except KitError:
        return "The cluster has no pod once yet."
    ended = [s.state.get("terminated", {}).get("reason", "") for s in made.status.container_statuses]
    return first_problem(
        (
            made.spec.restart_policy != "Never",
            "The pod named once is restarted: set restart='Never'.",
        ),
        (not any(ended), "The pod named once has not ended yet. Call lesson.wait(lambda: failed(cluster))."),
        (str(answer) != ended[0], f"The phase is {made.status.phase}; the reason is in the container's status."),
    )


def _cured(answer: Any, cluster: Any) -> str:
    made = cluster.pod("leak")
    limit = made.spec.containers[0].resources.limits["memory"].value() // MIB
    return first_problem(
        (limit != 300, f"Its limit is {limit}Mi; cluster.resize changes it."),
        (
            not made.status.container_statuses[0].state.get("running"),
            "The container of the pod leak still waits for its restart: wait longer.",
        ),
        (answer is not True, "The container runs: answer True."),
    )


EXERCISES = [
    Exercise(
        "neighbour",
        "An annotation of the pod, kitlib.dev/workload.<container>, declares the workload of a container.",
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
        "Each container has its own cgroup, so the kernel kills only processes of the container that "
        "reached its limit.",
    ),
    Exercise(
        "never",
        "Pass the argument restart='Never' to pod().",
        _once,
        """
cluster.apply(pod("once", memory_limit="100Mi", uses="4s memory=60Mi; memory=200Mi", restart="Never"))
lesson.wait(lambda: cluster.pod("once").status.phase == "Failed", 60)
answer = cluster.pod("once").status.container_statuses[0].state["terminated"]["reason"]
""",
        "The pod's phase is Failed. The reason in the container's status is OOMKilled, as for leak.",
    ),
    Exercise(
        "tmpfs",
        "The kernel charges files in memory to the container that wrote them. Without swap the kernel "
        "cannot reclaim these files.",
        number(
            20,
            {
                100: "The files in memory are charged to the cgroup of the container that wrote them.",
                180: "A file in memory uses a part of the limit; it does not raise the limit.",
            },
            otherwise="The process's own memory and the 80 MiB of files are charged to one cgroup with a limit "
            "of 100 MiB.",
        ),
        "answer = 20",
        "Files in a tmpfs use memory. Without this charge a pod could fill the node's memory with files.",
    ),
    Exercise(
        "cure",
        "Call cluster.resize('leak', {'main': {'limits': {'memory': '300Mi'}}}). The new limit "
        "applies from the next restart on.",
        _cured,
        """
cluster.resize("leak", {"main": {"limits": {"memory": "300Mi"}}})
lesson.wait(lambda: cluster.pod("leak").status.container_statuses[0].state.get("running"), 120)
answer = True
""",
        "The resize itself does not restart the container. The new limit applies from now on.",
    ),
]
