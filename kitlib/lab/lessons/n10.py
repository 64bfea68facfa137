"""Questions and exercises of notebook 10, inside the kubelet."""

from __future__ import annotations

from typing import Any

from kitlib.lab import pictures as show
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
        "A machine with cgroup v1 has eleven hierarchies. How many of them must be mounted for the kubelet to start?",
        unit="hierarchies",
        answer_of=len,
        why="cpu and cpuacct share one hierarchy, and cpuset and memory have one each. The kubelet starts "
        "without the other hierarchies.",
        picture=show.places(
            "Without which hierarchy the kubelet does not start",
            lambda seen: {
                name: show.PlaceCard([], "needed", "chosen")
                if name in seen.observed
                else show.PlaceCard([], "starts without it")
                for name in seen["of"]
            },
        ),
    ),
    Question(
        "order",
        "A Burstable pod arrives on a node. In which order do the kubelet and the runtime write the cgroups?",
        choices=["class, pod, container", "pod, class, container", "container, pod, class", "pod, container, class"],
        answer_of=", ".join,
        why="The kubelet writes the upper levels first, because a limit must exist before a process can exceed it.",
        picture=show.nested(
            "Written from outside",
            lambda seen: [(level, f"written as number {place}") for place, level in enumerate(seen.observed, 1)],
        ),
    ),
    Question(
        "class",
        "An administrator writes a different value to a file of the QoS cgroup burstable. When does "
        "the kubelet repair the file?",
        choices=TIMES,
        answer_of=_in_words,
        why="The kubelet's function UpdateCgroups writes the QoS cgroups every minute, even if nothing has changed.",
        picture=show.repaired("A changed file of a QoS cgroup", "burstable", "written again, every 60 s"),
    ),
    Question(
        "pod",
        "When does the kubelet repair a file in the cgroup of a pod if the pod does not change?",
        choices=TIMES,
        answer_of=_in_words,
        why="The kubelet's function EnsureExists creates a pod's cgroup if it is missing. It does not "
        "check the files of an existing cgroup.",
        picture=show.repaired("A changed file of a pod's cgroup", "pod", "written again"),
    ),
    Question(
        "orphan",
        "An administrator creates a pod cgroup with a UID that belongs to no pod. When does the "
        "kubelet remove this cgroup?",
        choices=TIMES,
        answer_of=_in_words,
        why="The kubelet's housekeeping calls cleanupOrphanedPodCgroups every two seconds.",
        picture=show.repaired("A cgroup without a pod", "orphan", "removed, every 2 s"),
    ),
]


def _nested(answer: Any, cluster: Any) -> str:
    left = [path for path in cluster.node().cgroupfs.children("/kubepods/besteffort") if "pod" in path]
    return first_problem(
        (bool(left), f"{left[0] if left else ''} still exists: let two seconds pass."),
        (answer is not True, "Answer True after both cgroups are removed."),
    )


EXERCISES = [
    Exercise(
        "removal",
        "The kernel does not remove a cgroup that has children. Count the cgroups of web in "
        "node.desired().of_pod(uid).",
        number(
            2,
            {
                1: "The sandbox (pause) has a cgroup of its own, in addition to the container's cgroup.",
                0: "rmdir refuses a directory that has children.",
                3: "Do not count the pod's own cgroup.",
            },
            otherwise="How many cgroups are below the pod's own cgroup?",
        ),
        """
below = [group.kind for group in node.desired().of_pod(uid) if group.kind != "pod"]
cluster.delete("Pod", "web", grace=0)
lesson.wait(lambda: not node.tree().of_pod(uid), 60)
answer = len(below)
""",
        "The runtime first removes the cgroups of the containers and the sandbox, then the kubelet "
        "removes the pod's cgroup.",
    ),
    Exercise(
        "restarted",
        "A restart creates a new container with a new cgroup.",
        number(
            200,
            {150: "The runtime removed that cgroup with the dead container."},
            otherwise="Where does the new limit of the container come from?",
        ),
        "answer = 200",
        "The runtime writes the value that it gets from the kubelet, and the kubelet takes this value "
        "from the manifest.",
    ),
    Exercise(
        "nested",
        "Call node.cgroupfs.makedirs('/kubepods/besteffort/pod<some UID>/child'), then lesson.wait.",
        _nested,
        """
orphan = "/kubepods/besteffort/pod11111111-1111-1111-1111-111111111111"
node.cgroupfs.makedirs(f"{orphan}/child")
lesson.wait(lambda: not node.cgroupfs.exists(orphan), 60)
answer = not node.cgroupfs.exists(orphan)
""",
        "cleanupOrphanedPodCgroups kills the processes in an orphaned cgroup and removes the cgroup with its children.",
    ),
    Exercise(
        "without-qos",
        "Notebook 06 sets the flag --cgroups-per-qos, and the kubelet's error message names the other setting.",
        choice(
            "enforceNodeAllocatable",
            {"--enforce-node-allocatable": ""},
            otherwise="Which setting enforces limits on the cgroup of all pods?",
        ),
        'answer = "enforceNodeAllocatable"',
    ),
]
