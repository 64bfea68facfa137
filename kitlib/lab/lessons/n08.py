"""Questions and exercises of notebook 08, exclusive CPUs."""

from __future__ import annotations

from kitlib.kubelet.util.cpuset import parse_cpus
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, cpu_list, number

NO_GAP = "not at all: its smaller list is written first"
TO_THE_TICK = "at most 10 s: it depends on the next tick"


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
            show.node_cpus,
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
            show.node_cpus,
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
        "only at its tick, every 10 s from the kubelet's start. The picture shows how long pod-1 kept them "
        "here. pod-2 does not wait until other pods leave its CPUs.",
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
]

EXERCISES = [
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
        cpu_list(
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
]
