"""What a pod's containers are told of its addresses."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.kubelet.loop.pod_worker import PodWorker

NOW = datetime(2026, 1, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("host", "address", "own_network", "told"),
    [
        ("10.0.0.1", "10.1.0.7", True, ("10.0.0.1", "10.1.0.7")),
        ("10.0.0.1", "10.1.0.7", False, ("10.0.0.1", "10.0.0.1")),
        ("10.0.0.1", "", True, ("10.0.0.1", "")),
        ("", "10.1.0.7", True, ("", "10.1.0.7")),
    ],
)
def test_the_addresses_of_node_and_pod(host: str, address: str, own_network: bool, told: tuple[str, str]) -> None:
    """Source: kubelet makeEnvironmentVariables, generateAPIPodStatus."""
    spec = {"containers": [{"name": "c", "image": "x"}], "hostNetwork": not own_network}
    made: Pod = from_dict({"metadata": {"name": "p", "uid": "p"}, "spec": spec}, Pod)
    worker = PodWorker(made, NOW, host)
    worker.address = address
    status = worker.addressed().status
    assert (status.host_ip, status.pod_ip) == told
    assert made.status.pod_ip == ""
