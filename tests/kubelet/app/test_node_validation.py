"""What keeps the kubelet from starting on a machine, in its own words."""

import pytest

from kitlib.kubelet.app.node_validation import node_problems
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import CPU, MachineInfo

TWO_SOCKETS = tuple(CPU(i, i, i // 2, 0, 0) for i in range(4))
STATIC = "--cpu-manager-policy=static --reserved-cpus=0"
MEMORY = "--memory-manager-policy=Static --kube-reserved=memory=1Gi --eviction-hard=memory.available<100Mi"

CASES = [
    # settings, cgroup version, more about the machine, message ("" = it starts)
    ("", 2, {}, ""),
    ("--reserved-cpus=2-5", 2, {}, "reserved-cpus: 2-5 is not a subset of online-cpus: 0-3"),
    ("--kube-reserved=cpu=5", 2, {}, 'Resource "cpu" has a reservation of'),
    ("--cpu-manager-policy=static", 2, {}, "[cpumanager] unable to determine reserved CPU resources for static policy"),
    (STATIC, 2, {}, ""),
    ("--cpu-manager-policy=static --kube-reserved=cpu=500m", 2, {}, ""),
    (
        f"{STATIC} --feature-gates=CPUManagerPolicyAlphaOptions=true --cpu-manager-policy-options=align-by-socket=true",
        2,
        {"topology": TWO_SOCKETS},
        "Align by socket is not compatible with hardware where number of sockets are more than number of NUMA",
    ),
    (f"{MEMORY} --reserved-memory=0:memory=1124Mi", 2, {}, ""),
    (
        f"{MEMORY} --reserved-memory=0:memory=1Gi",
        2,
        {},
        'the total amount "1Gi" of type "memory" is not equal to the value "1124Mi" determined by Node Allocatable',
    ),
    (
        f"{MEMORY} --reserved-memory=1:memory=1124Mi",
        2,
        {},
        "the reserved memory configuration references a NUMA node 1 that does not exist on this machine",
    ),
    ("", 2, {"swap": "1Gi"}, "running with swap on is not supported, please disable swap or set --fail-swap-on flag"),
    ("--fail-swap-on=false", 2, {"swap": "1Gi"}, ""),
    ("", 1, {}, ""),
    ("failCgroupV1: true", 1, {}, "kubelet is configured to not run on a host using cgroup v1"),
    ("failCgroupV1: true", 2, {}, ""),
    (
        "singleProcessOOMKill: false",
        1,
        {},
        "singleProcessOOMKill must not be explicitly set to false when using",
    ),
]


@pytest.mark.parametrize(("settings", "version", "more", "message"), CASES)
def test_settings_that_do_not_fit_the_machine_are_refused(settings, version, more, message):
    node = NodeConfig(machine=MachineInfo.declare(4, "8Gi", **more), settings=read_settings(settings))
    problems = node_problems(node, version)
    assert [message in problem for problem in problems] == ([True] if message else [])
