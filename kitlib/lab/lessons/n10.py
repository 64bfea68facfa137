"""Questions and exercises of notebook 10, inside the kubelet."""

from __future__ import annotations

from typing import Any

from kitlib.lab.exercise import Exercise, Question, choice, first_problem, number

SOON, TEN, MINUTE, NEVER = "within two seconds", "within ten seconds", "within a minute", "never"
TIMES = (SOON, TEN, MINUTE, NEVER)


def _in_words(seconds: float | None) -> str:
    """Return the choice for a duration; one second is added, since the observations are some time apart."""
    if seconds is None:
        return NEVER
    return next((words for bound, words in ((2, SOON), (10, TEN), (60, MINUTE)) if seconds <= bound + 1), NEVER)


QUESTIONS = [
    Question(
        "requirements",
        "A machine with cgroup v1 has eleven hierarchies. Without how many of them does the kubelet refuse to start?",
        unit="hierarchies",
        answer_of=len,
        why="cpu and cpuacct share one hierarchy; cpuset and memory have their own. The others may be missing.",
    ),
    Question(
        "order",
        "A Burstable pod comes. In which order are cgroups written?",
        choices=["class, pod, container", "pod, class, container", "container, pod, class", "pod, container, class"],
        answer_of=", ".join,
        why="From the top down: a limit must be there before anybody is who could exceed it.",
    ),
    Question(
        "class",
        "An administrator writes another value into a file of the QoS cgroup burstable. When is it repaired?",
        choices=TIMES,
        answer_of=_in_words,
        why="UpdateCgroups writes the classes every minute, whether anything has changed or not.",
    ),
    Question(
        "pod",
        "And in a file of a pod's own cgroup, while nothing happens to the pod?",
        choices=TIMES,
        answer_of=_in_words,
        why="EnsureExists makes a pod's cgroup if it is missing; if it is there, its files are not looked at.",
    ),
    Question(
        "orphan",
        "An administrator makes a cgroup that looks like a pod's, but there is no such pod. When is it removed?",
        choices=TIMES,
        answer_of=_in_words,
        why="Housekeeping, every two seconds: cleanupOrphanedPodCgroups.",
    ),
]


def _nested(answer: Any, cluster: Any) -> str:
    left = [path for path in cluster.node().cgroupfs.children("/kubepods/besteffort") if "pod" in path]
    return first_problem(
        (bool(left), f"{left[0] if left else ''} is still there: let two seconds pass."),
        (answer is not True, "Answer True once both are gone."),
    )


EXERCISES = [
    Exercise(
        "removal",
        "A cgroup with children cannot be removed: count those of web in node.desired().of_pod(uid).",
        number(
            2,
            {
                1: "The sandbox (pause) has a cgroup of its own beside the container's.",
                0: "rmdir refuses a directory that has children.",
                3: "Without the pod's own.",
            },
            otherwise="How many cgroups stand below the pod's?",
        ),
        """
below = [group.kind for group in node.desired().of_pod(uid) if group.kind != "pod"]
cluster.delete("Pod", "web", grace=0)
lesson.wait(lambda: not node.tree().of_pod(uid), 60)
answer = len(below)
""",
        "From the bottom up: the runtime removes the containers' and the sandbox's, then the kubelet the pod's.",
    ),
    Exercise(
        "restarted",
        "A restart makes a new container, and with it a new cgroup.",
        number(
            200, {150: "That cgroup went with the dead container."}, otherwise="Where does the new limit come from?"
        ),
        "answer = 200",
        "The runtime writes what the kubelet tells it, and that comes from the manifest.",
    ),
    Exercise(
        "nested",
        "node.cgroupfs.makedirs('/kubepods/besteffort/pod<some UID>/child'), then lesson.wait.",
        _nested,
        """
orphan = "/kubepods/besteffort/pod11111111-1111-1111-1111-111111111111"
node.cgroupfs.makedirs(f"{orphan}/child")
lesson.wait(lambda: not node.cgroupfs.exists(orphan), 60)
answer = not node.cgroupfs.exists(orphan)
""",
        "cleanupOrphanedPodCgroups kills what runs there and removes the whole tree.",
    ),
    Exercise(
        "without-qos",
        "Notebook 06 tried this flag, and the kubelet named the other one.",
        choice(
            "enforceNodeAllocatable",
            {"--enforce-node-allocatable": ""},
            otherwise="What enforces something on the cgroup of all pods?",
        ),
        'answer = "enforceNodeAllocatable"',
    ),
]
