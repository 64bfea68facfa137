"""Questions and exercises of notebook 08b, exclusive CPUs on your node, and topology."""

from __future__ import annotations

from kitlib.kubelet.util.cpuset import parse_cpus
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, choice, cpu_list

WHERE = ("CPU 0", "CPU 1", "CPUs 0 and 1", "it does not start")
_PLACES = {"0": "CPU 0", "1": "CPU 1", "0-1": "CPUs 0 and 1"}
GPU_SIDE = frozenset({4, 5, 6, 7})


def _near(cpus: dict[str, str]) -> str:
    near = [policy for policy, text in cpus.items() if parse_cpus(text) <= GPU_SIDE]
    return "none too" if "none" in near else "all except none" if len(near) == 3 else "single-numa-node only"


QUESTIONS = [
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
            show.node_cpus,
            picked=["crowd"],
        ),
    ),
    Question(
        "owner",
        "On which CPUs can the pod named owner run?",
        choices=WHERE,
        answer_of=lambda text: _PLACES.get(text, "it does not start"),
        why="CPU 0 is reserved, so CPU 1 is the first available CPU. On a machine with one CPU, no CPU would "
        "remain for pods.",
        picture=show.cpu_sets(
            "CPUs that each pod may use",
            lambda seen: seen["value"],
            show.node_cpus,
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
        why="The scheduler is not aware of NUMA, so it binds the pod to this node. The kubelet can "
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

EXERCISES = [
    Exercise(
        "siblings",
        "CPU 0 is reserved, so its core is not completely free. Which is the first core with two free CPUs?",
        cpu_list(
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
