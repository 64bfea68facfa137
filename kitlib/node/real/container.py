"""A node's container: created with the minimum of rights that can own a cgroup tree, and removed with its owner.

It has no network to the outside, no volumes, no devices of the host, a read-only root and its own limits. A capability
or limit that the engine rejects is left out at the next attempt and reported. The container lives as long as the stream
that its owner holds (`StdinOnce`, auto-remove, `watchdog.py`). Labels name the owner, so that a container that was
created and never started can be found and removed.

Source: Docker Engine API ContainerCreate, ContainerAttach; capabilities(7).
"""

from __future__ import annotations

import os
import platform
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Literal

from kitlib.api.errors import KitError
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.real.engine import EngineError, asking, words
from kitlib.node.real.link import Link

Privilege = Literal["least", "full"]
LABEL, OWNER, RUN = "dev.kitlib.node", "dev.kitlib.owner", "dev.kitlib.run"
"""Labels: the node's name, its owner's process, and KITLIB_RUN (to find all nodes of one session)."""
NEEDED = (
    *("SYS_ADMIN", "CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID", "SETPCAP", "SYS_CHROOT", "MKNOD"),
    *("SYS_PTRACE",),
)
"""Required capabilities: SYS_ADMIN for cgroups and mounts, SYS_PTRACE to join a pod's namespaces, the rest for crun."""
WISHED = ("SYS_RESOURCE", "SYSLOG", "NET_ADMIN")
"""Optional capabilities: OOM scores below 0, the kernel's log, and network devices in the namespaces of the node."""
OVERHEAD = 96 * 2**20
"""Bytes of memory for the agent, the runtime and files in memory, on top of the machine's memory."""
PIDS_OVERHEAD = 64
MAX_PID = 4096
CONTROL = "control-plane"
"""Name of the control plane's container, and the argument of its first process (`watchdog.py`)."""
SYSTEMD = "systemd"
"""Argument of the first process of a node that runs systemd."""
CONTROL_UID = 65533
"""The control plane's user and group, other than the default of pods (65534): an engine's limit of processes per user
(RLIMIT_NPROC) counts pods on the whole machine, and must not stop the control plane. The agent is root."""
CONTROL_MEMORY = 512 * 2**20
CONTROL_PIDS = 32
CGROUP_PARENT = "KITLIB_CGROUP_PARENT"
"""Environment variable: the parent cgroup of nodes' containers, for an engine without a cgroup of its own."""
BOUNDS = ("cpuset", "memory", "pids")
"""Cgroup controllers that limit the container itself; a rootless engine has only those that were delegated to it."""
_REFUSED = ("caps", "capabilit", "operation not permitted")
_NONE_SUCH = "no such container"
_GONE_WITHIN = 5.0
_STARTS = 3
"""Attempts to start a container that the engine has given up for want of time."""
_TOO_LATE = ("deadline exceeded", "timed out", "timeout")
"""Words of an engine whose own steps took too long: containerd waits for the pipes of a container for some seconds."""
_REST = 3.0
"""Seconds between two attempts."""
_held: weakref.WeakValueDictionary[str, Link] = weakref.WeakValueDictionary()
"""Streams by container id, of all containers that this process has started."""
_known_to_lack: dict[str, tuple[str, ...]] = {}
"""Capabilities and limits by engine URL that the engine has rejected in this process: not requested again."""


@dataclass
class NodeContainer:
    """A container that runs a node's agent.

    Attributes:
        client: client of the engine.
        id: id of the container.
        link: the container's streams.
        lacking: rejected capabilities (of `WISHED`) and controllers (of `BOUNDS`).
    """

    client: Any
    id: str
    link: Link
    lacking: tuple[str, ...] = ()

    def check(self, facts: Mapping[str, Any]) -> None:
        """Accept the node: `lacking` says what the engine refused."""

    def close(self) -> None:
        """End the node; returns when its container is gone, by force after `_GONE_WITHIN` seconds.

        An unreachable engine is not an error: it ends the container when it is back, or `sweep` does.
        """
        self.link.close()
        deadline = time.monotonic() + _GONE_WITHIN
        with suppress(EngineError):
            while time.monotonic() < deadline:
                if not exists(self.client, self.id):
                    return
                time.sleep(0.01)
            _remove(self.client, self.id)


def exists(client: Any, identity: str) -> bool:
    """Return whether the engine knows the container.

    Raises:
        EngineError: the engine does not answer.
    """
    try:
        with asking(f"container {identity[:12]}"):
            client.api.inspect_container(identity)
    except EngineError as error:
        # Podman answers 500 if the container is removed during the request
        if getattr(error.__cause__, "status_code", 0) == 404 or _NONE_SUCH in str(error).lower():
            return False
        raise
    return True


