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


@pytest.mark.parametrize(
    ("held", "wanted", "expected"),
    [
        ("", 1, {"0": True, "1": True, "01": False}),
        ("", 2, {"0": True, "1": True, "01": False}),
        ("", 3, {"01": True}),
        ("b", 2, {"1": True, "01": False}),
        ("bc", 2, {"01": False}),
        ("bcd", 2, {}),
        ("bcdea", 1, {}),
    ],
    ids=[
        "every set with devices, the smallest preferred", "exactly enough", "both nodes", "the other node",
        "the smallest set that could have served is not left", "the device without a node is in no set", "none left",
    ],
)  # fmt: skip
def test_the_nodes_that_can_serve_a_container(held: str, wanted: int, expected: dict[str, bool]) -> None:
    """Source: generateDeviceTopologyHints."""
    made, asked = manager(), pod(wanted)
    made.held["other", "c", GPU] = frozenset(held)
    for found in (made.hints(asked, asked.spec.containers[0]), made.pod_hints(asked)):
        shown = {"".join(map(str, sorted(one.nodes or ()))): one.preferred for one in found[GPU] or ()}
        assert shown == expected


def test_a_container_with_devices_is_hinted_to_their_nodes_while_it_wants_as_many() -> None:
    made, asked = manager(), pod(2)
    made.held["p", "c0", GPU] = frozenset("bd")
    for found in (made.hints(asked, asked.spec.containers[0]), made.pod_hints(asked)):
        assert [sorted(one.nodes or ()) for one in found[GPU] or ()] == [[0], [0, 1]]
    assert made.hints(pod(3), pod(3).spec.containers[0]) == {GPU: []}


def test_devices_without_nodes_give_no_hint() -> None:
    plain = DeviceManager.of([DevicePlugin(GPU, {"a": None})], (0, 1), Release("1.36"))
    assert plain.hints(pod(1), pod(1).spec.containers[0]) == {GPU: None}


def test_each_container_sees_its_own_devices_and_gives_back_its_own() -> None:
    made, asked = manager(), pod(1, 2)
    made.allocate_pod(asked, TopologyHint(None, True))
    first, second = (",".join(sorted(made.held["p", name, GPU])) for name in ("c0", "c1"))
    assert made.environment("p", "c0") == {"EXAMPLE_COM_GPU": first}
    assert made.environment("p", "c1") == {"EXAMPLE_COM_GPU": second}
    assert made.environment("p", "other") == made.environment("q", "c0") == {}
    made.release_container("p", "c0")
    assert (made.environment("p", "c0"), made.environment("p", "c1")) == ({}, {"EXAMPLE_COM_GPU": second})
    assert made.available(GPU) == frozenset(DEVICES) - set(second.split(","))


@pytest.mark.parametrize(("taken", "possible"), [(1, True), (2, False)])
def test_exactly_enough_devices_are_enough_for_hints(taken: int, possible: bool) -> None:
    """Source: devicemanager GetTopologyHints: available.Union(reusable).Len() < requested."""
    devices = {name: numa for name, numa in DEVICES.items() if numa is not None}
    made, first = DeviceManager.of([DevicePlugin(GPU, devices)], (0, 1), Release("1.36")), pod(taken)
    made.allocate(first, first.spec.containers[0], TopologyHint(None, True))
    second = pod(3)
    second.metadata.uid = "q"
    hints = made.hints(second, second.spec.containers[0])[GPU]
    assert bool(hints) is possible
