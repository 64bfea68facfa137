"""Questions and exercises of notebook 17, explain your own cluster."""

from __future__ import annotations

from typing import Any

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
    return MOVED if any(one.kind == "moves" for one in found.effects) else GONE


def _of_growth(found: Any) -> str:
    """Return the answer that added nodes give: a pod without a change still waits."""
    kinds = {one.kind for one in found.effects}
    return PREEMPTS if "preempted" in kinds else RUNS if "placed" in kinds else WAITS


QUESTIONS = [
    Question(
        "reasons",
        "How many different reasons does the event name for shop-0?",
        unit="reasons",
        answer_of=len,
        why="{reasons}. For each node the event has one reason, from the first filter that rejects it.",
    ),
    Question(
        "own",
        "Which single change lets shop-0 run on one of your own nodes, without asking the ml team?",
        choices=[LESS, TOLERATE, SELECTOR, "another node is needed"],
        answer_of=_own_way,
        why="worker-1 has 1 free CPU. A toleration would also work, but the pod would use another team's node. "
        "Without the selector the pod would not fit on worker-2 either.",
    ),
    Question(
        "more",
        "How many copies of web-1 (500m, no selector) fit into the whole cluster?",
        unit="pods",
        why="worker-1 and worker-2 have 1 free CPU each; worker-3 has a taint.",
    ),
    Question(
        "drain",
        "What does kubectl drain worker-2 do to web-0 and web-1?",
        choices=[MOVED, GONE, REFUSED],
        answer_of=_of_drain,
        why="A drain deletes pods and moves none. A controller makes new ones elsewhere; nothing would make web-0 and "
        "web-1 again. So kubectl evicts pods without a controller only with --force.",
        formula="unreplicatedFilter in kubectl pkg/drain/filters.go",
    ),
    Question(
        "grow",
        "You add two nodes like worker-2. What happens to shop-0?",
        choices=[RUNS, WAITS, PREEMPTS],
        answer_of=_of_growth,
        why="shop-0 has the node selector disk=ssd, and the new nodes have the labels of worker-2. More room "
        "helps only on nodes that pass every other filter.",
    ),
]


def _fragile(answer: Any, cluster: Any) -> str:
    names = {str(name) for name in answer}
    right = {p.name for p in cluster.pods() if p.name.startswith("web-") and p.status.phase == "Running"}
    return first_problem(
        (bool(names & {"db-0"}), "db-0 requests 4Gi of the machine's 8Gi: its oom_score_adj is about 500."),
        (names != right, "Look at /proc of each running pod: cluster.node(…).proc(name)['oom_score_adj']."),
    )


EXERCISES = [
    Exercise(
        "least",
        "worker-1 has 4 CPUs.",
        number(
            1000,
            {1500: "This is what the pod requests now.", 4000: "db-0 has 3 of these CPUs."},
            otherwise="db-0 leaves 4 − 3 CPUs.",
        ),
        "answer = 1000",
    ),
    Exercise(
        "noexecute",
        "The filter TaintToleration rejects both effects with the same message.",
        number(
            3,
            {2: "Three nodes are rejected by three filters: CPU, selector, taint."},
            otherwise="The event has one reason for each node.",
        ),
        "answer = 3",
        "NoExecute would also evict running pods; the message of a pending pod is the same.",
    ),
    Exercise(
        "decode",
        "Use decode(text)['reasons'].",
        number(
            2,
            {5: "This is the number of all nodes.", 3: "These nodes have a taint."},
            otherwise="The number is before the reason.",
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
        "They request CPU and little or no memory. The OOM killer kills only BestEffort pods before them.",
    ),
]
