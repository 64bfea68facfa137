"""Questions and exercises of notebook 08, exclusive CPUs and topology."""

from __future__ import annotations

from typing import Any

from kitlib.kubelet.util.cpuset import parse_cpus
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, choice, first_problem, number

WHERE = ("CPU 0", "CPU 1", "CPUs 0 and 1", "it does not start")
_PLACES = {"0": "CPU 0", "1": "CPU 1", "0-1": "CPUs 0 and 1"}
NO_GAP = "not at all: its smaller list is written first"
TO_THE_TICK = "at most 10 s: it depends on the next tick"
GPU_SIDE = frozenset({4, 5, 6, 7})


def _near(cpus: dict[str, str]) -> str:
    near = [policy for policy, text in cpus.items() if parse_cpus(text) <= GPU_SIDE]
    return "none too" if "none" in near else "all except none" if len(near) == 3 else "single-numa-node only"


QUESTIONS = [
    Question(
        "who",
        "Which of the three pods (earlier, pod-1, pod-2) get exclusive CPUs?",
        choices=["all three", "earlier and pod-2", "only pod-2", "none"],
        answer_of=lambda names: {3: "all three", 2: "earlier and pod-2", 1: "only pod-2"}.get(len(names), "none"),
        why="Exclusive CPUs require a Guaranteed pod and a container that requests a whole number of "
        "CPUs. 500m is not a whole number.",
        picture=show.cpu_sets(
            "CPUs that each pod may use",
            lambda seen: seen["value"],
            lambda seen: seen.cluster.nodes[0].status.capacity["cpu"].value(),
            picked=lambda seen: seen.observed,
        ),
    ),
    Question(
        "pool",
        "After all three pods have started, on how many of the 64 CPUs may pod-1 run?",
        unit="CPUs",
        answer_of=lambda text: len(parse_cpus(text)),
        why="Containers without exclusive CPUs may use the reserved CPU 0, because it stays in the shared pool.",
        formula="64 − 12 − 16",
        picture=show.cpu_sets(
            "CPUs that each pod may use",
            lambda seen: seen["value"],
            lambda seen: seen.cluster.nodes[0].status.capacity["cpu"].value(),
            picked=["pod-1"],
        ),
    ),
    Question(
        "gap",
        "pod-2 gets CPUs that pod-1 could use before. After pod-2 has started, how long can pod-1 "
        "still use these CPUs?",
        choices=[NO_GAP, TO_THE_TICK, "until pod-1 is restarted", "always: exclusive is only a preference"],
        answer_of=lambda gaps: (
            NO_GAP if not any(gaps) else TO_THE_TICK if max(gaps) <= 10 else "until pod-1 is restarted"
        ),
        why="pod-2 starts immediately with its exclusive CPUs. The CPU manager updates running containers "
        "only at its tick, every 10 s from the kubelet's start. Here it updated pod-1 after "
        "{observed} seconds. pod-2 does not wait until other pods leave its CPUs.",
        picture=show.amounts(
            "Seconds on the same CPUs",
            lambda seen: {f"{late} s after a tick": gap for late, gap in seen["value"].items()},
            unit="s",
            bounds=[("tick", 10)],
        ),
    ),
    Question(
        "mask",
        "Which CPUs does the CPU mask 00300030 contain?",
        choices=["3 and 19", "4, 5, 20 and 21", "0 to 3", "30 to 33"],
        answer_of=lambda text: "4, 5, 20 and 21" if text == "4-5,20-21" else text,
        why="The hexadecimal digit 3 is 0011 in binary. The second digit from the right represents CPUs 4 "
        "to 7, and the sixth digit represents CPUs 20 to 23.",
        picture=show.cpu_sets(
            "The CPUs of the mask, four a hexadecimal digit",
            lambda seen: {"xxx": seen.observed},
            32,
            split=4,
            picked=["xxx"],
        ),
    ),
    Question(
        "qualify",
        "How many of the five pods get exclusive CPUs?",
        unit="pods",
        answer_of=len,
        why="Only the pods whole and as-milli are Guaranteed and request a whole number of CPUs. 2 and "
        "2000m are the same number.",
        picture=show.cpu_sets(
            "CPUs that each pod may use",
            lambda seen: {name: cpus for name, (_, cpus) in seen["value"].items()},
            8,
            picked=lambda seen: seen.observed,
        ),
    ),
    Question(
        "squeezed",
        "How many CPUs does each of the three Burstable pods get after the new pod has started?",
        unit="CPUs",
        tolerance=0.05,
        why="Three CPUs are left for the three Burstable pods. Although the new pod sleeps, no other pod "
        "can use its exclusive CPUs.",
        picture=show.amounts(
            "CPU time",
            lambda seen: seen["value"]["with owner"],
            unit="CPUs",
            bounds=[("CPUs of the node", 8)],
            picked=["noise-0"],
        ),
    ),
    Question(
        "crowd",
        "After the pod named owner has started, on which CPUs can the pod named crowd run?",
        choices=WHERE,
        answer_of=lambda text: _PLACES.get(text, text),
        why="Before the pod named owner started, the pod named crowd could use {alone}. Then the kubelet "
        "changed the cpuset of the running container.",
        picture=show.cpu_sets(
            "CPUs that each pod may use",
            lambda seen: {"crowd alone": seen["alone"], **seen["value"]},
            lambda seen: seen.cluster.nodes[0].status.capacity["cpu"].value(),
            picked=["crowd"],
        ),
    ),
    Question(
        "owner",
        "On which CPUs can the pod named owner run?",
        choices=WHERE,
        answer_of=lambda text: _PLACES.get(text, "it does not start"),
        why="CPU 0 is reserved, so CPU 1 is the first available CPU. A machine with one CPU has no CPU available.",
        picture=show.cpu_sets(
            "CPUs that each pod may use",
            lambda seen: seen["value"],
            lambda seen: seen.cluster.nodes[0].status.capacity["cpu"].value(),
            picked=["owner"],
        ),
    ),
    Question(
        "gpu",
        "With which topology manager policies does the first pod get CPUs on the NUMA node of the GPU?",
        choices=["none too", "all except none", "single-numa-node only"],
        answer_of=_near,
        why="With the policy none the kubelet merges no hints, so the CPU manager takes the first free CPUs, which are "
        "on the other NUMA node.",
        picture=show.cpu_sets(
            "CPUs of the pod; its GPU is on NUMA node 1, at CPUs 4 to 7", lambda seen: seen.observed, 8, split=4
        ),
    ),
    Question(
        "wide",
        "Under the policy single-numa-node, what happens to the pod that requests 5 CPUs?",
        choices=["it gets CPUs of both sides", "it waits, Pending", "it fails at admission"],
        answer_of=lambda text: (
            "it fails at admission"
            if text.startswith("Failed")
            else "it waits, Pending"
            if text.startswith("Pending")
            else "it gets CPUs of both sides"
        ),
        why="The scheduler does not know NUMA nodes, so it binds the pod to this node. The kubelet can "
        "only reject the pod. The pod does not move to another node.",
        picture=show.cpu_sets(
            "CPUs of the pod of 5 CPUs",
            lambda seen: {policy: row["wide"] for policy, row in seen["value"].items()},
            8,
            split=4,
            picked=["single-numa-node"],
        ),
    ),
]


