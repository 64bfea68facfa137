"""Volumes of pods on a real node: directories in memory that live as long as their pod.

A hostPath of type DirectoryOrCreate is such a directory too, which lives as long as its node: pods that name the same
path share it. It is empty at first and apart from the node's own files, which no pod gets.

An emptyDir of medium Memory is a tmpfs with the size that the kubelet computes. All containers of a pod share a
/dev/shm of 64 MiB, unless a volume is mounted there.

Files that the kubelet writes are replaced atomically: a new directory is filled, then a symbolic link is renamed. The
subPath of an emptyDir is opened component by component without following links, since the pod may have created one.

Source: pkg/volume/util AtomicWriter; pkg/volume/util/subpath doSafeMakeDir; emptydir setupTmpfs; containerd
WithDefaultSandboxShm.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress

from kitlib.api.core import Container, Pod
from kitlib.api.errors import KitError
from kitlib.api.volume import Volume
from kitlib.kubelet.loop.emptydir import tmpfs_size
from kitlib.kubelet.loop.interfaces import ContainerProblem
from kitlib.kubelet.pods.volume_files import Files, sub_path
from kitlib.node.real.mounts import mount_tmpfs, unmount
from kitlib.node.real.state_files import STATE, remove

SHM_SIZE = 64 * 2**20
"""Bytes of a pod's /dev/shm. Source: containerd WithDefaultSandboxShm (size=65536k)."""
DATA = "..data"
"""The link to the current version of a volume's files."""


def directory(pod: Pod) -> str:
    """Return the folder of a pod's volumes on the node."""
    return f"{STATE}/volumes/{pod.metadata.uid}"


def shm(pod: Pod) -> str:
    """Return the directory of the node that a pod's containers see as /dev/shm."""
    return f"{STATE}/shm/{pod.metadata.uid}"


def host_directory(volume: Volume) -> str:
    """Return the directory that replaces a hostPath, the same for each pod; "" = none for this volume."""
    path = volume.host_path
    if path is None or path.type != "DirectoryOrCreate":
        return ""
    # one component, so that no link in the directory of a shorter path leads elsewhere
    return f"{STATE}/host/{hashlib.sha256(os.path.normpath(path.path).encode()).hexdigest()}"


def place_of(volume: Volume, folder: str) -> str:
    """Return the directory of a volume that pods write to, below `folder` or shared; "" = another kind of volume."""
    return host_directory(volume) or (f"{folder}/{volume.name}" if volume.empty_dir is not None else "")


def make(pod: Pod, allocatable: int) -> list[str]:
    """Create a pod's emptyDirs, hostPaths and /dev/shm, and return a note for each size that the kernel does not limit.

    Args:
        pod: the pod.
        allocatable: the node's allocatable memory in bytes.
    """
    notes = []
    sizes: dict[str, tuple[int | None, int]] = {shm(pod): (SHM_SIZE, 0o1777)}
    for volume in pod.spec.volumes:
        if place := place_of(volume, directory(pod)):
            os.makedirs(place, exist_ok=True)
            os.chmod(place, 0o777)
            if volume.empty_dir is not None and volume.empty_dir.medium == "Memory":
                sizes[place] = tmpfs_size(pod, volume.empty_dir, allocatable), 0o777
    for place, (size, mode) in sizes.items():
        os.makedirs(place, exist_ok=True)
        if not os.path.ismount(place):
            try:
                mount_tmpfs(place, size, mode)
            except KitError as error:
                notes.append(f"the size of {place} is not limited: {error}")
    return notes


def forget(pod: Pod) -> None:
    """Remove the volumes of a deleted pod."""
    for place in (*(f"{directory(pod)}/{volume.name}" for volume in pod.spec.volumes), shm(pod)):
        unmount(place)
    remove(directory(pod))
    remove(shm(pod))


def write(place: str, files: Files, owner: int) -> None:
    """Replace a volume's contents by these files, owned by the pod's user since no pod is root here."""
    os.makedirs(place, exist_ok=True)
    standing = _link(f"{place}/{DATA}")
    number = 1 + max(
        (int(name[2:]) for name in os.listdir(place) if name[:2] == ".." and name[2:].isdigit()), default=0
    )
    version = f"..{number}"
    os.mkdir(f"{place}/{version}")
    for path, file in files.items():
        target = f"{place}/{version}/{path}"
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as made:
            made.write(file.data)
        os.chown(target, owner, owner)
        os.chmod(target, file.mode)
    os.symlink(version, f"{place}/{DATA}_tmp")
    # A rename replaces the link atomically: readers see the old files or the new ones, never a mixture (AtomicWriter).
    os.rename(f"{place}/{DATA}_tmp", f"{place}/{DATA}")
    tops = {path.split("/")[0] for path in files}
    for name in os.listdir(place):
        if not name.startswith("..") and name not in tops:
            os.unlink(f"{place}/{name}")
    for name in tops:
        with suppress(FileExistsError):
            os.symlink(f"{DATA}/{name}", f"{place}/{name}")
    if standing:
        remove(f"{place}/{standing}")


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


class SubPaths:
    """The subPaths that a container mounts of directories of pods, held open so that no pod can replace them by links.

    Attributes:
        sources: path to the open directory by (volume, subPath).

    Raises:
        ContainerProblem: a directory cannot be opened.
    """

    def __init__(self, pod: Pod, container: Container, env: Mapping[str, str]) -> None:
        self.sources: dict[tuple[str, str], str] = {}
        self._open: list[int] = []
        kinds = {volume.name: volume for volume in pod.spec.volumes}
        for mount in container.volume_mounts:
            volume, below = kinds.get(mount.name), sub_path(mount, env)
            place = place_of(volume, directory(pod)) if volume is not None else ""
            if not below or not place:
                continue
            try:
                held = open_below(place, below)
            except (OSError, KitError) as error:
                self.close()
                why = (
                    f'failed to create subPath directory for volumeMount "{mount.name}" of container "{container.name}"'
                )
                raise ContainerProblem("CreateContainerConfigError", why) from error
            self._open.append(held)
            self.sources[mount.name, below] = f"/proc/{os.getpid()}/fd/{held}"

    def close(self) -> None:
        """Close the directories after the runtime has mounted them."""
        for descriptor in self._open:
            os.close(descriptor)
        self._open.clear()


def open_below(root: str, below: str) -> int:
    """Open a directory below another one, creating it if necessary; the caller closes it.

    Raises:
        OSError: a component is a link or no directory.
        KitError: the path contains "..".
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    held = os.open(root, flags)
    try:
        for name in below.split("/"):
            if name in ("", "."):
                continue
            if name == "..":
                raise KitError(f"subPath {below!r}: must not contain '..'")
            new = not _is_there(name, held)
            if new:
                os.mkdir(name, dir_fd=held)
            inner = os.open(name, flags, dir_fd=held)
            os.close(held)
            held = inner
            if new:
                # mkdir applies the umask, but pods of any user must be able to write (doSafeMakeDir sets the mode too).
                os.fchmod(held, 0o777)
    except BaseException:
        os.close(held)
        raise
    return held


def _is_there(name: str, held: int) -> bool:
    try:
        os.stat(name, dir_fd=held, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
