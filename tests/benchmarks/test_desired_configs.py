"""10,000 pods turned into desired cgroup configurations: the aim is under 1 s."""

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.cgroup_levels import Desired
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.config.machine import MachineInfo

PODS = 10_000


def pod(i: int) -> Pod:
    container = {
        "name": "c",
        "image": "c",
        "resources": {
            "requests": {"cpu": f"{100 + i % 400}m", "memory": f"{64 + i % 200}Mi"},
            "limits": {"cpu": "1", "memory": "512Mi"} if i % 3 else {},
        },
    }
    return set_defaults(
        from_dict({"metadata": {"name": f"p{i}", "uid": f"{i}"}, "spec": {"containers": [container]}}, Pod)
    )


@pytest.mark.parametrize("version", [1, 2])
def test_ten_thousand_pods_to_cgroup_configs(benchmark, version):
    pods = [pod(i) for i in range(PODS)]
    rules = Desired(NodeConfig(machine=MachineInfo.declare(64, "256Gi")), version)
    made = benchmark.pedantic(lambda: [rules.pod_level(p) for p in pods], rounds=3, warmup_rounds=1)
    assert len(made) == PODS
