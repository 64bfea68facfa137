"""Questions and exercises of notebook 21, day 2: drains, roll-outs, autoscalers."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Node, Pod
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.resource import Quantity
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy, from_dict
from kitlib.cluster import Cluster
from kitlib.controllers.podautoscaler.replica_calculator import DEFAULT_TOLERANCE
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Findings, Question, first_problem, number
from kitlib.lab.manifests import deployment, pod
from kitlib.study.descheduler import spread_evictions
from kitlib.study.scale_down import removals
from kitlib.study.scenario import ZONE, node_of, pod_of

AGAIN = "it asks again and again, and never ends"
GONE = "the pod is evicted after its grace period"
REFUSED = "it ends with an error after the first refusal"
STAYS, MAY = "the drain is refused as well", "it is evicted: it is not healthy anyway"
NOTHING = "it does nothing: there is nothing to divide by"
MOST, SETTLED = "at the most: 10 replicas", "at the replicas and the request that fit the load"


def _drained(answer: str) -> str:
    return AGAIN if answer.startswith("429") else GONE


def _answers(seen: Findings) -> dict[str, list[show.TimeSpan | show.TimePoint]]:
    """Return the answers to each pod's evictions; `of` has the rows of the drain."""
    found: dict[str, list[show.TimeSpan | show.TimePoint]] = {}
    signs = {"evicted": "new", "gone": "try"}
    for row in seen["of"]:
        word = row["answer"] if row["answer"] in signs else row["answer"][:3]
        found.setdefault(row["pod"], []).append(show.TimePoint(row["second"], signs.get(word, "end"), word))
    return found


_DRAIN = show.moments("The evictions of the drain, pod by pod", _answers)
_ZONES = show.amounts(
    "New pods in each zone", lambda seen: {f"zone {zone}": seen["of"].count(zone) for zone in "ab"}, unit="pods"
)

QUESTIONS = [
    Question(
        "drain",
        "What does the drain of the node n1 do?",
        choices=[GONE, REFUSED, AGAIN],
        answer_of=_drained,
        why="The budget requires three healthy pods, and three exist. So the API server answers every "
        "eviction with 429, and kubectl tries again after 5 seconds. No controller creates a fourth "
        "pod: you have to change the budget.",
        picture=_DRAIN,
    ),
    Question(
        "at-once",
        "How many pods of the node n1 does the drain evict before the API server refuses an eviction?",
        unit="pods",
        why="The budget allows one disruption. It allows the next disruption when the first pod's "
        "replacement is ready on another node.",
        formula="disruptionsAllowed = currentHealthy - desiredHealthy; desiredHealthy = expectedPods - maxUnavailable",
        picture=_DRAIN,
    ),
    Question(
        "sick",
        "What happens to the broken pod of worker during the drain?",
        choices=[MAY, STAYS],
        answer_of=lambda answers: STAYS if any(one.startswith("429") for one in answers) else MAY,
        why="The budget requires 1 healthy pod, and 0 exist. The default unhealthyPodEvictionPolicy, "
        "IfHealthyBudget, allows the eviction of a broken pod only while enough other pods are healthy; "
        "AlwaysAllow always allows it.",
        picture=_DRAIN,
    ),
    Question(
        "rolled",
        "How many of the six new pods are in the zone with more pods after the roll-out?",
        unit="pods",
        why="Each step of the roll-out satisfies maxSkew, because the constraint also counts old pods. "
        "Then the controller removes the old pods.",
        picture=_ZONES,
    ),
    Question(
        "keys",
        "With matchLabelKeys: [pod-template-hash], how many of the new pods are in the zone with more pods?",
        unit="pods",
        why="With matchLabelKeys the constraint counts only pods of the same ReplicaSet, so it spreads the new pods.",
        picture=_ZONES,
    ),
    Question(
        "descheduler",
        "How many of the six pods does the descheduler evict?",
        unit="pods",
        why="The descheduler evicts as few pods as possible to satisfy maxSkew. The scheduler places the new pod "
        "in the zone with fewer pods.",
        formula="min(ceil(high - average), ceil(average - low), ceil((skew - maxSkew) / 2))",
        picture=show.amounts(
            "Pods of the descheduler's run",
            lambda seen: {"evicted": seen.observed, "left alone": len(seen.cluster.pods()) - seen.observed},
            unit="pods",
            picked=["evicted"],
        ),
    ),
    Question(
        "after",
        "A minute after the node c is uncordoned, how many of the six pods run on it?",
        unit="pods",
        why="The scheduler placed the pods while c was cordoned, and it does not move running pods. The next new pod "
        "would run on c.",
        picture=show.placed("The pods a minute after the drain", words={"a": "", "b": "", "c": ""}),
    ),
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
                node: show.PlaceCard([pod] if pod else [], verdict, "chosen" if node in seen.observed else "refused")
                for node, (_, verdict, pod) in seen["of"].items()
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
        ),
    ),
]


def _budget(answer: Any, _: Any) -> str:
    """Judge a budget by trying it on a cluster: exactly one eviction may be allowed."""
    made = from_dict(dict(answer), PodDisruptionBudget)
    if not LabelSelectorMatcher(made.spec.selector).matches({"app": "web"}):
        return "The budget's selector selects none of web's pods (app: web): such a budget protects nobody."
    with Cluster.simulated(1, kubelets=False) as cluster:
        cluster.apply([deployment("web", 3, pod("web")), made])
        cluster.advance(5)
        status = cluster.get("PodDisruptionBudget", made.name).status
    return first_problem(
        (
            status.disruptions_allowed < 1,
            f"The budget requires {status.desired_healthy} of 3 pods: no eviction is allowed.",
        ),
        (
            status.disruptions_allowed > 1,
            f"The budget allows {status.disruptions_allowed} evictions at once, but 2 must stay.",
        ),
    )


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
    if not any(one.possible for one in removals(nodes, pods)):
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


def _evictions() -> int:
    nodes = [node_of({"name": name, "zone": name}) for name in "abc"]
    rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    rule["labelSelector"] = {"matchLabels": {"app": "web"}}
    pods = [_replica(name, rule) for name in "aaaaab"]
    for place, one in enumerate(pods):
        one.metadata.name = one.metadata.uid = f"web-{place}"
    return len(spread_evictions(nodes, pods))


EXERCISES = [
    Exercise(
        "budget",
        "One of the 3 pods may be unavailable. Specify how many pods must stay available, or how many "
        "may be unavailable.",
        _budget,
        'answer = disruption_budget("web", maxUnavailable=1)',
        "maxUnavailable: 1 also works if the number of replicas changes; minAvailable: 2 does not.",
    ),
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
    Exercise(
        "evictions",
        "The average is 2 pods in each zone. How many pods must leave the fullest zone so that the skew is allowed?",
        number(
            _evictions,
            {
                5: "The fullest zone keeps the average number of pods.",
                4: "The fullest zone keeps the average number of pods.",
                2: "After 2 evictions the zones have 3, 2, 1 or 3, 1, 2 pods, still a skew of 2.",
            },
            otherwise="Move pods one by one, from the fullest zone to the emptiest, until the skew is 1.",
        ),
        "answer = 3",
        "The numbers of pods in the zones change from 5, 1, 0 to 2, 2, 2.",
    ),
]
