"""Questions and exercises of notebook 06, capacity, reserved, allocatable."""

from __future__ import annotations

from typing import Any

from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.node_allocatable import node_allocatable_reservation
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem

GIB = 2**30
BOTH, RESERVED, EVICTION = (
    "4 GiB reserved, 8 GiB hard eviction threshold",
    "4 GiB reserved for the system",
    "8 GiB hard eviction threshold",
)
NO_START = "does not start"


def _configured(answer: Any, _: Any) -> str:
    flags = [answer] if isinstance(answer, str) else list(answer)
    node = NodeConfig(machine=MachineInfo.declare(4, "8Gi"), settings=read_settings(flags))
    kept = node_allocatable_reservation(node.machine.capacity(), node.reservations)
    cpu = 4000 - (kept["cpu"].milli_value() if "cpu" in kept else 0)
    memory = 8 * GIB - (kept["memory"].value() if "memory" in kept else 0)
    return first_problem(
        (cpu != 3500, f"{cpu}m of CPU are allocatable, not 3500m."),
        (
            memory != 6 * GIB,
            f"{memory / GIB:.3f}Gi of memory are allocatable. Does your sum include the default threshold of 100Mi?",
        ),
    )


QUESTIONS = [
    Question(
        "memory",
        "Which settings cause the difference between capacity and allocatable memory?",
        choices=[RESERVED, BOTH, EVICTION, "kernel and page tables"],
        answer_of=lambda gib: {12: BOTH, 4: RESERVED, 8: EVICTION}.get(gib, "kernel and page tables"),
        why="{observed:g} GiB of the machine's memory are not available for pods.",
        formula="allocatable = capacity − kube-reserved − system-reserved − hard eviction threshold",
        picture=show.amounts("Memory of the node", show.node_memory, unit="GiB", picked=["difference"]),
    ),
    Question(
        "kubepods",
        "Which memory limit does kubepods, the cgroup of all pods, have?",
        choices=["capacity", "capacity − reserved", "capacity − reserved − eviction threshold"],
        answer_of=lambda gib: {
            0: "capacity",
            4: "capacity − reserved",
            12: "capacity − reserved − eviction threshold",
        }[gib],
        why="The kubelet does not subtract the eviction threshold from the memory limit of kubepods: it "
        "enforces the threshold by evicting pods.",
        picture=show.amounts(
            "Memory of the node",
            lambda seen: show.node_memory(seen, seen.observed),
            unit="GiB",
            picked=["limit of kubepods"],
        ),
    ),
    Question(
        "limits",
        "A node has 62 allocatable CPUs. A Deployment is scaled to 20 pods of 3800m. How many of "
        "these pods fit on the node?",
        unit="pods",
        why="Each pod requests 3.8 CPUs: 62 / 3.8 = 16.3. The scheduler ignores the limits of 16 CPUs.",
        picture=show.amounts(
            "Pods on the node",
            lambda seen: {"run": seen.observed, "wait": len(seen.cluster.pods()) - seen.observed},
            unit="pods",
            bounds=lambda seen: [
                (
                    "room by request",
                    seen.cluster.nodes[0].status.allocatable["cpu"].milli_value()
                    / seen.cluster.pods()[0].spec.containers[0].resources.requests["cpu"].milli_value(),
                )
            ],
            picked=["run"],
        ),
    ),
    Question(
        "missing",
        "The only flags are --enforce-node-allocatable=pods,system-reserved and "
        "--system-reserved=memory=1Gi. What does the kubelet do?",
        choices=["makes the cgroup /system-reserved and limits it", "limits system.slice", NO_START],
        answer_of=lambda said: "limits system.slice" if said == "starts" else NO_START,
        why="The kubelet needs a flag with the name of the reserved cgroup. This cgroup must exist: the "
        "kubelet does not create it.",
        picture=show.steps(
            "The kubelet starts?",
            lambda seen: {
                "": [
                    ("flags", "enforce system-reserved, without its cgroup"),
                    ("kubelet", seen.observed, "stops" if seen.observed != "starts" else "now"),
                ]
            },
        ),
    ),
]

EXERCISES = [
    Exercise(
        "configure",
        "--kube-reserved, --system-reserved and --eviction-hard reduce allocatable. The default "
        "eviction threshold of memory is 100Mi.",
        _configured,
        'answer = ["--kube-reserved=cpu=500m,memory=1Gi", "--eviction-hard=memory.available<1Gi"]',
        "Other combinations of these flags give the same result, because only the sum matters.",
    ),
    Exercise(
        "percent",
        "The percentage refers to the machine's memory capacity.",
        lambda answer, _: first_problem(
            (not abs(float(answer) - 0.1 * 8 * GIB) <= 10 * 2**20, "The answer is a tenth of 8 GiB, in bytes."),
        ),
        "answer = 8 * 2**30 // 10",
        "The kubelet keeps the percentage as a 32-bit float, so the last bytes differ.",
    ),
]
