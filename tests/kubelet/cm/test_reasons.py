"""Every shown reason is right: the formula of every file, evaluated, gives the value that is written."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.examples import qos_reserved_node, qos_reserved_pods, worked_node, worked_pods
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.cgroup_tree import CgroupTree
from kitlib.kubelet.cm.desired import desired_tree
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo
from tests.sizes import NIGHTLY, sampled

VECTORS = Path(__file__).parents[2] / "vectors"
ARITHMETIC = (
    "cpu.shares",
    "cpu.weight",
    "cpu.max",
    "cpu.cfs_quota_us",
    "memory.max",
    "memory.limit_in_bytes",
    "pids.max",
)


@cache
def pods() -> list[Pod]:
    made = []
    with gzip.open(VECTORS / "pod_enforcement.jsonl.gz", "rt") as file:
        for number, line in enumerate(file):
            pod: Pod = set_defaults(from_dict(json.loads(line)["pod"], Pod))
            pod.metadata.uid = f"uid-{number}"
            pod.metadata.namespace = pod.metadata.namespace or "default"
            made.append(pod)
    return made if NIGHTLY else made[::8]


def check(tree: CgroupTree) -> int:
    """Evaluate all formulas of a tree; how many there were."""
    evaluated = 0
    for cgroup in tree.values():
        for file in cgroup.values():
            if not file.written:
                continue
            if file.formula is not None:
                assert file.formula.result() == file.value, f"{cgroup.path}/{file.name}={file.value}: {file.reason}"
                assert file.reason.startswith(file.why.summary)
                evaluated += 1
            elif file.name in ARITHMETIC:
                none = file.value.startswith("max") or (cgroup.kind == "pod" and file.value.startswith("-1"))
                assert none or "systemd makes" in file.reason, f"{cgroup.path}/{file.name}: no formula"
    return evaluated


@pytest.mark.parametrize(
    ("version", "driver"),
    sampled(
        [pytest.param(*one) for one in ((2, "systemd"), (2, "cgroupfs"), (1, "systemd"), (1, "cgroupfs"))],
        3,
        pytest.mark.thorough,
    ),
)
def test_every_formula_gives_the_value_that_is_written(version, driver):
    settings = {
        "cgroupDriver": driver,
        "systemReserved": {"cpu": "250m", "memory": "1Gi", "pid": "1000"},
        "kubeReserved": {"cpu": "100m", "memory": "300M"},
        "systemReservedCgroup": "/sys",
        "enforceNodeAllocatable": ["pods", "system-reserved"],
        "podPidsLimit": 512,
        "featureGates": {"MemoryQoS": True},
        "memoryReservationPolicy": "TieredReservation",
        "memoryThrottlingFactor": 0.9,
        "memorySwap": {"swapBehavior": "LimitedSwap"} if version == 2 else {},
        "failSwapOn": False,
    }
    machine = MachineInfo.declare(16, "64Gi", swap="8Gi", huge_pages={"2Mi": 64})
    node = NodeConfig(machine=machine, settings=read_settings(settings))
    assert check(desired_tree(node, pods(), version=version)) > 150


@pytest.mark.parametrize("version", [1, 2])
def test_the_examples_formulas_give_their_values(version):
    assert check(desired_tree(worked_node(), worked_pods(), version=version)) > 10
    assert check(desired_tree(qos_reserved_node(), qos_reserved_pods(), version=version)) > 5


def test_on_v2_the_step_from_shares_to_weight_is_shown():
    pod = {
        "metadata": {"name": "a", "namespace": "default", "uid": "u"},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    tree = desired_tree(
        NodeConfig(machine=MachineInfo.declare(4, "8Gi")), [set_defaults(from_dict(pod, Pod))], version=2
    )
    (own,) = tree.of_kind("pod")
    assert own["cpu.weight"].why.summary == "the pod requests 2000m"
    assert str(own["cpu.weight"].formula) == (
        "shares = floor(2000 × 1024 / 1000) = 2048; weight = 1 + floor((2048 − 2) × 9999 / 262142) = 79"
    )
