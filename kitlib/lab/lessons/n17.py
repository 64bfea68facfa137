"""Questions and exercises of notebook 17, explain your own cluster."""

from __future__ import annotations

from typing import Any

from kitlib.lab.exercise import Exercise, Question, first_problem, number

LESS, TOLERATE, SELECTOR = "request less CPU", "tolerate the taint", "give up the node selector"


def _own_way(changes: list[str]) -> str:
    """Return the change that does not affect other users' nodes: a smaller request of the pod itself."""
    return LESS if any("cpu" in change for change in changes) else TOLERATE


QUESTIONS = [
    Question(
        "reasons",
        "How many different reasons does the event name for shop-0?",
        unit="reasons",
        answer_of=len,
        why="{reasons}. One reason for each node: the first filter that says no.",
    ),
    Question(
        "own",
        "Which single change lets it in on a node that is yours, without a word with the ml team?",
        choices=[LESS, TOLERATE, SELECTOR, "another node is needed"],
        answer_of=_own_way,
        why="worker-1 has 1 CPU left. A toleration would work as well, but it takes another team's node; and "
        "without the "
        "selector worker-2 has no more room either.",
    ),
    Question(
        "more",
        "How many copies of web-1 (500m, no selector) fit into the whole cluster?",
        unit="pods",
        why="worker-1 and worker-2 have 1 CPU each; worker-3 is tainted.",
    ),
]


def _fragile(answer: Any, cluster: Any) -> str:
    names = {str(name) for name in answer}
    right = {p.name for p in cluster.pods() if p.name.startswith("web-") and p.status.phase == "Running"}
    return first_problem(
        (bool(names & {"db-0"}), "db-0 requests 4Gi of the machine's 8: its score is about 500."),
        (names != right, "Look at /proc of each running pod: cluster.node(…).proc(name)['oom_score_adj']."),
    )


EXERCISES = [
    Exercise(
        "least",
        "worker-1 has 4 CPUs.",
        number(1000, {1500: "That is what it requests now.", 4000: "db-0 has 3 of them."}, otherwise="4 − 3 CPUs."),
        "answer = 1000",
    ),
    Exercise(
        "noexecute",
        "The filter TaintToleration rejects both effects with the same words.",
        number(3, {2: "Three nodes, three filters: CPU, selector, taint."}, otherwise="One reason for each node."),
        "answer = 3",
        "NoExecute would end running pods as well; a pod that waits reads the same.",
    ),
    Exercise(
        "decode",
        "decode(text)['reasons']",
        number(
            2, {5: "Those are all nodes.", 3: "Those have a taint."}, otherwise="The number stands before the reason."
        ),
        """
message = "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s)."
answer = decode(message)["reasons"]["Insufficient cpu"]
""",
    ),
    Exercise(
        "fragile",
        "The adjustment of a Burstable container is 1000 minus the requested thousandths of the machine's memory.",
        _fragile,
        """
running = [p for p in cluster.pods() if p.status.phase == "Running"]
scores = {p.name: int(cluster.node(p.spec.node_name).proc(p.name)["oom_score_adj"]) for p in running}
answer = [name for name, score in scores.items() if 900 <= score < 1000 and name.startswith("web-")]
""",
        "They request CPU and little or no memory: next to BestEffort the first to die.",
    ),
]