def start(
    client: Any,
    image: str,
    name: str,
    machine: MachineInfo,
    *,
    privilege: Privilege = "least",
    cpuset: str = "",
    lacking: tuple[str, ...] = (),
    most_memory: int = 0,
    systemd: bool = False,
    link: Callable[[str, Any], Link] = Link,
) -> NodeContainer:
    """Start a node.

    Args:
        client: client of the engine.
        image: name of the image.
        name: name of the node.
        machine: the resources of the node.
        privilege: "least", or "full" for the engine's `--privileged`.
        cpuset: processors of the node in the kernel's list format; "" = all.
        lacking: capabilities and controllers that are known to be rejected.
        most_memory: maximum bytes of memory of the container, whatever the machine has; 0 = no maximum.
        systemd: whether systemd is process 1 of the node (`init.py`); the image must contain it.
        link: returns the owner of a stream, from the node's name and the stream.

    Raises:
        KitError: the engine rejects the container; the message is the engine's.
    """
    from docker.errors import APIError

    more = {"command": [SYSTEMD]} if systemd else {}
    where = str(client.api.base_url) + str(os.environ.get("DOCKER_HOST", ""))
    lacking = lacking or _known_to_lack.get(where, ())
    unbounded = tuple(one for one in lacking if one in BOUNDS)
    steps = _ladder(tuple(one for one in lacking if one in WISHED))
    while True:
        host = _host_config(client, machine, privilege, cpuset, (*steps[0], *unbounded), most_memory)
        try:
            with asking(f"node {name}"):
                identity, held = _launch(client, image, name, host, link, **more)
        except EngineError as error:
            if not isinstance(error.__cause__, APIError):
                raise
            text = words(error.__cause__)
            bound = _missing_controller(text)
            if bound and bound not in unbounded:
                unbounded += (bound,)
                continue
            if privilege == "full" or not any(word in text.lower() for word in _REFUSED) or len(steps) == 1:
                raise KitError(f"node {name}: the engine refused to start it: {text}") from error
            # A capability was rejected: the next attempt leaves more of the optional ones out.
            del steps[0]
            continue
        without = (*steps[0], *unbounded)
        if privilege == "least":
            _known_to_lack[where] = without
        return NodeContainer(client, identity, held, without)


def start_control(client: Any, image: str, link: Callable[[str, Any], Link]) -> NodeContainer:
    """Start the container of a control plane: the nodes' image, no capabilities, no writable directories.

    Raises:
        KitError: the engine rejects the container; the message is the engine's.
    """
    host = client.api.create_host_config(
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        network_mode="none",
        ipc_mode="private",
        auto_remove=True,
        read_only=True,
        mem_limit=CONTROL_MEMORY,
        memswap_limit=CONTROL_MEMORY,
        pids_limit=CONTROL_PIDS,
        log_config={"Type": "none", "Config": {}},
    )
    more = {"command": [CONTROL], "user": f"{CONTROL_UID}:{CONTROL_UID}", "environment": {"OPENBLAS_NUM_THREADS": "1"}}
    with asking("the engine refused to start the control plane"):
        identity, held = _launch(client, image, CONTROL, host, link, **more)
    return NodeContainer(client, identity, held)


def _launch(
    client: Any, image: str, name: str, host: Any, link: Callable[[str, Any], Link], **more: Any
) -> tuple[str, Link]:
    """Create a container, attach to it and start it, once more if the engine was too slow for its own time limits.

    On a busy disk containerd gives up a start ("opening w/o fifo … context deadline exceeded"), although nothing is
    wrong with the container.
    """
    from docker.errors import APIError

    for attempt in range(1, _STARTS):
        try:
            return _launch_once(client, image, name, host, link, **more)
        except APIError as error:
            if not any(word in words(error).lower() for word in _TOO_LATE):
                raise
        time.sleep(_REST * attempt)
    return _launch_once(client, image, name, host, link, **more)


def _launch_once(
    client: Any, image: str, name: str, host: Any, link: Callable[[str, Any], Link], **more: Any
) -> tuple[str, Link]:
    """Create a container, attach to it and start it; after a failure the container is removed."""
    made, held = "", None
    try:
        made = client.api.create_container(
            image,
            name=f"kitlib-{name}-{os.urandom(4).hex()}",
            hostname=name[:63],
            stdin_open=True,
            labels={LABEL: name, OWNER: owner(), RUN: os.environ.get("KITLIB_RUN", "")},
            host_config=host,
            network_disabled=True,
            **more,
        )["Id"]
        # Attached before the start, so that the container never runs without its owner's stream.
        stream = client.api.attach_socket(made, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1, "logs": 0})
        held = _held[made] = link(name, stream)
        held.look = partial(_state_in_words, client, made)
        client.api.start(made)
    except BaseException:  # also KeyboardInterrupt: the container must not be left
        if held is not None:
            held.close()
        if made:
            _remove(client, made)
        raise
    return made, held


