"""NodePorts: which host ports exclude each other, and whose going brings a pod back."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import Release
from kitlib.scheduler.framework.events import POD
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.plugins.node_ports import NodePorts
from kitlib.scheduler.scheduler import Scheduler
from kitlib.study.scenario import node_of, pod_of


def pod(name: str, number: int, protocol: str = "TCP", address: str = "", **more: Any) -> Pod:
    port = {"containerPort": 1, "hostPort": number, "protocol": protocol, **({"hostIP": address} if address else {})}
    made: Pod = pod_of({"name": name, "spec": {"containers": [{"name": "c", "image": "x", "ports": [port]}]}, **more})
    return made


@pytest.mark.parametrize(
    ("taken", "asked", "free"),
    [
        ((80,), (80,), False),
        ((80,), (81,), True),
        ((80,), (80, "UDP"), True),
        ((80, "TCP", "10.0.0.1"), (80,), False),
        ((80,), (80, "TCP", "10.0.0.1"), False),
        ((80, "TCP", "10.0.0.1"), (80, "TCP", "10.0.0.1"), False),
        ((80, "TCP", "10.0.0.1"), (80, "TCP", "10.0.0.2"), True),
        ((80, "TCP", "10.0.0.1"), (81,), True),
        ((80, "TCP", "10.0.0.1"), (80, "UDP"), True),
    ],
)
def test_a_port_without_an_address_is_of_all_addresses(taken: Any, asked: Any, free: bool) -> None:
    """Source: framework HostPortInfo.CheckConflict."""
    scheduler = Scheduler([node_of({"name": "n"})], [pod("s", *taken, node="n")])
    reasons = scheduler.explain(pod("p", *asked)).reasons_of("n")
    assert list(reasons) == ([] if free else ["node(s) didn't have free ports for the requested pod ports"])


@pytest.mark.parametrize(
    ("left", "woken"),
    [
        (pod("s", 80, node="n"), True),
        (pod("s", 80, "TCP", "10.0.0.1", node="n"), True),
        (pod("s", 81, node="n"), False),
        (pod("s", 80, "UDP", node="n"), False),
        (pod("s", 80), False),
    ],
    ids=["its port", "on an address", "another port", "another protocol", "never placed"],
)
def test_a_pod_that_leaves_its_port_brings_another_back(left: Pod, woken: bool) -> None:
    """Source: nodeports isSchedulableAfterPodDeleted."""
    hints = NodePorts().events_to_register(Context(Snapshot(), Release("1.36")))
    hint: Any = next(hint for event, hint in hints if event.resource == POD)
    assert hint(pod("p", 80), left, None) is woken
