"""Questions and exercises of notebook 12, the scheduler's pipeline."""

from __future__ import annotations

from typing import Any

from kitlib.lab.exercise import Exercise, Question, choice, first_problem, number

_FITS = {
    (True, True): "both",
    (True, False): "only may-use-8",
    (False, True): "only asks-3",
    (False, False): "neither",
}
NODES = ("old", "gpu", "full", "closed", "half", "lopsided")


def _changed(same: tuple[bool, bool]) -> str:
    scores, node = same
    if node:
        return "nothing" if scores else "the scores only"
    return "the scores and the node"


QUESTIONS = [
    Question("left", "How many of the six nodes pass every filter?", unit="nodes", why="They are {left}."),
    Question("winner", "To which node does web go?", choices=NODES, why="{last}"),
    Question(
        "weight",
        "NodeResourcesBalancedAllocation gets the weight 20 instead of 1. To which node does web go now?",
        choices=NODES,
        why="half uses CPU and memory alike; lopsided has much CPU and little memory. Points are multiplied by "
        "the weight.",
    ),
    Question(
        "cycle-state",
        "Six nodes. How often is the plugin's Filter called in one cycle?",
        unit="times",
        why="Only for the nodes that no filter before it has rejected. PreFilter is called once, for the pod.",
    ),
    Question(
        "all-filters",
        "How many reasons are named for closed?",
        unit="reasons",
        why="A node is out with its first refusal; the filters after it are not asked. Remove one reason, and the next "
        "may appear.",
    ),
    Question(
        "run-all",
        "With runAllFilters, how many reasons would have been named for closed?",
        unit="reasons",
        why="Cordoned, and too small: the label fits. The message was longer, and every cycle slower.",
    ),
    Question(
        "percentage",
        "1000 equal nodes, default setting. How many of them does the scheduler look for before it stops and scores?",
        unit="nodes",
        tolerance=0.02,
        why="50 − 1000 / 125 = 42 percent of the nodes.",
        formula="max(nodes × max(50 − nodes / 125, 5) / 100, 100)",
    ),
    Question(
        "prefilter",
        "200 nodes; the pod may run on node-7 only. How many nodes do the filter plugins look at in 1.24?",
        choices=["all 200", "1"],
        answer_of=lambda asked: "1" if asked["1.24"] * 20 < asked["1.23"] else "all 200",
        why="Since 1.24 PreFilter may name the only nodes in question (PreFilterResult), and NodeAffinity does so. "
        "1.23 asked about all of them.",
    ),
    Question(
        "extender",
        "How many node names are sent to the extender?",
        unit="nodes",
        answer_of=len,
        why="Only those that the plugins left: an extender cannot bring a node back.",
    ),
    Question(
        "limits",
        "Which of them fits?",
        choices=list(_FITS.values()),
        answer_of=lambda fits: _FITS[fits],
        why="Limits are not looked at, nor is use: 2 CPUs are requested, so 2 are left.",
    ),
    Question(
        "overhead",
        "A pod requests 1 CPU and its runtime class has an overhead of 250m. Is it placed?",
        choices=["yes: overhead is not a request", "no: overhead is added to its request"],
        answer_of=lambda hosts: (
            "yes: overhead is not a request" if hosts[1] else "no: overhead is added to its request"
        ),
        why="Without overhead it fits. The sandbox needs the 250m as well, so they count (stable since 1.24). "
        "What counts is the effective request: init containers and sidecars are part of it, too.",
    ),
    Question(
        "busy",
        "While c burns, the scheduler decides about web once more. What is different now?",
        choices=["nothing", "the scores only", "the scores and the node"],
        answer_of=_changed,
        why="full uses next to nothing and is full; lopsided is busy and has room. Requests are what counts.",
    ),
]


def _pack(answer: Any, _: Any) -> str:
    fit = answer.score_frame()["NodeResourcesFit", "raw"].to_dict()
    return first_problem(
        (answer.pod.name != "web", "Decide about web."),
        (
            fit["half"] <= fit["lopsided"],
            "half is used more, so packing must give it more points: is it MostAllocated?",
        ),
    )


def _own(answer: Any, _: Any) -> str:
    rejecting = [row["plugin"] for row in answer.filter_rows() if row["node"] == "lopsided" and row["reasons"]]
    return first_problem(
        ("NotOnBigNodes" not in rejecting, "lopsided has 8 CPUs: NotOnBigNodes must reject it."),
        (answer.suggested_host != "half", f"web went to {answer.suggested_host or 'no node'}; half has 4 CPUs."),
    )


EXERCISES = [
    Exercise(
        "tolerated",
        "TaintToleration counts only the taints that are not tolerated.",
        number(
            100,
            {0: "A tolerated taint is not counted, so this node is as good as the others."},
            otherwise="The fewest untolerated taints get 100.",
        ),
        "answer = 100",
        "It costs only those pods something that do not tolerate it.",
    ),
    Exercise(
        "pack",
        "Profile.default(NodeResourcesFit={'scoringStrategy': {'type': 'MostAllocated', 'resources': […]}})",
        _pack,
        """
both = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
packing = Profile.default(NodeResourcesFit={"scoringStrategy": {"type": "MostAllocated", "resources": both}})
answer = scenario.decide(profile=packing)
""",
        "Packing leaves whole nodes empty, which an autoscaler can take away.",
    ),
    Exercise(
        "port",
        "Look for it in the steps above.",
        choice(
            "NodePorts", {"NodeResourcesFit": "A port is no resource."}, otherwise="Its name says what it looks at."
        ),
        'answer = "NodePorts"',
    ),
    Exercise(
        "own-plugin",
        "filter_node returns a reason, or None where the node may stay; copy the profile of Counts.",
        _own,
        """
class NotOnBigNodes(NodePlugin):
    name = "NotOnBigNodes"

    def filter_node(self, pod, node, pods):
        return "node is too good for this pod" if node.status.allocatable["cpu"].value() > 4 else None

own = {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "NotOnBigNodes"}]}}}]}
answer = scenario.decide(profile=Profile.load(own, own=[NotOnBigNodes])["default-scheduler"])
""",
        "A plugin needs a name and one method.",
    ),
]
