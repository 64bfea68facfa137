"""A node's container: made with the smallest privilege that can own a cgroup tree, gone as soon as its owner is.

It has no network, no volumes, no devices of the host, a read-only root and limits of its own. What the engine refuses
is left out at the next try, and said. The container lives on the stream that its owner holds (`StdinOnce`, auto-remove,
`watchdog.py`); labels name the owner, so that what was created and never started is found and removed.

Source: Docker Engine API ContainerCreate, ContainerAttach; capabilities(7).
"""

from __future__ import annotations

import os
import platform
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from kitlib.api.errors import KitError
from kitlib.kubelet.config.machine import MachineInfo
from kitlib.node.real.engine import EngineError, asking, words
from kitlib.node.real.link import Link

Privilege = Literal["least", "full"]
LABEL, OWNER, RUN = "dev.kitlib.node", "dev.kitlib.owner", "dev.kitlib.run"
"""Labels: the node's name, the process that holds it, and what KITLIB_RUN says (to find all nodes of one session)."""
NEEDED = (
    *("SYS_ADMIN", "CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID", "SETPCAP", "SYS_CHROOT", "MKNOD"),
    *("SYS_PTRACE",),
)
"""SYS_ADMIN owns cgroups and mounts, SYS_PTRACE lets containers join their pod's namespaces, the rest is crun's."""
WISHED = ("SYS_RESOURCE", "SYSLOG")
"""Scores below 0, and the kernel's log: nodes do without where the engine has none to give."""
OVERHEAD = 96 * 2**20
"""Bytes that the agent, the runtime and what is kept in memory may use on top of what pods may."""
PIDS_OVERHEAD = 64
MAX_PID = 4096
CONTROL = "control-plane"
"""The control plane's container is called so, and its first process is told so (`watchdog.py`)."""
SYSTEMD = "systemd"
"""What the first process is told where systemd is to be the node's."""
CONTROL_UID = 65533
"""The control plane's user and group, which no pod has by default (65534): a limit of processes that an engine sets per
user (RLIMIT_NPROC) counts pods on the whole machine, and must not stop the control plane. The agent is root."""
CONTROL_MEMORY = 512 * 2**20
CONTROL_PIDS = 32
CGROUP_PARENT = "KITLIB_CGROUP_PARENT"
"""Variable: the cgroup below which nodes' containers stand, for an engine that has none of its own to put them in."""
BOUNDS = ("cpuset", "memory", "pids")
"""Cgroup controllers that bound the container itself; an engine without root has those that were delegated to it."""
_REFUSED = ("caps", "capabilit", "operation not permitted")
_NONE_SUCH = "no such container"
_GONE_WITHIN = 5.0
_held: weakref.WeakValueDictionary[str, Link] = weakref.WeakValueDictionary()
"""Container's id -> its stream, of all containers that this process has started."""
_known_to_lack: dict[str, tuple[str, ...]] = {}
"""Engine's URL -> what it has refused before in this process: not asked for again."""


@dataclass
class NodeContainer:
    """A container that runs a node's agent.

    Attributes:
        client: of the engine.
        id: of the container.
        link: the stream.
        lacking: what was refused: capabilities (`WISHED`), controllers that would bound it (`BOUNDS`).
    """

    client: Any
    id: str
    link: Link
    lacking: tuple[str, ...] = ()

    def close(self) -> None:
        """End the node; returns when nothing of it is left, or after some seconds by force.

        An engine that has gone is no reason to complain: it ends its containers when it comes back, or `sweep` does.
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
    """Whether the engine knows that container.

    Raises:
        EngineError: where the engine does not answer.
    """
    try:
        with asking(f"container {identity[:12]}"):
            client.api.inspect_container(identity)
    except EngineError as error:
        # Podman answers 500 where the container goes while it is being looked at
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
        client, image: the engine and what runs.
        name: of the node.
        machine: what it may use.
        privilege: "least", or "full" for the engine's `--privileged`.
        cpuset: processors that it may use; "" = all.
        lacking: what is known to be refused.
        most_memory: bytes that the container may use at most, whatever the machine has; 0 = no such bound.
        systemd: whether it is process 1 of the node (`init.py`); then the image must have it.
        link: makes the stream's owner of a name and the stream.

    Raises:
        KitError: where the engine refuses, in its words.
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
            del steps[0]
            continue
        without = (*steps[0], *unbounded)
        if privilege == "least":
            _known_to_lack[where] = without
        return NodeContainer(client, identity, held, without)


def start_control(client: Any, image: str, link: Callable[[str, Any], Link]) -> NodeContainer:
    """Start the container of a control plane: of the nodes' image, with no right at all and nothing to write to.

    Raises:
        KitError: where the engine refuses, in its words.
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
    """Create a container, hold its streams, start it; where that fails nothing is left."""
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
        stream = client.api.attach_socket(made, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1, "logs": 0})
        held = _held[made] = link(name, stream)
        client.api.start(made)
    except BaseException:  # an interrupted cell too
        if held is not None:
            held.close()
        if made:
            _remove(client, made)
        raise
    return made, held


def _remove(client: Any, identity: str) -> None:
    """Remove a container by force; one that the engine is just starting cannot be removed until it runs."""
    from docker.errors import APIError, NotFound

    deadline = time.monotonic() + _GONE_WITHIN
    while time.monotonic() < deadline:
        try:
            client.api.remove_container(identity, force=True)
        except (NotFound, OSError):  # it has gone, or the engine has
            return
        except APIError:
            time.sleep(0.05)


def _missing_controller(text: str) -> str:
    """The controller that an engine misses, of its refusal; "" = it is about something else.

    Source: crun's "the requested cgroup controller `cpuset` is not available"; runc names the file that is not there.
    """
    about = text.lower()
    if "cgroup" not in about and "controller" not in about:
        return ""
    if "not available" not in about and "no such file" not in about and "not delegated" not in about:
        return ""
    return next((one for one in BOUNDS if f"`{one}`" in about or f"/{one}." in about), "")


def _ladder(lacking: tuple[str, ...]) -> list[tuple[str, ...]]:
    """What is left out, from nothing to all that is only wished for."""
    steps: list[tuple[str, ...]] = [(), ("SYS_RESOURCE",), ("SYSLOG",), WISHED]
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
    """This process, so that what it leaves behind can be told from what belongs to others."""
    return f"{_numbered_by()}:{os.getpid()}"


def _numbered_by() -> str:
    """Where this process has its number: containers that share the host's name still number theirs from 1."""
    with suppress(OSError):
        return f"{platform.node()}/{os.stat('/proc/self/ns/pid').st_ino}"
    return platform.node()


def sweep(client: Any) -> list[str]:
    """Remove what nobody on this machine holds any more; the ids of these containers.

    A node ends by itself with its stream, but one that was created and never started does not; nor does one whose
    engine was killed, before that engine is back: what carries the stream inside of it keeps both its ends open.
    """
    removed = []
    for found in client.api.containers(all=True, filters={"label": LABEL}):
        held = found.get("Labels", {}).get(OWNER, "")
        if _lost(found["Id"], found["State"]) if held == owner() else runs_here(held) is False:
            with suppress(Exception):  # it ends by itself at this moment, or another process sweeps too
                client.api.remove_container(found["Id"], force=True)
                removed.append(str(found["Id"]))
    return removed


def _lost(identity: str, state: str) -> bool:
    """Whether a container of this very process runs without its stream; one just created has none yet."""
    link = _held.get(identity)
    return state != "created" and (link is None or not link.alive)


def runs_here(process: str) -> bool | None:
    """Whether an owner, as `owner` names it, still runs; None where it is none of this machine's."""
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
