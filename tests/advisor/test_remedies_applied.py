"""Generated clusters: a remedy that is shown, carried out on a copy, lets the pod run; what holds a pod is what the
copy's own scheduling cycle says in the pod's condition."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from kitlib.advisor.dump import Dump, unbound
from kitlib.advisor.explanation import explain_pod
from kitlib.advisor.message import decode
from kitlib.advisor.remedies import Remedy
from kitlib.api.core import Pod
from kitlib.api.serialize import deepcopy
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.copied import CopiedCluster
from tests.advisor.dumps import dump, node, pod

SEEDS = range(200 if os.environ.get("KITLIB_NIGHTLY") else 16)
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
MINUTE = 60.0


def generated(seed: int) -> Dump:
    """Return a cluster of two to five nodes with pods on them and one that waits."""
    draw = random.Random(seed)
    nodes = []
    for i in range(draw.randint(2, 5)):
        labels = {ZONE: draw.choice("ab"), "disk": draw.choice(("ssd", "hdd"))}
        taints = [{"key": "team", "value": "ml", "effect": draw.choice(("NoSchedule", "NoExecute"))}]
        more = {"taints": taints} if draw.random() < 0.3 else {}
        nodes.append(node(f"n{i}", cpu=str(draw.randint(2, 6)), labels=labels, pods="5", **more))
    free = [one["metadata"]["name"] for one in nodes if "taints" not in one["spec"]]
    placed = [
        pod(f"p{i}", cpu=f"{draw.randint(1, 9)}00m", on=draw.choice(free), meta={"labels": {"app": draw.choice("xy")}})
        for i in range(draw.randint(0, 7) if free else 0)
    ]
    return dump(
        *nodes, *placed, pod("wanted", cpu=str(draw.randint(1, 8)), meta={"labels": {"app": "x"}}, spec=_spec(draw))
    )


def _spec(draw: random.Random) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    selector = {"labelSelector": {"matchLabels": {"app": "x"}}}
    if draw.random() < 0.4:
        spec["nodeSelector"] = {"disk": draw.choice(("ssd", "nvme"))}
    if draw.random() < 0.4:
        terms = [{**selector, "topologyKey": draw.choice((HOST, ZONE))}]
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    if draw.random() < 0.4:
        one = {"maxSkew": 1, "topologyKey": draw.choice((HOST, ZONE)), "whenUnsatisfiable": "DoNotSchedule", **selector}
        spec["topologySpreadConstraints"] = [one]
    return spec


def carried_out(found: Dump, waiting: Pod, remedy: Remedy) -> CopiedCluster:
    """Return a copy of the cluster in which the changes of a remedy are made."""
    changed = unbound(waiting)
    nodes = found.nodes
    gone: set[str] = set()
    others = list[Pod]()
    for change in remedy.changes:
        if change.pod is not None:
            change.pod(changed)
        if change.nodes is not None:
            nodes = change.nodes(nodes)
        for old, new in change.others:
            gone.add(old.metadata.uid)
            others += [new] if new is not None else []
    changed.status.conditions = []
    kept = [one for one in found.pods if one is not waiting and one.metadata.uid not in gone]
    return CopiedCluster([deepcopy(one) for one in (*nodes, *kept, *others, changed)], release=found.release)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_remedy_that_is_shown_lets_the_pod_run(seed: int) -> None:
    found = generated(seed)
    waiting = found.pod("wanted")
    for remedy in explain_pod(found, waiting).remedies:
        with carried_out(found, waiting, remedy) as cluster:
            cluster.advance(MINUTE)
            there = cluster.get("Pod", "wanted")
            assert there.spec.node_name, f"{remedy}: {[one.message for one in there.status.conditions]}"


@pytest.mark.parametrize("seed", SEEDS)
def test_an_explanation_names_what_the_cycle_of_the_copy_says(seed: int) -> None:
    found = generated(seed)
    answer = explain_pod(found, found.pod("wanted"), find_remedies=False)
    with Cluster.from_dump(found) as cluster:
        there = cluster.get("Pod", "wanted")
        said = "".join(one.message for one in there.status.conditions if one.type == "PodScheduled")
    assert bool(there.spec.node_name) == (answer.verdict == "fits")
    if not there.spec.node_name:
        assert answer.held is not None and answer.stage == "filters"
        assert decode(str(answer.held))["reasons"] == decode(said)["reasons"]
