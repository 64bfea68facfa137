"""What a container engine does for a node and Kubernetes does not, done by the agent in its pod before the node begins.

    the pod's container      limits of CPU and memory, which Kubernetes sets; its leaf `watchdog` has process 1
    └── node                 processors, memory, processes; a cgroup namespace begins here: it is the node's root

A pod cannot ask for a set of processors, but the CPU weights of the node's own pods only count where these compete for
the same processors. A privileged pod has no cgroup namespace; here the node gets one in any case. And the node leaves
its pod's network for one of its own, which has a loopback device only.

Source: cgroup_namespaces(7), network_namespaces(7); kernel admin-guide/cgroup-v2.rst "Delegation", "nsdelegate";
containerd CRI gives containers that are not privileged a cgroup namespace on v2.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.cgroup_tree import MOUNT
from kitlib.kubelet.util.cpuset import format_cpus, parse_cpus
from kitlib.node.real import mounts

NODE, WATCHDOG = "/node", "/watchdog"
_WORDS = ("cpus", "memory", "pids")


@dataclass(frozen=True)
class Bounds:
    """What one node may use.

    Attributes:
        cpus: processors.
        memory: bytes.
        pids: processes; 0 = not bounded.
    """

    cpus: int
    memory: int
    pids: int = 0


def read(words: Sequence[str]) -> Bounds:
    """The bounds that a command line names: `--cpus=2 --memory=1073741824 --pids=4160`.

    Raises:
        KitError: a word that is none of these.
    """
    given: dict[str, int] = {}
    for word in words:
        name, _, value = word.removeprefix("--").partition("=")
        if name not in _WORDS or not value.isdigit():
            raise KitError(f"{word}: one of --cpus=N, --memory=BYTES, --pids=N is expected")
        given[name] = int(value)
    return Bounds(given.get("cpus", 0), given.get("memory", 0), given.get("pids", 0))


def enter(bounds: Bounds) -> list[str]:
    """Have this process, and all that it starts, run within these bounds.

    Returns:
        Sentences: what is not bounded, and why.

    Raises:
        KitError: the pod sees cgroups that are none of its own.
    """
    notes = []
    if "" in mounts.cgroup_hierarchies():
        notes += _enter_cgroup(bounds)
    else:
        _check_own_v1()
        notes.append("cgroup v1 here: nothing keeps the node within its CPUs and its number of processes")
    try:
        mounts.own_network()
    except (KitError, OSError) as error:
        notes.append(f"this node has its pod's network ({error}): a NetworkPolicy must isolate it")
    return notes


def picked(available: Sequence[int], wanted: int, name: str) -> list[int]:
    """The processors of a node: as many as it wants, others for other names, so that nodes spread over a machine."""
    if not 0 < wanted < len(available):
        return list(available)
    places = len(available) // wanted
    first = zlib.crc32(name.encode()) % places * wanted
    return list(available[first : first + wanted])


def _enter_cgroup(bounds: Bounds) -> list[str]:
    """Make the node's root below this container's cgroup, bound it, go into it, and begin a namespace there."""
    root = own_cgroup(_text("/proc/self/mountinfo"), _text("/proc/self/cgroup"))
    mounts.make_writable(MOUNT)
    pids = _text(f"{root}/cgroup.procs").split()
    if "0" in pids:
        return [f"{root}: processes of another container stand there: nothing keeps the node within its bounds"]
    os.makedirs(root + WATCHDOG, exist_ok=True)
    for pid in pids:
        _write(f"{root}{WATCHDOG}/cgroup.procs", pid)
    for controller in _text(f"{root}/cgroup.controllers").split():
        _write(f"{root}/cgroup.subtree_control", f"+{controller}")
    os.makedirs(root + NODE, exist_ok=True)
    notes = _bound(root + NODE, bounds)
    _write(f"{root}{NODE}/cgroup.procs", "0")
    mounts.own_cgroups(MOUNT)
    return notes


def _bound(place: str, bounds: Bounds) -> list[str]:
    """Write the bounds of the node's root; sentences where one is refused."""
    notes = []
    wanted = {"memory.max": str(bounds.memory or "max"), "pids.max": str(bounds.pids or "max")}
    try:
        available = parse_cpus(_text(f"{place}/cpuset.cpus.effective"))
        wanted["cpuset.cpus"] = format_cpus(picked(sorted(available), bounds.cpus, os.uname().nodename))
        if bounds.cpus > len(available):
            notes.append(f"{bounds.cpus} CPUs were asked for, the machine has {len(available)}: sums do not hold")
    except OSError:
        notes.append("no cpuset controller here: nothing keeps the node within its CPUs")
    for name, value in wanted.items():
        try:
            with open(f"{place}/{name}", "w") as file:
                file.write(value)
        except OSError as error:
            notes.append(f"{name} of the node is refused ({error.strerror}): nothing keeps the node within it")
    return notes


def own_cgroup(mountinfo: str, cgroup: str) -> str:
    """The directory of this process's cgroup v2, below the mount that it sees.

    Args:
        mountinfo, cgroup: the files of /proc/self.

    Raises:
        KitError: where it is not below that mount.
    """
    shown = next((line.partition("::")[2] for line in cgroup.splitlines() if line.startswith("0::")), "")
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        top, place = before.split()[3:5]
        if place == MOUNT and after.startswith("cgroup2 "):
            below = shown.removeprefix(top.rstrip("/")) if shown.startswith(top) else ""
            if below.startswith("/") and "/.." not in below:
                return f"{MOUNT}{below.rstrip('/')}"
            if shown == top:
                return MOUNT
    raise KitError(f"the cgroup {shown!r} of this pod is not below {MOUNT}: its runtime mounts another one")


def _check_own_v1() -> None:
    """On v1 a privileged pod sees its machine's hierarchies from their roots, and would take them for its own.

    Raises:
        KitError: it does.
    """
    own: dict[str, str] = {}
    for line in _text("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), path)
    for line in _text("/proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        of_memory = after.startswith("cgroup ") and "memory" in after.split()[2].split(",")
        if of_memory and before.split()[3] == "/" and own.get("memory", "/") != "/":
            raise KitError("this pod sees its machine's own cgroups (v1, privileged): use privilege='least'")


def _text(path: str) -> str:
    with open(path) as file:
        return file.read()


def _write(path: str, value: str) -> None:
    """Write a file of a cgroup; a process that has just ended needs no other place.

    Raises:
        KitError: where the kernel refuses.
    """
    try:
        with open(path, "w") as file:
            file.write(value)
    except ProcessLookupError:
        pass
    except OSError as error:
        raise KitError(f"{path}: {error.strerror}: this node may not own a cgroup tree (CAP_SYS_ADMIN?)") from error
