"""The agent of a node: the kubelet, driven by its owner's requests, the clock and the exits of containers.

One loop without threads: it waits for the owner's lines, the exit of a child, output of containers and the next time at
which something is due. The kubelet is the same as on the simulated kernel; here its cgroups are the kernel's and its
containers are crun's. Its reports go to the owner as they arise.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from kitlib.api.core import ConfigMap, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodStatus, Secret, Service
from kitlib.api.errors import KitError
from kitlib.api.guard import Guard, described
from kitlib.api.meta import Condition
from kitlib.api.serialize import from_dict, to_dict
from kitlib.kubelet.cm.node_config import NodeConfig
from kitlib.kubelet.images.image_gc import Image
from kitlib.kubelet.loop.kubelet import Kubelet
from kitlib.kubelet.pods.objects import CLAIM, CONFIG_MAP, NODE, SECRET, SERVICE, VOLUME, Reference
from kitlib.kubelet.util.cpuset import format_cpus
from kitlib.node.real import capabilities, mounts, protocol, swap
from kitlib.node.real.cgroupfs import RealCgroupFS
from kitlib.node.real.introspection import Introspection
from kitlib.node.real.pod_network import PodNetworks
from kitlib.node.real.runtime import CrunRuntime
from kitlib.node.real.streams import NodeStreams
from kitlib.node.real.system import RealSystem, system_ooms

TICK = 0.5
"""Seconds between two ticks of an idle kubelet."""
TOGETHER = 0.02
"""Seconds for which a report waits for others: a message wakes half a dozen processes on its way to the owner."""
RENEW_INTERVAL = 10.0
"""Seconds between two renewals of the node's Lease. Source: kubelet nodeLeaseDurationSeconds 40, of which a quarter."""
BUSY_AFTER = 5.0
"""Seconds without a message after which a busy node reports that it is working."""
_CHUNK = 1 << 16

KNOWN: dict[str, type[Any]] = {
    CONFIG_MAP: ConfigMap,
    SECRET: Secret,
    NODE: Node,
    CLAIM: PersistentVolumeClaim,
    VOLUME: PersistentVolume,
    SERVICE: Service,
}
"""The kinds of objects that the owner sends to a kubelet."""


