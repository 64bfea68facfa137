"""Questions and exercises of notebook 06b, reservations that are enforced."""

from __future__ import annotations

from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, choice, number

QUESTIONS = [
    Question(
        "worked-cpu",
        "How many CPU shares does kubepods.slice have on the node with 8 CPUs?",
        unit="shares",
        why="The two reservations of 500m leave 7 CPUs for pods.",
        formula="(8000 − 500 − 500) × 1024 / 1000 = 7168",
        picture=show.amounts(
            "cpu.shares of the node",
            lambda seen: {"8 CPUs": 8 * 1024, "kubepods.slice": seen.observed},
            unit="shares",
            picked=["kubepods.slice"],
        ),
    ),
    Question(
        "worked-burstable",
        "How many CPU shares does kubepods-burstable.slice have on this node?",
        unit="shares",
        tolerance=0.001,
        why="The shares correspond to the sum of the Burstable requests: 500m of nginx and 1010m of the system pods.",
        formula="1510 × 1024 / 1000 = 1546",
        picture=show.amounts(
            "cpu.shares in kubepods.slice",
            lambda seen: {"kubepods.slice": 7 * 1024, "kubepods-burstable.slice": seen.observed},
            unit="shares",
            picked=["kubepods-burstable.slice"],
        ),
    ),
    Question(
        "own",
        "How much memory, in MiB, may all pods of your own node use together before the kernel kills a process?",
        unit="MiB",
        why="The kubelet subtracts both reservations. Pods can request {offered}, which is 100Mi less than this limit.",
        formula="1024 − 128 − 128",
        picture=show.amounts(
            "Memory of the node",
            lambda seen: {
                name: amount * 1024
                for name, amount in show.node_memory(seen, limit_gib=seen.observed / 1024).items()
                if name != "difference"
            },
            unit="MiB",
            picked=["limit of kubepods"],
        ),
    ),
    Question(
        "hog",
        "A pod without requests and limits uses 900 MiB of memory. What happens to the pod?",
        choices=["it stays Pending", "it runs: it has no limit", "it starts, and is ended"],
        answer_of=lambda phase: {"Failed": "it starts, and is ended", "Pending": "it stays Pending"}.get(
            phase, "it runs: it has no limit"
        ),
        why="The pod ended with the reason {ending}. The pod has no limit, but /kubepods has a limit of "
        "{limit} MiB for all pods together.",
        picture=show.amounts(
            "Memory of the pod",
            {"hog": 900},
            unit="MiB",
            bounds=lambda seen: [("limit of kubepods", seen["limit"])],
            crossed=lambda seen: {"hog": seen["ending"]} if seen.observed == "Failed" else {},
        ),
    ),
]

EXERCISES = [
    Exercise(
        "pods",
        "The kubelet uses the smaller of the two limits.",
        number(
            32,
            {110: "--pods-per-core may only lower the number of pods."},
            otherwise="The node may run 4 pods for each of its 8 CPUs.",
        ),
        "answer = 32",
    ),
    Exercise(
        "daemons",
        "The pod hog exceeded the limit of its parent cgroup. The kernel's log shows the result.",
        choice(
            "they are killed",
            {
                "nothing": "The enforcement gives the cgroup of the daemons a memory limit.",
                "they are evicted": "The kubelet evicts pods only, not daemons.",
            },
            otherwise='"nothing", "they are killed" or "they are evicted"?',
        ),
        'answer = "they are killed"',
        "The enforcement of system-reserved is dangerous: the kernel may kill sshd or the container runtime.",
    ),
]
