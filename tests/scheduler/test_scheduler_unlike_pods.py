"""A scheduler that has seen nodes and pods come, change and go decides as one that sees the cluster first."""

from __future__ import annotations

import random
from typing import Any

from kitlib.api.core import Node, Pod
from kitlib.api.serialize import deepcopy, from_dict
from kitlib.scheduler.decision import Decision
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.unlike_pods import DISK, GENERATION, HOSTNAME, TYPE, ZONE, node_manifest, pod_manifest


def any_node(draw: random.Random, name: str) -> Node:
    """Return a node of the unlike cluster under another name, and perhaps without a label, smaller or cordoned."""
    made = node_manifest(draw.randrange(60), zones=3)
    made["metadata"]["name"] = made["metadata"]["labels"][HOSTNAME] = name
    if draw.random() < 0.15:
        del made["metadata"]["labels"][draw.choice([ZONE, TYPE, GENERATION])]
    made["metadata"]["labels"].pop(DISK, None) if draw.random() < 0.2 else None
    made["status"]["allocatable"] = {
        "cpu": draw.choice(["1", "3"]),
        "memory": "4Gi",
        "pods": str(draw.randrange(4, 12)),
    }
    made["spec"]["unschedulable"] = draw.random() < 0.1
    node: Node = from_dict(made, Node)
    return node


def any_pod(draw: random.Random, number: int) -> Pod:
    """Return a pod unlike all others, of few apps, so that spread and anti-affinity matter; some are important."""
    made = pod_manifest(number)
    text = f"app-{number % 4}"
    made["metadata"]["labels"]["app"] = text
    spec: dict[str, Any] = made["spec"]
    for one in spec.get("topologySpreadConstraints", ()):
        one["labelSelector"]["matchLabels"]["app"], one["maxSkew"] = text, draw.randrange(1, 4)
    for one in spec["affinity"].get("podAntiAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", ()):
        one["labelSelector"]["matchLabels"]["app"] = text
        one["topologyKey"] = draw.choice([HOSTNAME, ZONE])
    if number % 5 == 0:
        near = {"labelSelector": {"matchLabels": {"app": f"app-{draw.randrange(4)}"}}, "topologyKey": ZONE}
        listed = [{"weight": 1 + number % 50, "podAffinityTerm": near}]
        spec["affinity"]["podAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": listed}
    spec["containers"][0]["resources"]["requests"] = {"cpu": f"{100 + number % 313}m", "memory": f"{50 + number}Mi"}
    spec["priority"] = draw.choice([0, 0, 0, 10, 100])
    pod: Pod = from_dict(made, Pod)
    return pod


def seen(decision: Decision) -> dict[str, Any]:
    filters, scores = decision.filters, decision.scores
    return {
        "host": decision.suggested_host,
        "message": decision.message,
        "nominated": decision.nominated,
        "victims": [pod.name for pod in decision.victims],
        "codes": filters.codes.tolist() if filters is not None else None,
        "scores": {name: column.tolist() for name, column in scores.normalized.items()} if scores is not None else None,
    }


def plain(scheduler: Scheduler) -> Scheduler:
    """Return a scheduler that knows the same cluster and nothing of its past; it places pods one by one."""
    return Scheduler(
        [deepcopy(node) for node in scheduler.snapshot.nodes],
        [deepcopy(info.pod) for row in scheduler.snapshot.pods for info in row.values()],
        batching=False,
    )


def one_step(draw: random.Random, scheduler: Scheduler, number: int) -> None:
    name, step = f"n{draw.randrange(9)}", draw.randrange(12)
    standing = [info.pod for info in scheduler.pods.values()]
    if step == 0:
        scheduler.remove_node(name)
    elif step in (1, 2):
        scheduler.update_node(any_node(draw, name))
    elif step == 3:
        listed = list(scheduler.snapshot.nodes)
        if draw.random() < 0.5:  # another node in a row's place, or all in another order with one more
            listed[draw.randrange(len(listed))] = any_node(draw, f"m{number}")
            scheduler.set_nodes(listed)
        else:
            scheduler.set_nodes([*draw.sample(listed, len(listed)), any_node(draw, f"m{number}")])
    elif step in (4, 5) and standing:
        scheduler.remove_pod(draw.choice(standing))
    elif step == 6 and standing:
        changed = deepcopy(draw.choice(standing))
        changed.metadata.labels["app"] = f"app-{draw.randrange(4)}"
        scheduler.add_pod(changed)


def test_decisions_are_those_of_a_scheduler_that_sees_the_cluster_for_the_first_time() -> None:
    draw = random.Random(43)
    placed = preempted = refused = 0
    for cluster in range(6):
        scheduler = Scheduler([any_node(draw, f"n{i}") for i in range(6)], batching=bool(cluster % 2))
        for number in range(70):
            one_step(draw, scheduler, number)
            pod = any_pod(draw, 1000 * cluster + number)
            expected = seen(plain(scheduler).explain(pod))
            decision = scheduler.schedule(pod)
            assert seen(decision) == expected, (cluster, number)
            placed += bool(decision.suggested_host)
            refused += not decision.suggested_host
            for victim in decision.victims:
                scheduler.remove_pod(victim)
                preempted += 1
    assert placed > 150 and refused > 30 and preempted > 20, (placed, refused, preempted)
