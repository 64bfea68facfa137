"""Questions and exercises of notebook 12, the scheduler's pipeline."""

from __future__ import annotations

from typing import Any

from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, choice, first_problem, number

NODES = ("old", "gpu", "full", "closed", "half", "lopsided")


def _pack(answer: Any, _: Any) -> str:
    fit = answer.score_frame()["NodeResourcesFit", "raw"].to_dict()
    return first_problem(
        (answer.pod.name != "web", "Make the decision for the pod web."),
        (
            fit["half"] <= fit["lopsided"],
            "The node half is used more, so packing must give it a higher score: is the strategy MostAllocated?",
        ),
    )


def _own(answer: Any, _: Any) -> str:
    rejecting = [row["plugin"] for row in answer.filter_rows() if row["node"] == "lopsided" and row["reasons"]]
    return first_problem(
        ("NotOnBigNodes" not in rejecting, "The node lopsided has 8 CPUs: NotOnBigNodes must reject it."),
        (
            answer.suggested_host != "half",
            f"The decision is {answer.suggested_host or 'no node'}; the node half has 4 CPUs.",
        ),
    )


QUESTIONS = [
    Question(
        "left", "How many of the six nodes pass every filter?", unit="nodes", why="The nodes {left} pass every filter."
    ),
    Question("winner", "On which node does the scheduler place the pod web?", choices=NODES, why="{last}"),
    Question(
        "weight",
        "NodeResourcesBalancedAllocation gets the weight 20 instead of 1. On which node does the "
        "scheduler place the pod web now?",
        choices=NODES,
        why="With the pod, the requests on half are 75% of the CPU and 62.5% of the memory instead of 50% and 50%; on "
        "lopsided 25% and 75% instead of 12.5% and 25%, which is less equal. The scheduler multiplies the plugin's "
        "score by its weight.",
        picture=show.decided("Points with weight 20", lambda seen: seen["of"]),
    ),
    Question(
        "cycle-state",
        "The cluster has six nodes. How often does the scheduler call the method Filter of the custom "
        "plugin in one cycle?",
        unit="times",
        why="The scheduler calls Filter only for nodes that no earlier filter has rejected. It calls "
        "PreFilter once for the pod.",
        picture=show.amounts(
            "Calls of the plugin in one cycle",
            lambda seen: dict(seen["of"]),
            unit="times",
            bounds=[("nodes", 6)],
            picked=["Filter"],
        ),
    ),
    Question(
        "all-filters",
        "How many reasons does the event's message contain for the node named closed?",
        unit="reasons",
        why="After a filter has rejected a node, the scheduler does not call the other filters for this "
        "node. If you correct the reported problem, another filter can still reject "
        "the node.",
        picture=show.steps(
            "The node closed, filter by filter",
            lambda seen: {
                "": [
                    *((f"reason {place}", reason, "stops") for place, reason in enumerate(seen["of"], 1)),
                    ("other filters", "are not called", "never"),
                ]
            },
        ),
    ),
    Question(
        "percentage",
        "A cluster has 1000 equal nodes and the default percentageOfNodesToScore. How many feasible "
        "nodes does the scheduler find before it stops the search?",
        unit="nodes",
        tolerance=0.02,
        why="The scheduler stops after 50 − 1000 / 125 = 42 percent of the nodes.",
        formula="max(nodes × max(50 − nodes / 125, 5) / 100, 100)",
        picture=show.amounts(
            "Nodes that are scored",
            lambda seen: {f"percentage {percentage}": nodes for percentage, nodes in seen["of"].items()},
            unit="nodes",
            bounds=[("all", 1000)],
            picked=["percentage default"],
        ),
    ),
]

EXERCISES = [
    Exercise(
        "tolerated",
        "TaintToleration counts only the taints that the pod does not tolerate.",
        number(
            100,
            {0: "A tolerated taint is not counted, so this node gets the same score as the others."},
            otherwise="The node with the fewest untolerated taints gets 100.",
        ),
        "answer = 100",
        "The taint lowers the score only for pods that do not tolerate it.",
    ),
    Exercise(
        "pack",
        "Use Profile.default(NodeResourcesFit={'scoringStrategy': {'type': 'MostAllocated', 'resources': […]}}).",
        _pack,
        """
both = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
packing = Profile.default(NodeResourcesFit={"scoringStrategy": {"type": "MostAllocated", "resources": both}})
answer = scenario.decide(profile=packing)
""",
        "Packing leaves nodes empty, and an autoscaler can remove these nodes.",
    ),
    Exercise(
        "port",
        "The steps of the scheduling cycle above show the plugin.",
        choice(
            "NodePorts",
            {"NodeResourcesFit": "A port is not a resource."},
            otherwise="Its name says what the plugin checks.",
        ),
        'answer = "NodePorts"',
    ),
    Exercise(
        "own-plugin",
        "The method filter_node returns a reason, or None if the node passes. Copy the profile of the plugin Counts.",
        _own,
        """
class NotOnBigNodes(NodePlugin):
    name = "NotOnBigNodes"

    def filter_node(self, pod, node, pods):
        return "node is too good for this pod" if node.status.allocatable["cpu"].value() > 4 else None

own = {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "NotOnBigNodes"}]}}}]}
answer = scenario.decide(profile=Profile.load(own, own=[NotOnBigNodes])["default-scheduler"])
""",
        "A plugin needs only a name and one method.",
    ),
]
