"""Network namespaces of pods: devices and addresses, what the kernel lacks or refuses, and connections into them."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.node.real import agent, listening, mounts, netlink, pod_network
from kitlib.node.real.netlink import NetlinkError, NetlinkMessage
from kitlib.node.real.pod_network import PodNamespace, PodNetworks


class Kernel:
    """A kernel that writes down the requests and refuses those that begin with some words."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refuses: dict[str, int] = {}
        self.inside = 0

    def ask(self, message: NetlinkMessage) -> None:
        for words, number in self.refuses.items():
            if message.what.startswith(words):
                raise NetlinkError(message.what, number)
        self.asked.append(f"{self.inside}: {message.what}")

    def close(self) -> None: ...

    def bind(self, place: str) -> None:
        if "bind" in self.refuses:
            raise KitError(f"mount {place}: Operation not permitted")

    @contextmanager
    def entered(self, pid: int) -> Iterator[None]:
        self.inside = pid
        yield
        self.inside = 0


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Kernel:
    made = Kernel()

    class Connection:
        def __init__(self) -> None:
            self.inside = made.inside

        def ask(self, message: NetlinkMessage) -> None:
            before, made.inside = made.inside, self.inside
            try:
                made.ask(message)
            finally:
                made.inside = before

        def close(self) -> None: ...

    monkeypatch.setattr(netlink, "Netlink", Connection)
    monkeypatch.setattr(netlink, "index_of", {"cni0": 5, "eth0": 2}.__getitem__)
    monkeypatch.setattr(pod_network, "entered", made.entered)
    monkeypatch.setattr(mounts, "bind_net_sysctls", made.bind)
    monkeypatch.setattr(pod_network, "_FIRST_PORT", str(tmp_path / "first_port"))
    return made


def test_a_pod_gets_a_device_an_address_and_a_route(kernel: Kernel) -> None:
    networks = PodNetworks("172.18.0.2", "10.244.3.0/24")
    assert networks.add("a", 70) == PodNamespace("10.244.3.2", 70)
    assert kernel.asked == [
        "0: addr add 172.18.0.2/32",
        "0: link add cni0 type bridge",
        "0: addr add 10.244.3.1/24",
        "0: link add veth1 type veth",
        "70: link set 1 up",
        "70: link set 2 up",
        "70: addr add 10.244.3.2/24",
        "70: route add default via 10.244.3.1",
    ]
    assert networks.add("b", 71).address == "10.244.3.3"
    assert kernel.asked.count("0: link add cni0 type bridge") == 1


@pytest.mark.parametrize("lacking", ["link add cni0", "link add veth1"])
def test_without_such_devices_the_address_is_on_the_loopback_device(kernel: Kernel, lacking: str) -> None:
    kernel.refuses[lacking] = errno.EOPNOTSUPP
    place = PodNetworks("172.18.0.2", "10.244.3.0/24").add("a", 70)
    assert place == PodNamespace("10.244.3.2", 70, bridged=False)
    assert kernel.asked[-2:] == ["70: link set 1 up", "70: addr add 10.244.3.2/32"]
    for host, where in (("10.244.3.2", 70), ("192.0.2.1", 0)):
        with place.reaching(host):
            assert kernel.inside == where


def test_a_refused_pod_frees_its_address_and_says_why(kernel: Kernel) -> None:
    networks = PodNetworks("172.18.0.2", "10.244.3.0/29")
    kernel.refuses["route add"] = errno.EBUSY
    for _ in range(20):  # more than the range has
        with pytest.raises(KitError, match=r'plugin type="bridge" failed \(add\): route add default via 10.244.3.1: '):
            networks.add("a", 70)
    kernel.refuses.clear()
    given = {networks.add(f"p{number}", 70).address for number in range(5)}
    assert len(given) == 5
    with pytest.raises(KitError, match="no IP addresses available"):
        networks.add("one more", 70)
    networks.remove("p0")
    assert networks.add("one more", 70).address in given


def test_a_node_without_the_capability_says_that_its_pods_share_a_network(kernel: Kernel) -> None:
    kernel.refuses["addr add"] = errno.EPERM
    networks, said = agent._networks("172.18.0.2", "10.244.3.0/24")
    assert networks is None
    assert said == [
        "pods share the network of their node here and have no addresses (addr add 172.18.0.2/32: Operation not "
        "permitted; no CAP_NET_ADMIN)"
    ]
    assert agent._networks("", "") == (None, [])


def test_low_ports_are_open_to_pods_or_the_node_says_that_they_are_not(kernel: Kernel, tmp_path: Path) -> None:
    PodNetworks("172.18.0.2", "10.244.3.0/24").add("a", 70)
    assert (tmp_path / "first_port").read_text() == "0"
    kernel.refuses["bind"] = errno.EPERM
    networks, said = agent._networks("172.18.0.2", "10.244.3.0/24")
    assert networks is not None and networks.add("a", 70).address == "10.244.3.2"
    assert said == ["pods cannot listen on ports below 1024 here (mount /run/kitlib/net: Operation not permitted)"]


def test_an_ended_pod_has_no_namespace_to_enter() -> None:
    with (
        pytest.raises(KitError, match="network namespace of process 2147483647: No such file or directory"),
        pod_network.entered(2**31 - 1),
    ):
        pass


def test_a_port_is_dialled_at_the_pods_address_or_in_its_namespace(kernel: Kernel) -> None:
    import socket

    place = PodNamespace("127.0.0.2", 70)
    with socket.create_server(("127.0.0.2", 0)) as door:
        port = door.getsockname()[1]
        socket.socket(fileno=listening.dial(place, port, localhost=False)).close()
        with pytest.raises(KitError, match=f"failed to connect to localhost:{port}: connect: connection refused"):
            listening.dial(place, port, localhost=True)
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        socket.socket(fileno=listening.dial(place, port, localhost=True)).close()
        with pytest.raises(KitError, match=f"failed to connect to 127.0.0.2:{port}: connect: connection refused"):
            listening.dial(place, port, localhost=False)
