"""Which devices a container gets: those of the hinted NUMA nodes, then of others, then those without a node."""

from __future__ import annotations

import pytest

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.devicemanager.manager import DeviceManager, DevicePlugin
from kitlib.kubelet.cm.topologymanager.hints import TopologyHint

GPU = "example.com/gpu"
DEVICES = {"a": None, "b": 0, "c": 1, "d": 0, "e": 1}


def pod(*amounts: int, init: int = 0) -> Pod:
    """Return a pod with a container for each amount of devices, and perhaps an init container."""
    made = [{"name": f"c{i}", "resources": {"limits": {GPU: str(n)}}} for i, n in enumerate(amounts)]
    first = [{"name": "init", "resources": {"limits": {GPU: str(init)}}}] if init else []
    data = {"metadata": {"name": "p", "uid": "p"}, "spec": {"containers": made, "initContainers": first}}
    found: Pod = from_dict(data, Pod)
    return found


def manager() -> DeviceManager:
    return DeviceManager.of([DevicePlugin(GPU, DEVICES)], (0, 1), Release("1.36"))


@pytest.mark.parametrize(
    ("nodes", "wanted", "expected"),
    [
        (frozenset({1}), 2, "ce"),
        (frozenset({1}), 3, "bce"),  # the first of another node
        (frozenset({1}), 5, "abcde"),  # the device without a node is the last choice
        (None, 4, "bcde"),
    ],
)
def test_devices_of_the_hinted_nodes_come_first(nodes: frozenset[int] | None, wanted: int, expected: str) -> None:
    """Source: devicemanager filterByAffinity."""
    made, asked = manager(), pod(wanted)
    made.allocate(asked, asked.spec.containers[0], TopologyHint(nodes, True))
    assert "".join(sorted(made.held["p", "c0", GPU])) == expected


def test_what_an_init_container_had_is_used_again() -> None:
    """Source: devicemanager devicesToAllocate, reusableDevices."""
    made, asked = manager(), pod(1, 1, init=2)
    made.allocate_pod(asked, TopologyHint(None, True))
    first, second = made.held["p", "c0", GPU], made.held["p", "c1", GPU]
    assert first | second == made.held["p", "init", GPU] and not first & second


def test_too_few_devices_change_nothing() -> None:
    made, asked = manager(), pod(6)
    with pytest.raises(KitError, match="Requested: 6, Available: 5"):
        made.allocate_pod(asked, TopologyHint(None, True))
    assert made.held == {}
