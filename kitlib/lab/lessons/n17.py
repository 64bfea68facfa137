"""Questions and exercises of notebook 17, explain your own cluster."""

from __future__ import annotations

from typing import Any

from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem, number

LESS, TOLERATE, SELECTOR = "request less CPU", "tolerate the taint", "give up the node selector"


def _own_way(changes: list[str]) -> str:
    """Return the change that does not affect other users' nodes: a smaller request of the pod itself."""
    return LESS if any("cpu" in change for change in changes) else TOLERATE


MOVED, GONE, REFUSED = "it moves them to other nodes", "it deletes them", "it refuses to start"
RUNS, WAITS, PREEMPTS = "it runs on one of them", "it still waits", "it preempts db-0"


def _of_drain(found: Any) -> str:
    """Return the answer that a drain carried out on a copy gives."""
    if found.refused:
        return REFUSED
    return MOVED if any(effect.kind == "moves" for effect in found.effects) else GONE


def _of_growth(found: Any) -> str:
    """Return the answer that added nodes give: a pod without a change still waits."""
    kinds = {effect.kind for effect in found.effects}
    return PREEMPTS if "preempted" in kinds else RUNS if "placed" in kinds else WAITS


QUESTIONS = [
    Question(
        "reasons",
        "How many different reasons does the FailedScheduling event name for the pod shop-0?",
        unit="reasons",
        answer_of=len,
        why="The event names {reasons}. For each node it contains one reason, from the first filter that "
        "rejects the node.",
    ),
    Question(
        "own",
        "Which single change lets the pod shop-0 run on one of your own nodes, without asking the ml team?",
        choices=[LESS, TOLERATE, SELECTOR, "another node is needed"],
        answer_of=_own_way,
        why="The node worker-1 has 1 free CPU. With a toleration the pod would use another team's node. "
        "Without the selector the pod would still not fit on worker-2.",
    ),
    Question(
        "more",
        "How many copies of the pod web-1 (500m, no node selector) fit into the cluster?",
        unit="pods",
        why="The nodes worker-1 and worker-2 have 1 free CPU each, and worker-3 has a taint.",
        picture=show.amounts(
            "Copies that fit",
            lambda seen: {**seen["value"][0], "together": seen.observed},
            unit="pods",
            picked=["together"],
        ),
    ),
    Question(
        "drain",
        "What does kubectl drain worker-2 do to the pods web-0 and web-1?",
        choices=[MOVED, GONE, REFUSED],
        answer_of=_of_drain,
        why="A drain deletes pods and does not move them. A controller creates new pods on other nodes, "
        "but web-0 and web-1 have no controller. So kubectl evicts such pods only with --force.",
        formula="unreplicatedFilter in kubectl pkg/drain/filters.go",
    ),
    Question(
        "grow",
        "You add two nodes like worker-2. What happens to the pod shop-0?",
        choices=[RUNS, WAITS, PREEMPTS],
        answer_of=_of_growth,
        why="The pod shop-0 has the node selector disk=ssd, and the new nodes have the labels of "
        "worker-2. More room helps only on nodes that pass every other filter.",
    ),
]


def _fragile(answer: Any, cluster: Any) -> str:
    names = {str(name) for name in answer}
    right = {p.name for p in cluster.pods() if p.name.startswith("web-") and p.status.phase == "Running"}
    return first_problem(
        (bool(names & {"db-0"}), "The pod db-0 requests 4Gi of the machine's 8Gi: its oom_score_adj is about 500."),
        (names != right, "Look at /proc of each running pod: cluster.node(…).proc(name)['oom_score_adj']."),
    )


EXERCISES = [
    Exercise(
        "least",
        "The node worker-1 has 4 CPUs.",
        number(
            1000,
            {1500: "1500m is what the pod requests now.", 4000: "The pod db-0 has 3 of these 4 CPUs."},
            otherwise="The pod db-0 leaves 4 − 3 CPUs free.",
        ),
        "answer = 1000",
    ),
    Exercise(
        "noexecute",
        "The filter TaintToleration rejects both effects with the same message.",
        number(
            3,
            {2: "Three nodes are rejected by three filters: CPU, node selector and taint."},
            otherwise="The event has one reason for each node.",
        ),
        "answer = 3",
        "A taint with NoExecute would also evict running pods. The message of a pending pod is the same.",
    ),
    Exercise(
        "decode",
        "Use decode(text)['reasons'].",
        number(
            2,
            {5: "5 is the number of all nodes.", 3: "3 is the number of nodes that have a taint."},
            otherwise="In the message the number of nodes is before the reason.",
        ),
        """
message = "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s)."
answer = decode(message)["reasons"]["Insufficient cpu"]
""",
        "The message does not show whether the three tainted nodes lack CPU too, because TaintToleration rejected "
        "them first.",
    ),
    Exercise(
        "fragile",
        "The oom_score_adj of a Burstable container is 1000 minus its memory request in thousandths of the "
        "machine's memory.",
        _fragile,
        """
running = [p for p in cluster.pods() if p.status.phase == "Running"]
scores = {p.name: int(cluster.node(p.spec.node_name).proc(p.name)["oom_score_adj"]) for p in running}
answer = [name for name, score in scores.items() if 900 <= score < 1000 and name.startswith("web-")]
""",
        "These pods request CPU and little or no memory. The OOM killer kills only BestEffort pods before these pods.",
    ),
]