class Owner:
    """The connection to the node's owner; implements `kitlib.kubelet.loop.interfaces.Reports`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: list[bytes] = []
        self._since, self._said_at = 0.0, 0.0
        self._renewed = -RENEW_INTERVAL

    def renew(self) -> None:
        """Renew the node's Lease if `RENEW_INTERVAL` has passed."""
        if time.monotonic() - self._renewed >= RENEW_INTERVAL:
            self._renewed = time.monotonic()
            self.send({"report": "lease"})

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message at once, after the waiting reports.

        The owner reads continuously, so the write does not block.
        """
        self._waiting.append(protocol.encode(message))
        self.flush()

    def flush(self) -> None:
        """Send the waiting reports."""
        if self._waiting:
            whole = b"".join(self._waiting)
            self._waiting.clear()
            protocol.write(self._descriptor, whole)
            self._said_at = time.monotonic()

    def _report(self, message: Mapping[str, Any]) -> None:
        """Add a report to the waiting ones, and send them if the oldest has waited for `TOGETHER` seconds."""
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting.append(protocol.encode(message))
        if time.monotonic() - self._since >= TOGETHER:
            self.flush()

    def now(self) -> datetime:
        """Return the host's date."""
        return datetime.now(UTC)

    def event(
        self,
        about: Pod | None,
        kind: str,
        reason: str,
        message: str,
        field: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Report an event about a pod, a part of it, or the node."""
        told = {"kind": kind, "reason": reason, "message": message, "field": field, "annotations": annotations or {}}
        self._report({"report": "event", "pod": _key(about), **told})

    def status(self, pod: Pod, status: PodStatus) -> None:
        """Report a pod's new status."""
        self._report({"report": "status", "pod": _key(pod), "status": to_dict(Pod(status=status)).get("status", {})})

    def gone(self, pod: Pod) -> None:
        """Report that a terminating pod has ended."""
        self._report({"report": "gone", "pod": _key(pod)})

    def condition(self, condition: Condition) -> None:
        """Report a condition of the node."""
        self._report({"report": "condition", "condition": to_dict(condition)})

    def busy(self) -> None:
        """Report that the node is working, if it has sent nothing for `BUSY_AFTER` seconds."""
        self.renew()
        if time.monotonic() - self._said_at >= BUSY_AFTER:
            self.send({"report": "busy"})

    def images(self, images: Sequence[Image]) -> None:
        """Ignore the list: a real node has no images."""


class Agent:
    """The agent that runs in a node's container.

    Args:
        reads, writes: file descriptors of the owner's requests and of the answers.
        lacking: sentences about what the engine could not give the container.
    """

    def __init__(self, reads: int, writes: int, lacking: Sequence[str] = ()) -> None:
        self._reads, self._owner, self._lacking = reads, Owner(writes), lacking
        self._began = time.monotonic()
        self._rest = b""
        self._kubelet: Kubelet | None = None
        self._runtime: CrunRuntime | None = None
        self._introspection: Introspection | None = None
        self._streams: NodeStreams | None = None
        self._bound: dict[str, Pod] = {}
        self._kills, self._boots, self._address = 0, 1, ""
        self._system: RealSystem | None = None
        self._guard: Guard[str] = Guard("agent", self._say)
        self._ends, self._wakes = os.pipe()
        for descriptor in (self._ends, self._wakes):
            os.set_blocking(descriptor, False)
        self._objects: dict[Reference, Any] = {}
        self._does: dict[str, Callable[..., Any]] = {
            "start": self._start,
            "restart": self._restart,
            "sync": self._sync,
            "objects": self._take_objects,
        }

    def clock(self) -> float:
        """Return the seconds since the agent's start."""
        return time.monotonic() - self._began

    def run(self) -> int:
        """Serve the owner until the connection ends; return the exit code."""
        # The exit of a child writes a byte to this pipe, which ends `poll`. Without it an exit just before `poll` would
        # wait for the next tick. The byte is only written for signals with a Python handler. A full pipe does no harm:
        # one byte is enough.
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        next_tick = 0.0
        while True:
            waits = select.poll()
            waits.register(self._reads, select.POLLIN)
            waits.register(self._ends, select.POLLIN)
            outputs = set(self._runtime.outputs()) if self._runtime is not None else set()
            for descriptor in outputs:
                waits.register(descriptor, select.POLLIN)
            reads, writes = (self._streams.reads(), self._streams.writes()) if self._streams is not None else ({}, {})
            for descriptor in reads.keys() | writes.keys():  # a terminal may be both a container's output and an input
                asked = (select.POLLIN if descriptor in reads or descriptor in outputs else 0) | (
                    select.POLLOUT if descriptor in writes else 0
                )
                waits.register(descriptor, asked)
            due = min(next_tick, self._next_due())
            happened = [d for d, _ in waits.poll(max(0.0, min(due - self.clock(), 60.0)) * 1000)]
            look = self.clock() >= due
            for descriptor in happened:
                if descriptor == self._reads:
                    if not self._hear():
                        return 0
                elif descriptor == self._ends:
                    with suppress(BlockingIOError):
                        os.read(self._ends, _CHUNK)
                    look = True
                elif self._runtime is not None and descriptor in outputs:
                    self._runtime.drain(descriptor)
                if self._streams is not None and (descriptor in reads or descriptor in writes):
                    self._streams.happened(descriptor, reads.get(descriptor) or writes[descriptor])
            if self._streams is not None:
                self._streams.look()
            if self._introspection is not None:
                self._introspection.sample(self._owner.send)
            if look:
                self._look()
                next_tick = self.clock() + TICK
            self._owner.flush()

    def _next_due(self) -> float:
        if self._runtime is None or self._introspection is None:
            return float("inf")
        return min(self._runtime.next_kill(), self._introspection.next_sample())

    def _look(self) -> None:
        """Let the kubelet work; an error is reported, and the next tick tries again."""
        if self._kubelet is None:
            return
        self._owner.renew()
        try:
            self._kubelet.tick()
            self._tell_system_ooms(self._kubelet)
        except Exception as error:
            self._guard.caught("look", error)

    def _say(self, part: str, error: Exception) -> None:
        self._owner.event(None, "Warning", "KubeletError", f"{part}: {described(error)}")

    def _tell_system_ooms(self, kubelet: Kubelet) -> None:
        """After an OOM kill of a container, report kills for which the node as a whole had no memory left."""
        if self._runtime is None or self._introspection is None or self._runtime.kills == self._kills:
            return
        self._kills = self._runtime.kills
        top = kubelet.rules.path(kubelet.rules.kubepods)
        uids = [worker.pod.metadata.uid for worker in kubelet.workers]
        for process in system_ooms(self._introspection.read_kernel_log()[0], top, uids):
            kubelet.watcher.system_out_of_memory(*process)

    def _hear(self) -> bool:
        """Read and answer the owner's lines; return False if the connection has ended."""
        piece = os.read(self._reads, _CHUNK)
        if not piece:
            return False
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._answer(line)
        return True

    def _answer(self, line: bytes) -> None:
        number = 0
        try:
            asked = protocol.decode(line)
            number, what = int(asked.pop("id", 0)), str(asked.pop("do", ""))
            if what not in self._does:
                raise KitError(
                    f"unsupported request {what!r} to the node; valid values: {', '.join(sorted(self._does))}"
                )
            answer: dict[str, Any] = {"id": number, "ok": self._does[what](**asked)}
        except Exception as error:  # an error of one request must not end the node; the owner receives it
            answer = {"id": number, "error": protocol.error_to_data(error)}
        self._owner.send(answer)

    def _start(self, version: int, config: Mapping[str, Any], address: str = "", pod_cidr: str = "") -> dict[str, Any]:
        """Take over the cgroup tree, create the kubelet, and return the facts about the node.

        Args:
            version: the owner's version of the protocol.
            config: the kubelet's configuration.
            address: the node's address; "" = none, and its pods share its network namespace.
            pod_cidr: the range of the addresses of its pods.
        """
        if version != protocol.VERSION:
            raise KitError(
                f"the node image uses version {protocol.VERSION} of the protocol, kitlib uses {version}: rebuild the "
                "image with kitlib image build"
            )
        if self._kubelet is not None:
            raise KitError("this node has been started already")
        cgroups, systemd, version_of_systemd = RealCgroupFS(), None, ""
        wanted = _on_this_machine(config, cgroups)
        if wanted.settings.cgroup_driver == "systemd":
            from kitlib.node.real.systemd import Systemd, SystemdCgroupFS  # other nodes do without sockets

            systemd = SystemdCgroupFS(cgroups, Systemd())
            version_of_systemd = systemd.prepare()
        else:
            cgroups.prepare()
        lowest = capabilities.lowest_score()
        mounts.be_subreaper()
        networks, unshared = _networks(address, pod_cidr)
        self._address = address if networks is not None else ""
        runtime = CrunRuntime(
            cgroups,
            wanted.machine,
            self.clock,
            wanted.release,
            lowest_score=lowest,
            note=self._note,
            busy=self._owner.busy,
            systemd=systemd,
            networks=networks,
        )
        for path in wanted.machine.cgroups:  # the administrator's, before the kubelet starts
            (systemd or cgroups).makedirs(path)
        self._system = RealSystem(cgroups, places=systemd.places if systemd is not None else ())
        self._kubelet = Kubelet(
            wanted, systemd or cgroups, runtime, self._owner, self.clock, system=self._system, address=self._address
        )
        runtime.allocatable = self._kubelet.allocatable("memory")
        rules = self._kubelet.rules
        swaps = swap.forbid(cgroups, rules.path(rules.kubepods), wanted.machine.swap)
        self._kubelet.objects.find = lambda reference: self._objects.get(reference)
        self._runtime = runtime
        self._introspection = Introspection(self._kubelet, cgroups, runtime, self.clock)
        self._streams = NodeStreams(runtime, self._introspection.state, self._owner.send)
        self._does |= self._introspection.requests() | self._streams.requests()
        if systemd is not None:
            self._does["unit"] = systemd.systemd.show
        mounts.give_memory_back()
        return {
            "version": cgroups.version,
            "controllers": cgroups.controllers,
            "lowest_score": lowest,
            "kernel": os.uname().release,
            "systemd": version_of_systemd,
            "cpus": sorted(os.sched_getaffinity(0)),
            "root_mapped": capabilities.in_user_namespace(),
            "limits": [*self._lacking, *capabilities.limits(cgroups, wanted.machine, lowest), *swaps, *unshared],
            "seconds": self.clock(),
            "began": self._began,
            "address": self._address,
            "pod_cidr": pod_cidr if self._address else "",
        }

    def _restart(self, config: Mapping[str, Any], delete_checkpoints: bool = False, reboot: bool = False) -> None:
        """Replace the kubelet by a new one, as after its restart or after a reboot of the machine.

        Raises:
            KitError: the new one would not start, and the present one continues.
        """
        old, runtime, introspection = self._kubelet, self._runtime, self._introspection
        if old is None or runtime is None or introspection is None:
            raise KitError("this node has not been started")
        if reboot:
            from kitlib.kubelet.loop.rebooting import lose_power  # loaded with the first reboot

            lose_power(old)
            introspection.forget_kernel_log()
        wanted = _on_this_machine(config, runtime.cgroups)
        made = Kubelet(
            wanted,
            old.cgroups,
            runtime,
            self._owner,
            self.clock,
            before=old,
            delete_checkpoints=delete_checkpoints,
            system=self._system,
            address=self._address,
        )
        runtime.allocatable = made.allocatable("memory")
        made.objects.find = old.objects.find
        swap.forbid(runtime.cgroups, made.rules.path(made.rules.kubepods), wanted.machine.swap)
        self._boots += reboot
        self._kubelet = introspection.kubelet = made
        made.adopt(old, list(self._bound.values()))
        self._owner.send({"report": "restarted", "config": config, "boots": self._boots})

    def _sync(self, pods: list[dict[str, Any]], same: Sequence[str] = ()) -> float:
        """Bring the node in line with the pods bound to it, and return the seconds that it took.

        Args:
            pods: new and changed pods.
            same: UIDs of the pods that are unchanged since the last call.
        """
        if self._kubelet is None:
            raise KitError("this node has not been started")
        began = self.clock()
        made: list[Any] = [from_dict(pod, Pod) for pod in pods]
        self._bound = {uid: self._bound[uid] for uid in same} | {pod.metadata.uid: pod for pod in made}
        self._kubelet.sync(list(self._bound.values()))
        return self.clock() - began

    def _take_objects(self, objects: list[dict[str, Any]]) -> None:
        """Store the node and the objects that its pods refer to; all others count as missing."""
        made: list[Any] = [from_dict(item, KNOWN[item["kind"]]) for item in objects]
        self._objects = {Reference(one.kind, one.metadata.namespace, one.metadata.name): one for one in made}
        for one in made:
            if one.kind == SERVICE:
                self._objects.setdefault(Reference(SERVICE, one.namespace, ""), []).append(one)

    def _note(self, pod: Pod, text: str) -> None:
        self._owner.event(pod, "Normal", "ImageNotPulled", text)


def _on_this_machine(config: Mapping[str, Any], cgroups: RealCgroupFS) -> NodeConfig:
    """Return a kubelet's configuration with the processors of this machine, if there is a cpuset controller."""
    wanted = protocol.config_from_data(config)
    return replace(wanted, processors=format_cpus(os.sched_getaffinity(0)) if "cpuset" in cgroups.controllers else None)


def _networks(address: str, pods: str) -> tuple[PodNetworks | None, list[str]]:
    """Return the pods' network namespaces; None and a sentence about it if the host does not grant them."""
    if not address or not pods:
        return None, []
    try:
        made = PodNetworks(address, pods)
        return made, made.lacking
    except (KitError, OSError) as error:
        return None, [f"pods share the network of their node here and have no addresses ({error}; no CAP_NET_ADMIN)"]


def _key(pod: Pod | None) -> list[str]:
    return [] if pod is None else [pod.namespace, pod.name, pod.metadata.uid]


def main(lacking: Sequence[str] = ()) -> int:
    """Serve the owner on standard input and output; prints go to standard error.

    Args:
        lacking: sentences about what the engine could not give the container.
    """
    with suppress(ValueError, OSError):  # the engine's limit counts the user's processes on the whole machine
        resource.setrlimit(resource.RLIMIT_NPROC, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    writes = os.dup(1)
    os.dup2(2, 1)
    return Agent(0, writes, lacking).run()


if __name__ == "__main__":
    sys.exit(main())
