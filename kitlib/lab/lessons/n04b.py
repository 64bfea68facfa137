"""Questions and exercises of notebook 04b, memory limits by hand."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Findings, Picture, Question, first_problem, number

REFUSES, KILLED, NEW_ONLY = (
    "the kernel refuses the new limit",
    "the process is killed",
    "the limit holds for new memory only",
)


def _lowered(result: tuple[str, str]) -> str:
    said, phase = result
    return REFUSES if said != "accepted" else NEW_ONLY if phase.startswith("Running") else KILLED


def _lowered_on(**nodes: str | int) -> Picture:
    """Return the picture of a limit below the memory in use: a row for each node, by its key in the run's result."""

    def rows(seen: Findings) -> dict[str, list[tuple[str, ...]]]:
        return {name.replace("_", " "): _steps(*seen["value"][key]) for name, key in nodes.items()}

    return show.steps("The limit becomes 100Mi while 150Mi are in use", rows)


def _steps(said: str, phase: str) -> list[tuple[str, ...]]:
    written, runs = said == "accepted", phase == "Running"
    return [
        ("kernel", said.partition(":")[0], "done" if written else "stops"),
        ("process", "runs on" if runs else f"ends: {phase}", "now" if runs else "stops"),
    ]


def _killed_of_two(answer: Any, cluster: Any) -> str:
    try:
        made = cluster.pod("pair")
    except KitError:
        return "The cluster has no pod pair yet."
    states = {s.name: s.state.get("terminated", {}).get("reason", "") for s in made.status.container_statuses}
    killed = [name for name, reason in states.items() if reason == "OOMKilled"]
    return first_problem(
        (sorted(states) != ["a", "b"], "The containers of the pod pair must be called a and b."),
        (killed != ["b"], f"Killed so far: {', '.join(killed) or 'none'}. Does only b have a limit, and exceed it?"),
        (str(answer) != "b", "Look at the container statuses: which container has the reason OOMKilled?"),
    )


QUESTIONS = [
    Question(
        "lower-v1",
        "On cgroup v1, an administrator writes a memory limit below the memory in use. What happens?",
        choices=[REFUSES, KILLED, NEW_ONLY],
        answer_of=_lowered,
        why="On cgroup v1 the kernel returns EBUSY, and the process continues to run.",
        picture=_lowered_on(cgroup_v1=1),
    ),
    Question(
        "lower-v2",
        "On cgroup v2, an administrator writes a memory limit below the memory in use. What happens?",
        choices=[REFUSES, KILLED, NEW_ONLY],
        answer_of=_lowered,
        why="On cgroup v2 the kernel accepts the new limit, reclaims memory, and then kills the process.",
        picture=_lowered_on(cgroup_v2=2, this_node="this node"),
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
        picture=show.steps(
            "Both limits are raised from 1 GiB to 2 GiB",
            lambda seen: {
                order: [
                    (f"{place} write", one.partition(":")[0], "done" if one == "accepted" else "stops")
                    for place, one in zip(("first", "second"), said, strict=True)
                ]
                for order, said in seen["value"].items()
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
]

EXERCISES = [
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
        "neighbour",
        "An annotation of the pod, kitlib.dev/workload.<container>, declares the workload of a container.",
        _killed_of_two,
        """
from kitlib.lab import container

both = [container("a", image="app"), container("b", image="app", memory_limit="80Mi")]
pair = pod("pair", containers=both, restart="Never")
for one in pair["spec"]["containers"]:
    del one["command"]
pair["metadata"]["annotations"] = {"kitlib.dev/workload.a": "memory=60Mi", "kitlib.dev/workload.b": "memory=90Mi"}
cluster.apply(pair)
lesson.wait(lambda: any(s.state.get("terminated") for s in cluster.pod("pair").status.container_statuses), 60)
answer = "b"
""",
        "Each container has its own cgroup, so the kernel kills only processes of the container that "
        "reached its limit.",
    ),
]
