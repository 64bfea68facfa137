"""Questions and exercises of notebook 21b, autoscalers."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Node, Pod
from kitlib.api.resource import Quantity
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy
from kitlib.controllers.podautoscaler.replica_calculator import DEFAULT_TOLERANCE
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Question, first_problem
from kitlib.lab.manifests import pod
from kitlib.study.scale_down import removals
from kitlib.study.scenario import ZONE, node_of, pod_of

NOTHING = "it does nothing: there is nothing to divide by"
MOST, SETTLED = "at the most: 10 replicas", "at the replicas and the request that fit the load"


def _constraint(answer: Any, _: Any) -> str:
    """Judge a constraint with the autoscaler's removal check and the scheduler's selector matching."""
    rule = dict(answer)
    if rule.get("whenUnsatisfiable") != "DoNotSchedule":
        return "The constraint must stay hard: DoNotSchedule."
    if rule.get("topologyKey") != ZONE:
        return "The constraint must spread over zones."
    rule.setdefault("labelSelector", {"matchLabels": {"app": "web"}})
    nodes: list[Node] = [node_of({"name": name, "zone": name}) for name in "abc"]
    pods = [_replica(name, rule) for name in "abc"]
    selector = pods[0].spec.topology_spread_constraints[0].label_selector
    if not LabelSelectorMatcher(selector).matches({"app": "web"}):
        return (
            "The constraint must count web's pods (app: web). A constraint that selects none of these "
            "pods spreads nothing."
        )
    if not any(removal.possible for removal in removals(nodes, pods)):
        return (
            "No node may be removed: during the drain of a node, its zone counts as empty. Which nodes "
            "should the scheduler count?"
        )
    return ""


def _replica(node: str, rule: dict[str, Any]) -> Pod:
    manifest = pod(f"web-{node}", cpu="100m", labels={"app": "web"}, nodeName=node, topologySpreadConstraints=[rule])
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    manifest["metadata"]["ownerReferences"] = [owner]
    return deepcopy(pod_of(manifest))


def _request(answer: Any, _: Any) -> str:
    asked = Quantity.parse(str(answer)).milli_value()
    if asked <= 0:
        return "Without a request there is nothing to divide by."
    ratio = 200 / asked / 0.8
    return first_problem(
        (asked == 160, "160m is 80% of 200m. It is the other way round: 200m must be 80% of the request."),
        (asked < 2, "The quantity is too small: m stands for thousandths of a CPU."),
        (
            not DEFAULT_TOLERANCE.holds(ratio),
            f"200m of {asked}m is {20000 // asked}%. The target is 80%, so the autoscaler wants "
            f"{'more' if ratio > 1 else 'fewer'} than 4 replicas.",
        ),
    )


QUESTIONS = [
    Question(
        "idle",
        "Which of the five nodes may the autoscaler remove?",
        choices=["a", "b", "c", "d", "e"],
        answer_of=lambda nodes: nodes[0] if len(nodes) == 1 else ", ".join(nodes),
        why="No controller would recreate the pod tool. The pod cache would lose its local volume. The "
        "budget of web allows no eviction. The node d is in use.",
        picture=show.places(
            "What the autoscaler says to each node",
            lambda seen: {
                one.node: show.PlaceCard(
                    [one.pod] if one.pod else [],
                    f"{100 * one.utilization:.3g}% requested: {one.reason or 'may be removed'}",
                    "chosen" if one.possible else "refused",
                )
                for one in seen["of"]
            },
        ),
    ),
    Question(
        "zone",
        "May the autoscaler remove one of the three nodes?",
        choices=["yes, one of them", "no, none"],
        answer_of=lambda nodes: "yes, one of them" if nodes else "no, none",
        why="During the drain the node has a taint but still exists, so its zone counts as empty. One "
        "more pod in another zone would make a skew of 2.",
        picture=show.places(
            "What the autoscaler says to each node",
            lambda seen: {
                one.node: show.PlaceCard([], one.reason or "may be removed", "chosen" if one.possible else "refused")
                for one in seen["of"]
            },
        ),
    ),
    Question(
        "percent",
        "Which CPU utilization does the HorizontalPodAutoscaler measure while each replica requests 100m?",
        unit="percent",
        why="Utilization is usage divided by request. The node's capacity and the limit have no effect.",
        picture=show.amounts(
            "Usage in percent of the request",
            lambda seen: {"request 100m": seen.observed},
            unit="percent",
            bounds=[("target", 50)],
            picked=["request 100m"],
        ),
    ),
    Question(
        "replicas",
        "How many replicas does the HorizontalPodAutoscaler set while each replica requests 400m?",
        unit="replicas",
        why="Each pod uses 200m of a request of 400m. This is the target of 50%, so the number of replicas does not "
        "change.",
        formula="ceil(replicas × utilization / target), unchanged within 10%",
        picture=show.amounts(
            "Replicas", lambda seen: {"today": 2, "wanted": seen.observed}, unit="replicas", picked=["wanted"]
        ),
    ),
    Question(
        "nothing",
        "What does the HorizontalPodAutoscaler do while the replicas have no CPU request?",
        choices=["it counts 100% of what is used", NOTHING, "it goes by the limit"],
        answer_of=lambda reason: NOTHING if reason == "FailedGetResourceMetric" else "it goes by the limit",
        why="The condition ScalingActive is False, with the message “missing request for cpu”. One "
        "container without a CPU request stops the autoscaler.",
        picture=show.steps(
            "Utilization without a request",
            lambda seen: {
                "": [
                    ("metrics", "usage 200m", "done"),
                    ("autoscaler", f"usage / request: {seen.observed}", "stops"),
                    ("Deployment", "keeps its replicas", "never"),
                ]
            },
        ),
    ),
    Question(
        "both",
        "Which state do the vertical and the horizontal autoscaler reach together?",
        choices=["at 1 replica", SETTLED, MOST],
        answer_of=lambda replicas: MOST if replicas == 10 else "at 1 replica" if replicas == 1 else SETTLED,
        why="The request follows the usage, so the pods always use about 80% of their request, with any "
        "number of replicas. The utilization never falls to 50%. More replicas cause smaller "
        "requests, and smaller requests cause more replicas.",
        picture=show.amounts(
            "Replicas, round by round",
            lambda seen: {f"round {place}": row["replicas"] for place, row in enumerate(seen["of"], 1)},
            unit="replicas",
            picked=lambda seen: [f"round {len(seen['of'])}"],
            notes=lambda seen: {
                f"round {place}": f"each requests {row['request']}m" for place, row in enumerate(seen["of"], 1)
            },
        ),
    ),
]

EXERCISES = [
    Exercise(
        "constraint",
        "During a drain the node has a taint. A constraint can specify whether the scheduler counts tainted nodes.",
        _constraint,
        'answer = spread(ZONE, labelSelector=APP, nodeTaintsPolicy="Honor")',
        "With nodeTaintsPolicy: Honor the scheduler does not count the zone of a tainted node. A "
        "larger maxSkew allows an empty zone.",
    ),
    Exercise(
        "request",
        "Utilization is usage divided by request.",
        _request,
        'answer = "250m"',
        "200m is 80% of 250m.",
    ),
]
