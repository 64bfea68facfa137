"""Two clusters in two threads never influence each other: each gives the result that it gives alone.

Clusters are deterministic, names, UIDs and times included. So everything that a cluster has done can be compared with
the same workload in a process in which nothing else runs at the time: all objects, every event, the messages of
rejections, the files of the cgroups and the timelines of the kubelets. Python switches between the threads every few
microseconds instead of every 5 ms.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from tests.sizes import NIGHTLY

STEPS = 60 if NIGHTLY else 12
SETTINGS: list[dict[str, Any]] = [
    {"release": Release("1.36", {"TaintTolerationComparisonOperators": True}), "cgroup_version": 2},
    {"release": "1.28", "cgroup_version": 1},
    {"release": "1.32", "cgroup_version": 2, "seed": 5},
    {"release": "1.36", "cgroup_version": 1, "seed": 9},
]
"""The clusters differ in their rules, so that a rule that leaks into another cluster changes what that one does."""
POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: tiers}}
spec:
  matchConstraints: {{resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}
  validations:
  - expression: "object.metadata.labels.?tier.orValue('') != '{tier}' && object.spec.containers.all(c, c.name != '')"
    messageExpression: "'{tier} is not for ' + request.userInfo.username"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: tiers}}
spec: {{policyName: tiers, validationActions: [Deny]}}
"""


@pytest.fixture
def switching_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def pod(name: str, dice: random.Random) -> dict[str, Any]:
    """Return a pod of any QoS class, some with spread, affinity, a workload that is killed, or an error."""
    amounts = {"cpu": f"{dice.choice([50, 200, 900, 3000])}m", "memory": f"{dice.choice([16, 64, 300])}Mi"}
    resources = dice.choice([{}, {"requests": amounts}, {"requests": amounts, "limits": amounts}])
    notes = dice.choice([{}, {}, {"kitlib.dev/workload.c": "30s memory=10Mi; memory=400Mi"}])
    labels = {"app": dice.choice("ab"), "tier": dice.choice(["front", "back", "none"])}
    container = {"name": "c", "image": "x", "resources": resources}
    selector = {"matchLabels": {"app": labels["app"]}}
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    anti = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    spec: dict[str, Any] = {"containers": [container]} | dice.choice(
        [
            {},
            {
                "topologySpreadConstraints": [
                    spread | {"whenUnsatisfiable": dice.choice(["DoNotSchedule", "ScheduleAnyway"])}
                ]
            },
            {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [anti]}}},
            {"restartPolicy": "Sometimes"},
            {"tolerations": [{"key": "k", "operator": "Gt", "value": "5", "effect": "NoSchedule"}]},
            {"terminationGracePeriodSeconds": 1},
        ]
    )
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "annotations": notes},
        "spec": spec,
    }


def deployment(name: str, dice: random.Random) -> dict[str, Any]:
    labels = {"app": name, "tier": dice.choice(["front", "back", "none"])}
    template = pod("x", random.Random(dice.randrange(100)))["spec"] | {"restartPolicy": "Always"}
    spec = {"replicas": dice.randrange(4), "selector": {"matchLabels": {"app": name}}}
    spec["template"] = {"metadata": {"labels": labels}, "spec": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def act(cluster: SimulatedCluster, number: int, dice: random.Random) -> object:
    """Do one thing with a cluster, and return what is seen of it."""
    choice, names = dice.randrange(8), [one.name for one in cluster.pods()]
    if choice == 0:
        return cluster.advance(dice.choice([1, 15, 45]))
    if choice == 1:
        return len(cluster.apply(deployment(f"d{dice.randrange(2)}", dice)))
    if choice == 2 and names:
        return cluster.delete("Pod", dice.choice(names))
    if choice == 3 and names:
        amounts = {"requests": {"cpu": f"{dice.randrange(10, 400)}m", "memory": "32Mi"}}
        return cluster.resize(dice.choice(names), {"c": amounts}) and None
    if choice == 4:
        return cluster.cordon(dice.choice([node.name for node in cluster.nodes])) and None
    return len(cluster.apply(pod(f"p{number}", dice)))


def run(seed: int) -> list[Any]:
    """Run a workload on a cluster of its own, and return everything that it has done."""
    dice = random.Random(seed)
    nodes = [{"cpus": 2 + seed % 3, "memory": "2Gi"}, {"cpus": 4, "memory": "1Gi"}]
    seen: list[Any] = []
    with Cluster.simulated(nodes, **SETTINGS[seed % len(SETTINGS)]) as cluster:
        cluster.apply(POLICY.format(tier=dice.choice(["front", "back"])))
        for number in range(STEPS):
            try:
                seen.append(str(act(cluster, number, dice)))
            except KitError as error:
                seen.append(str(error))
        cluster.advance(20)
        seen.append(cluster.snapshot())
        seen += [(e.reason, e.message, e.count, e.involved_object.name) for e in cluster.list("Event")]
        for node in cluster.nodes:
            there = cluster.node(node.name)
            seen += [repr(entry) for entry in there.kubelet.timeline]
            seen += [(cgroup.path, [(f.name, f.value) for f in cgroup.values()]) for cgroup in there.desired().values()]
        seen.append(str(Release.followed()))
    return seen


PAIRS = [(seed, seed + 1) for seed in range(0, 12 if NIGHTLY else 4, 2)]


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.usefixtures("switching_often")
def test_each_of_two_clusters_does_what_it_does_alone(first: int, second: int) -> None:
    start = Barrier(2)

    def together(seed: int) -> list[Any]:
        start.wait()
        return run(seed)

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(together, (first, second)))
    assert found == [run(first), run(second)]
    assert found[0] != found[1]
