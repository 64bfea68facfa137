"""A real node's cgroup files, read and written over the connection to the node."""

from __future__ import annotations

from kitlib.kubelet.cm.cgroup_tree import CgroupTree, Version
from kitlib.kubelet.config.settings import Driver
from kitlib.node.real import protocol
from kitlib.node.real.link import Conversation


class RemoteCgroupFS:
    """A node's cgroup file system, for reading and for writing by hand (`kitlib.kubelet.loop.interfaces.CgroupFS`).

    Attributes:
        version: the cgroup version, 1 or 2.
        files_read: the number of files read so far, one by one or as a tree.
    """

    def __init__(self, link: Conversation, version: Version) -> None:
        self._link, self.version, self.files_read = link, version, 0

    def exists(self, path: str) -> bool:
        """Return whether the cgroup exists."""
        return bool(self._link.ask("exists", path=path))

    def makedirs(self, path: str) -> None:
        """Create a cgroup and its parents."""
        self._link.ask("makedirs", path=path)

    mkdir = makedirs

    def rmdir(self, path: str) -> None:
        """Remove a cgroup."""
        self._link.ask("rmdir", path=path)

    def children(self, path: str) -> list[str]:
        """Return the paths of the cgroup's children."""
        return list(self._link.ask("children", path=path))

    def read(self, path: str, file: str) -> str:
        """Return a file's content without the trailing line break."""
        text = str(self._link.ask("read", path=path, file=file))
        self.files_read += 1
        return text

    def write(self, path: str, file: str, value: str) -> None:
        """Write a file; raises KitError with the kernel's errno if the kernel rejects it."""
        self._link.ask("write", path=path, file=file, value=str(value))

    def tree(self, driver: Driver, like: CgroupTree | None = None) -> CgroupTree:
        """Return the tree of all files that the node's kubelet sets."""
        found = protocol.tree_from_data(self._link.ask("tree"))
        self.files_read += sum(map(len, found.values()))
        return found
