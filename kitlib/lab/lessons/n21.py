"""Questions and exercises of notebook 21, day 2: drains and roll-outs."""

from __future__ import annotations

from typing import Any

from kitlib.api.core import Pod
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import deepcopy, from_dict
from kitlib.cluster import Cluster
from kitlib.lab import pictures as show
from kitlib.lab.exercise import Exercise, Findings, Question, first_problem, number
from kitlib.lab.manifests import deployment, pod
from kitlib.study.descheduler import spread_evictions
from kitlib.study.scenario import ZONE, node_of, pod_of

AGAIN = "it asks again and again, and never ends"
GONE = "the pod is evicted after its grace period"
REFUSED = "it ends with an error after the first refusal"
STAYS, MAY = "the drain is refused as well", "it is evicted: it is not healthy anyway"


def _drained(answer: str) -> str:
    return AGAIN if answer.startswith("429") else GONE


def _answers(seen: Findings) -> dict[str, list[show.TimeSpan | show.TimePoint]]:
    """Return the answers to each pod's evictions; `of` has the rows of the drain."""
    found: dict[str, list[show.TimeSpan | show.TimePoint]] = {}
    signs = {"evicted": "new", "gone": "try"}
    for row in seen["of"]:
        word = row["answer"] if row["answer"] in signs else "refused"
        found.setdefault(row["pod"], []).append(show.TimePoint(row["second"], signs.get(word, "end"), word))
    return found


_DRAIN = show.moments("The evictions of the drain, pod by pod", _answers)
_ZONES = show.amounts(
    "New pods in each zone", lambda seen: {f"zone {zone}": seen["of"].count(zone) for zone in "ab"}, unit="pods"
)


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


def _replica(node: str, rule: dict[str, Any]) -> Pod:
    manifest = pod(f"web-{node}", cpu="100m", labels={"app": "web"}, nodeName=node, topologySpreadConstraints=[rule])
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    manifest["metadata"]["ownerReferences"] = [owner]
    return deepcopy(pod_of(manifest))


def _evictions() -> int:
    nodes = [node_of({"name": name, "zone": name}) for name in "abc"]
    rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    rule["labelSelector"] = {"matchLabels": {"app": "web"}}
    pods = [_replica(name, rule) for name in "aaaaab"]
    for place, replica in enumerate(pods):
        replica.metadata.name = replica.metadata.uid = f"web-{place}"
    return len(spread_evictions(nodes, pods))


QUESTIONS = [
    Question(
        "drain",
        "What does the drain of the node n1 do?",
        choices=[GONE, REFUSED, AGAIN],
        answer_of=_drained,
        why="The budget requires three healthy pods, and three exist. So the API server refuses every "
        "eviction (status 429), and kubectl tries again after 5 seconds. No controller creates a fourth "
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
        answer_of=lambda answers: STAYS if any(answer.startswith("429") for answer in answers) else MAY,
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
        "With the field matchLabelKeys, how many of the new pods are in the zone with more pods?",
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
        picture=show.placed(
            "The pods after the descheduler's run",
            lambda seen: seen["after"],
            words=lambda seen: {zone: f"before: {seen['before'].count(zone)} pods" for zone in "ab"},
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
]

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
