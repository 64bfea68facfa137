"""Questions and exercises of notebook 04, memory: limits, OOM kill, restarts."""

from __future__ import annotations

from typing import Any

from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.loop.backoff import restart_back_off
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Findings, Question, first_problem

MIB = 2**20


def _back_offs(_: Findings) -> dict[str, float]:
    """Return the kubelet's wait in seconds before each restart of a container."""
    first, longest = restart_back_off(read_settings([]), Release.latest())
    waits = [min(first * 2**kill, longest) for kill in range(6)]
    return {f"after kill {kill}": wait for kill, wait in enumerate(waits, 2)}


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

EXERCISES = [
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
]