def _cpus(right: str, hint: str) -> Any:
    def judge(answer: Any, _: Any) -> str:
        return first_problem((parse_cpus(str(answer).replace(" ", "")) != parse_cpus(right), hint))

    return judge


EXERCISES = [
    Exercise(
        "siblings",
        "CPU 0 is reserved, so its core is not completely free. Which is the first core with two free CPUs?",
        _cpus(
            "2-3",
            "On this machine the cores are 0-1, 2-3, …, and the kubelet takes completely free cores first.",
        ),
        """
SIDE = {"name": "n", "topology": {"sockets": 1, "numa": 1, "cores": 4, "siblings": "next"}, "kubelet": STATIC}
other = lesson.simulated("such a machine is not at hand", [SIDE])
other.apply(pod("p", cpu="2", memory="64Mi", guaranteed=True))
answer = other.node().proc("p")["Cpus_allowed_list"]
""",
    ),
    Exercise(
        "init",
        "The containers that start after an init container reuse its CPUs.",
        number(
            4,
            {
                6: "The container takes two of the init container's four CPUs.",
                2: "The other two CPUs stay with the pod.",
            },
            otherwise="The answer is the larger of the two numbers of CPUs.",
        ),
        "answer = 4",
        "The container gets 2 of the 4 CPUs. The pod occupies all 4 until it ends.",
    ),
    Exercise(
        "reserved",
        "Copy the first cell, set --reserved-cpus=0,32, and read the CPU list of pod-1.",
        _cpus(
            "0,7,16-32,39,48-63",
            "Reserved CPUs stay in the shared pool. Did the exclusive lists of CPUs change at all?",
        ),
        """
flags = ["--cpu-manager-policy=static", "--reserved-cpus=0,32"]
node = {"name": "node-1", "topology": TOPOLOGY, "memory": "64Gi", "kubelet": flags}
other = lesson.simulated("such a machine is not at hand", [node])
for name, cpu in (("earlier", "12"), ("pod-1", "500m"), ("pod-2", "16")):
    other.apply(pod(name, cpu=cpu, memory="64Mi", guaranteed=True))
    other.advance(10)
answer = other.node().proc("pod-1")["Cpus_allowed_list"]
""",
        "The kubelet takes both CPUs of a core in any case, so the reservation of the second thread "
        "of core 0 changes nothing here.",
    ),
    Exercise(
        "whole-cores",
        "Start a node with this kubelet flag, and read status.reason of the pod.",
        choice(
            "SMTAlignmentError",
            {"TopologyAffinityError": "This is the reason of the topology manager. Here the threads of a core matter."},
            otherwise="The reason refers to SMT, simultaneous multithreading.",
        ),
        """
flags = [*STATIC, "--cpu-manager-policy-options=full-pcpus-only=true"]
node = {"name": "n", "topology": {"sockets": 1, "numa": 2, "cores": 4}, "kubelet": flags}
other = lesson.simulated("such a machine is not at hand", [node])
other.apply(pod("p", cpu="3", memory="64Mi", guaranteed=True))
answer = other.pod("p").status.reason
""",
    ),
]