def _state_in_words(client: Any, identity: str) -> str:
    """Return a sentence about a container that does not answer."""
    try:
        with asking("its engine"):
            found = client.api.inspect_container(identity)
    except EngineError as error:
        return str(error)
    name = str(found.get("Name", identity[:12])).lstrip("/")
    if found["State"].get("Paused") or found["State"].get("Status") == "paused":
        return f"its container {name} is paused: `docker unpause {name}` (or `podman unpause {name}`)"
    return f"its container {name} runs: the machine may be busy, so try again"


def _remove(client: Any, identity: str) -> None:
    """Remove a container by force; the engine rejects this while the container is starting, so it is retried."""
    from docker.errors import APIError, NotFound

    deadline = time.monotonic() + _GONE_WITHIN
    while time.monotonic() < deadline:
        try:
            client.api.remove_container(identity, force=True)
        except (NotFound, OSError):  # the container or the engine is gone
            return
        except APIError:
            time.sleep(0.05)


def _missing_controller(text: str) -> str:
    """Return the controller whose absence an engine's error reports; "" = it is another error.

    Source: crun's "the requested cgroup controller `cpuset` is not available"; runc names the missing file.
    """
    about = text.lower()
    if "cgroup" not in about and "controller" not in about:
        return ""
    if "not available" not in about and "no such file" not in about and "not delegated" not in about:
        return ""
    return next((one for one in BOUNDS if f"`{one}`" in about or f"/{one}." in about), "")


def _ladder(lacking: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the sets of optional capabilities to leave out, from none to all, without those known to fail."""
    steps = [step for size in range(len(WISHED) + 1) for step in combinations(WISHED, size)]
    return [step for step in steps if set(lacking) <= set(step)]


def _host_config(
    client: Any, machine: MachineInfo, privilege: Privilege, cpuset: str, without: tuple[str, ...], most_memory: int
) -> Any:
    rights: dict[str, Any] = {"privileged": True}
    if privilege == "least":
        granted = [*NEEDED, *(name for name in WISHED if name not in without)]
        rights = {
            "cap_drop": ["ALL"],
            "cap_add": granted,
            "security_opt": ["seccomp=unconfined", "apparmor=unconfined"],
        }
    memory = machine.memory + OVERHEAD
    if most_memory:
        memory = min(memory, most_memory)
    return client.api.create_host_config(
        **rights,
        cgroupns="private",
        cgroup_parent=os.environ.get(CGROUP_PARENT) or None,
        network_mode="none",
        ipc_mode="private",
        auto_remove=True,
        read_only=True,
        tmpfs={"/run": "rw,exec,mode=755,size=50%", "/tmp": "rw,mode=1777,size=16m"},
        mem_limit=None if "memory" in without else memory,
        memswap_limit=None if "memory" in without else memory + machine.swap,
        pids_limit=machine.max_pid + PIDS_OVERHEAD if machine.max_pid and "pids" not in without else None,
        cpuset_cpus=None if "cpuset" in without else cpuset or None,
        log_config={"Type": "none", "Config": {}},
    )


def owner() -> str:
    """Return an identification of this process, to distinguish its containers from others'."""
    return f"{_numbered_by()}:{os.getpid()}"


def _numbered_by() -> str:
    """Return the host and pid namespace of this process: containers share a host's name, but not its process ids."""
    with suppress(OSError):
        return f"{platform.node()}/{os.stat('/proc/self/ns/pid').st_ino}"
    return platform.node()


def sweep(client: Any) -> list[str]:
    """Remove containers without an owner on this machine, and return their ids.

    A node ends with its stream, with two exceptions: a container that was created and never started, and one whose
    engine was killed, until the engine is back: the process that carries the stream inside the container keeps both
    ends open.
    """
    removed = []
    for found in client.api.containers(all=True, filters={"label": LABEL}):
        held = found.get("Labels", {}).get(OWNER, "")
        # `is False`: an owner of another machine or pid namespace cannot be checked (None), so its containers stay.
        if _lost(found["Id"], found["State"]) if held == owner() else runs_here(held) is False:
            with suppress(Exception):  # it is ending, or another process removes it too
                client.api.remove_container(found["Id"], force=True)
                removed.append(str(found["Id"]))
    return removed


def _lost(identity: str, state: str) -> bool:
    """Return whether a container of this process runs without its stream; a created one has no stream yet."""
    link = _held.get(identity)
    return state != "created" and (link is None or not link.alive)


def runs_here(process: str) -> bool | None:
    """Return whether an owner's process runs, as named by `owner`; None if it is of another machine."""
    place, _, pid = process.rpartition(":")
    return _runs(int(pid)) if place == _numbered_by() and pid.isdigit() else None


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
