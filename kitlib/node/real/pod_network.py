"""The network of a node's pods: each pod has a network namespace and an address of its own, as CNI gives a sandbox.

The namespace belongs to the pod's pause container: crun creates it, the pod's containers join it, and the kernel
removes it, with its devices, after the last process of the pod. A pod with `hostNetwork: true` stays in the node's
namespace.

    node's namespace    lo     127.0.0.1 and the node's address
                        cni0   first address of the node's range, a bridge
    pod's namespace     lo     127.0.0.1
                        eth0   the pod's address, a device pair (veth) to cni0; default route to cni0

So pods of a node reach one another and the node. The node's namespace has no device to the outside: pods of other
nodes, Services, and DNS are not reached. If the kernel has no bridges or device pairs, the pod's address is on its `lo`
instead: the kubelet then enters the namespace in order to connect, and pods do not reach one another. Without
CAP_NET_ADMIN the pods share the node's namespace and have no addresses; a sentence of the node's limits reports it.

Source: CNI plugins bridge, host-local and loopback; kubelet's probes and containerd's port forwarding, which enters the
sandbox's namespace; network_namespaces(7), setns(2).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from errno import EEXIST, EOPNOTSUPP
from typing import TYPE_CHECKING

from kitlib.api.errors import KitError
from kitlib.node.real import mounts, netlink
from kitlib.node.real.state_files import STATE

if TYPE_CHECKING:
    from kitlib.node.common.network import PodNetwork

BRIDGE, DEVICE = "cni0", "eth0"
SYSCTLS = f"{STATE}/net"
_FIRST_PORT = f"{SYSCTLS}/ipv4/ip_unprivileged_port_start"
"""Set to 0, since pods have no CAP_NET_BIND_SERVICE. Source: containerd CRI enable_unprivileged_ports."""


@dataclass(frozen=True)
class PodNamespace:
    """A network namespace with its address, in which a pod runs.

    Attributes:
        address: the pod's address; for a pod with `hostNetwork: true` the node's.
        pid: a process in the namespace; 0 = the node's own namespace.
        bridged: whether the address is reached from the node's namespace.
    """

    address: str
    pid: int = 0
    bridged: bool = True

    def reaching(self, host: str) -> AbstractContextManager[None]:
        """Return the context in which the kubelet's connections to a host begin: the node's namespace if possible."""
        return nullcontext() if self.bridged or host != self.address else self.inside()

    def inside(self) -> AbstractContextManager[None]:
        """Return the context in which new sockets and processes belong to this namespace."""
        return entered(self.pid) if self.pid else nullcontext()


@contextmanager
def entered(pid: int) -> Iterator[None]:
    """Enter the network namespace of a process for the time of the context.

    Sockets stay in the namespace in which they were made, so a caller leaves it again before it waits for anything.

    Raises:
        KitError: the kernel refuses, or the process has ended.
    """
    try:
        there = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise KitError(f"network namespace of process {pid}: {error.strerror}") from error
    own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        mounts.set_network(there)
        try:
            yield
        finally:
            mounts.set_network(own)
    finally:
        os.close(own)
        os.close(there)


class PodNetworks:
    """The network namespaces of a node's pods.

    Args:
        address: the node's address.
        pods: the range of the pods' addresses, such as `10.244.0.0/24`.

    Attributes:
        node: the node's own namespace.
        lacking: sentences about what the host does not grant.

    Raises:
        KitError: the kernel refuses the node its address.
        OSError: the kernel refuses the node a socket.
    """

    def __init__(self, address: str, pods: str) -> None:
        self.node = PodNamespace(address)
        self._range = pods
        self._addresses: PodNetwork | None = None
        self._netlink = netlink.Netlink()
        self._bridge = 0
        self._bridged = True
        self._count = 0
        try:
            self._netlink.ask(netlink.add_address(netlink.LOOPBACK, address, 32))
        except netlink.NetlinkError as error:
            if error.errno != EEXIST:
                raise
        self.lacking: list[str] = []
        try:
            mounts.bind_net_sysctls(SYSCTLS)
        except (KitError, OSError) as error:
            self.lacking.append(f"pods cannot listen on ports below 1024 here ({error})")

    def add(self, owner: str, pid: int) -> PodNamespace:
        """Set up the new namespace of a pod.

        Args:
            owner: id of the pod's pause container.
            pid: process id of the pause container.

        Raises:
            KitError: no address is free, or the kernel refuses a device or an address.
        """
        if self._addresses is None:
            from kitlib.node.common.network import PodNetwork  # loaded with the first pod

            self._addresses = PodNetwork(self._range)
        address = self._addresses.take(owner)
        try:
            return self._set_up(address, pid)
        except (KitError, OSError) as error:
            self.remove(owner)
            raise KitError(f'plugin type="bridge" failed (add): {error}') from error

    def remove(self, owner: str) -> None:
        """Release the address of a pod whose processes have ended; the kernel has removed its namespace."""
        if self._addresses is not None:
            self._addresses.give_back(owner)

    def _set_up(self, address: str, pid: int) -> PodNamespace:
        gateway, prefix = self._gateway()
        bridged = self._pair(address, gateway, prefix, pid)
        with entered(pid):
            own = netlink.Netlink()
            device = netlink.index_of(DEVICE) if bridged else netlink.LOOPBACK
            if not self.lacking:
                with open(_FIRST_PORT, "w") as file:
                    file.write("0")
        try:
            for one in {netlink.LOOPBACK, device}:
                own.ask(netlink.set_up(one))
            own.ask(netlink.add_address(device, address, prefix if bridged else 32))
            if bridged:
                own.ask(netlink.add_default_route(gateway))
        finally:
            own.close()
        return PodNamespace(address, pid, bridged)

    def _gateway(self) -> tuple[str, int]:
        """Return the bridge's address, the first of the range, and the length of the range's prefix."""
        first, _, prefix = self._range.partition("/")
        head, _, last = first.rpartition(".")
        return f"{head}.{int(last) + 1}", int(prefix)

    def _pair(self, address: str, gateway: str, prefix: int, pid: int) -> bool:
        """Connect a pod's namespace with the bridge; return False if the kernel has no such devices."""
        if not self._bridged:
            return False
        try:
            if not self._bridge:
                self._netlink.ask(netlink.add_bridge(BRIDGE, gateway))
                self._bridge = netlink.index_of(BRIDGE)
                self._netlink.ask(netlink.add_address(self._bridge, gateway, prefix))
            self._count += 1
            self._netlink.ask(netlink.add_veth(f"veth{self._count:x}", self._bridge, DEVICE, address, pid))
        except netlink.NetlinkError as error:
            if error.errno != EOPNOTSUPP:
                raise
            self._bridged = False
        return self._bridged
