"""The parts of a node that a container engine sets up and Kubernetes does not; the agent does so in its pod.

    the pod's container      limits of CPU and memory, which Kubernetes sets; its leaf `watchdog` holds process 1
    └── node                 processors, memory, processes; the root of the node's cgroup namespace

A pod cannot request a set of processors, but the CPU weights of the node's own pods only matter while these compete for
the same processors. A privileged pod has no cgroup namespace; the agent creates one in any case. The node also leaves
its pod's network for a namespace with a loopback device only.

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
    """The resource limits of one node.

    Attributes:
        cpus: number of processors.
        memory: memory in bytes.
        pids: number of processes; 0 = unlimited.
    """

    cpus: int
    memory: int
    pids: int = 0


def read(words: Sequence[str]) -> Bounds:
    """Parse the limits of a command line: `--cpus=2 --memory=1073741824 --pids=4160`.

    Raises:
        KitError: an argument is unknown or not a number.
    """
    given: dict[str, int] = {}
    for word in words:
        name, _, value = word.removeprefix("--").partition("=")
        if name not in _WORDS or not value.isdigit():
            raise KitError(f"{word}: must be one of --cpus=N, --memory=BYTES, --pids=N")
        given[name] = int(value)
    return Bounds(given.get("cpus", 0), given.get("memory", 0), given.get("pids", 0))


def enter(bounds: Bounds) -> list[str]:
    """Move this process below a cgroup with these limits, into its own cgroup and network namespaces.

    Returns:
        Sentences about limits that could not be set, and why.

    Raises:
        KitError: the pod sees cgroups other than its own.
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
    """Return `wanted` of the available processors, chosen by the node's name so that nodes spread over a machine."""
    if not 0 < wanted < len(available):
        return list(available)
    places = len(available) // wanted
    first = zlib.crc32(name.encode()) % places * wanted
    return list(available[first : first + wanted])


def _enter_cgroup(bounds: Bounds) -> list[str]:
    """Create the node's root cgroup below the container's, limit it, move into it and unshare the cgroup namespace."""
    root = own_cgroup(_text("/proc/self/mountinfo"), _text("/proc/self/cgroup"))
    mounts.make_writable(MOUNT)
    if not os.access(root, os.W_OK):
        raise KitError(
            f"{root}: root of this node does not own its cgroup, as in a user namespace whose runtime mounts the "
            "cgroups read-only: configure cgroup_writable = true in containerd, or omit hostUsers: false"
        )
    pids = _text(f"{root}/cgroup.procs").split()
    # A process of another pid namespace reads as 0: it cannot be moved from here.
    if "0" in pids:
        return [f"{root}: processes of another container stand there: nothing keeps the node within its bounds"]
    os.makedirs(root + WATCHDOG, exist_ok=True)
    for pid in pids:
        _write(f"{root}{WATCHDOG}/cgroup.procs", pid)
    # Only now: the kernel refuses to enable controllers in a cgroup that still holds processes (cgroup-v2.rst, "No
    # Internal Process Constraint").
    for controller in _text(f"{root}/cgroup.controllers").split():
        _write(f"{root}/cgroup.subtree_control", f"+{controller}")
    os.makedirs(root + NODE, exist_ok=True)
    notes = _bound(root + NODE, bounds)
    # First the move, then the namespace: its root is the cgroup of the process at that time (cgroup_namespaces(7)).
    _write(f"{root}{NODE}/cgroup.procs", "0")
    mounts.own_cgroups(MOUNT)
    return notes


def _bound(place: str, bounds: Bounds) -> list[str]:
    """Write the limits of the node's root cgroup, and return sentences about those that are refused."""
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
    """Return the directory of this process's cgroup (v2) below the visible mount.

    Args:
        mountinfo: contents of /proc/self/mountinfo.
        cgroup: contents of /proc/self/cgroup.

    Raises:
        KitError: the cgroup is not below the mount.
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
    raise KitError(
        f"the cgroup {shown!r} of this pod is outside of {MOUNT}, because the container runtime mounted another cgroup "
        "there"
    )


def _check_own_v1() -> None:
    """Check that the visible hierarchies (v1) are the pod's own.

    A privileged pod sees its machine's hierarchies from their roots, and would use them as its own.

    Raises:
        KitError: the hierarchies are the machine's.
    """
    own: dict[str, str] = {}
    for line in _text("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(","), path)
    for line in _text("/proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        of_memory = after.startswith("cgroup ") and "memory" in after.split()[2].split(",")
        if of_memory and before.split()[3] == "/" and own.get("memory", "/") != "/":
            raise KitError(
                "this pod can access the cgroups of its whole machine (cgroup v1, privileged): use privilege='least'"
            )


def _text(path: str) -> str:
    with open(path) as file:
        return file.read()


def _write(path: str, value: str) -> None:
    """Write a file of a cgroup; a process that has just ended is ignored.

    Raises:
        KitError: the kernel refuses the value.
    """
    try:
        with open(path, "w") as file:
            file.write(value)
    except ProcessLookupError:
        pass
    except OSError as error:
        raise KitError(
            f"{path}: {error.strerror}: the node cannot write to its cgroup; its container requires the capability "
            "CAP_SYS_ADMIN"
        ) from error
