"""Mounts of the agent's container: its cgroup hierarchies, how they become writable, and the root of pods.

mount(2) is called directly: a `mount` process for each of a dozen hierarchies would take longer than the rest of a
node's start.

Source: proc(5) mountinfo; mount(2), MS_REMOUNT with MS_BIND.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterable

from kitlib.api.errors import KitError
from kitlib.kubelet.cm.cgroup_tree import MOUNT

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC = 1, 2, 4, 8, 32, 4096, 16384
MS_PRIVATE = 1 << 18
CLONE_NEWNS, CLONE_NEWPID = 0x20000, 0x20000000
CLONE_NEWCGROUP, CLONE_NEWNET = 0x2000000, 0x40000000
MNT_DETACH = 2
PR_SET_CHILD_SUBREAPER = 36
_NAMES = ("cpuset", "cpu", "cpuacct", "memory", "hugetlb", "pids", "freezer", "devices", "blkio", "net_cls", "net_prio")

_libc = ctypes.CDLL(None, use_errno=True)


def cgroup_hierarchies(text: str = "") -> dict[str, str]:
    """Return the mount point by controller on v1 (named hierarchies as `name=systemd`), or {"": mount point} on v2.

    Args:
        text: contents of a mountinfo file; "" = this process's own.

    Raises:
        KitError: no cgroup file system is mounted at its usual place.
    """
    if not text:
        with open("/proc/self/mountinfo") as file:
            text = file.read()
    found: dict[str, str] = {}
    unified = ""
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        place = before.split()[4]
        kind, _, options = after.split(" ", 2)
        if not place.startswith(MOUNT):
            continue
        if kind == "cgroup2" and place == MOUNT:
            unified = place
        elif kind == "cgroup":
            for option in options.split(","):
                if option in _NAMES or option.startswith("name="):
                    found[option] = place
    if unified:
        return {"": unified}
    if "memory" in found or "cpu" in found:
        return dict(sorted(found.items()))
    raise KitError(f"no cgroup file system at {MOUNT}: the container engine must mount it for this node")


def make_writable(place: str) -> None:
    """Remount a mount of this namespace without its read-only flag, if it is read-only.

    Raises:
        KitError: the kernel refuses.
    """
    if os.access(place, os.W_OK) and not os.statvfs(place).f_flag & os.ST_RDONLY:
        return
    _mount("none", place, "", MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC)


def bind_root(place: str) -> None:
    """Bind the node's root file system read-only to `place`, without other mounts: the root of pods."""
    os.makedirs(place, exist_ok=True)
    _mount("/", place, "", MS_BIND)
    _mount("none", place, "", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def own_namespaces() -> None:
    """Create a mount namespace for this process, and a pid namespace for its future children.

    Raises:
        KitError: the kernel refuses.
    """
    if _libc.unshare(CLONE_NEWNS | CLONE_NEWPID) != 0:
        raise KitError(
            f"unshare: {os.strerror(ctypes.get_errno())}: cannot create the mount and PID namespaces that systemd "
            "requires"
        )
    _mount("none", "/", "", MS_REC | MS_PRIVATE)


def own_cgroups(place: str) -> None:
    """Create a cgroup namespace that begins at this process's cgroup, and mount its file system (v2) at `place`.

    Raises:
        KitError: the kernel refuses.
    """
    if _libc.unshare(CLONE_NEWNS | CLONE_NEWCGROUP) != 0:
        raise KitError(
            f"unshare: {os.strerror(ctypes.get_errno())}: cannot create a cgroup namespace; the node requires the "
            "capability CAP_SYS_ADMIN"
        )
    _mount("none", "/", "", MS_REC | MS_PRIVATE)
    # The kernel refuses to mount a file system on a mount of the same one: EBUSY (kernel do_add_mount).
    if _libc.umount2(place.encode(), MNT_DETACH) != 0:
        raise KitError(f"umount {place}: {os.strerror(ctypes.get_errno())}")
    _mount("cgroup2", place, "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def own_network() -> None:
    """Create a network namespace for this process with only a loopback device.

    Raises:
        KitError: the kernel refuses the namespace, or to bring up the device.
        OSError: the kernel refuses a socket.
    """
    if _libc.unshare(CLONE_NEWNET) != 0:
        raise KitError(f"unshare: {os.strerror(ctypes.get_errno())}: cannot create a network namespace")
    from kitlib.node.real import netlink  # imported here: the control plane does not need it

    own = netlink.Netlink()
    own.ask(netlink.set_up(netlink.LOOPBACK))
    own.close()


def bind_net_sysctls(place: str) -> None:
    """Bind /proc/sys/net to `place`, where it can be written; engines mount /proc/sys read-only.

    Raises:
        KitError: the kernel refuses.
    """
    os.makedirs(place, exist_ok=True)
    _mount("/proc/sys/net", place, "", MS_BIND)
    make_writable(place)


def set_network(descriptor: int) -> None:
    """Move this process into a network namespace.

    Args:
        descriptor: file descriptor of the namespace, as of /proc/PID/ns/net.

    Raises:
        KitError: the kernel refuses.
    """
    if _libc.setns(descriptor, CLONE_NEWNET) != 0:
        raise KitError(f"setns: {os.strerror(ctypes.get_errno())}: cannot enter a pod's network namespace")


def own_proc(masked: Iterable[str], read_only: Iterable[str]) -> None:
    """Mount the /proc of this pid namespace, without files that could change the host.

    Args:
        masked: paths to hide.
        read_only: paths to mount read-only.
    """
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    _mount("proc", "/proc", "proc", flags)
    for place in read_only:
        if os.path.exists(place):
            _mount(place, place, "", MS_BIND | MS_REC)
            _mount("none", place, "", MS_REMOUNT | MS_BIND | MS_RDONLY | flags)
    for place in masked:
        if os.path.isdir(place):
            _mount("tmpfs", place, "tmpfs", MS_RDONLY | flags)
        elif os.path.exists(place):
            _mount(os.devnull, place, "", MS_BIND)


def mount_tmpfs(place: str, size: int | None, mode: int) -> None:
    """Mount a tmpfs whose pages are never swapped, if the kernel has that option (since 6.4, not in user namespaces).

    Args:
        place: the directory.
        size: its size in bytes; None = half of the memory, the kernel's default.
        mode: the permissions of its root.

    Raises:
        KitError: the kernel refuses.

    Source: emptydir generateTmpfsMountOptions, swap.IsTmpfsNoswapOptionSupported; tmpfs(5).
    """
    options = f"mode={mode:o}" + (f",size={size}" if size else "")
    flags = MS_NOSUID | MS_NODEV
    try:
        _mount("tmpfs", place, "tmpfs", flags, f"{options},noswap")
    except KitError:
        _mount("tmpfs", place, "tmpfs", flags, options)


def unmount(place: str) -> None:
    """Unmount a file system if one is mounted there; it disappears with its last user."""
    if os.path.ismount(place):
        _libc.umount2(place.encode(), MNT_DETACH)


def be_subreaper() -> None:
    """Make this process the parent of containers' first processes after the runtime that started them exits."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def give_memory_back() -> None:
    """Return memory to the kernel that only the start needed."""
    gc.collect()
    gc.freeze()
    if hasattr(_libc, "malloc_trim"):
        _libc.malloc_trim(0)


def _mount(source: str, place: str, kind: str, flags: int, options: str = "") -> None:
    if _libc.mount(source.encode(), place.encode(), kind.encode(), flags, options.encode() or None) != 0:
        number = ctypes.get_errno()
        raise KitError(
            f"mount {place}: {os.strerror(number)}: the node cannot mount its cgroups; it requires the capability "
            "CAP_SYS_ADMIN"
        )


def kernel_log() -> tuple[list[str], str]:
    """Return the kernel's messages, oldest first, and why they cannot be read ("" if they can)."""
    size = _libc.klogctl(10, None, 0)
    if size < 0:
        return [], os.strerror(ctypes.get_errno())
    buffer = ctypes.create_string_buffer(size)
    length = _libc.klogctl(3, buffer, size)
    if length < 0:
        return [], os.strerror(ctypes.get_errno())
    return buffer.raw[:length].decode(errors="replace").splitlines(), ""
