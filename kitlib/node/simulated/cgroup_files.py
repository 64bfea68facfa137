"""The interface of the cgroup file system for rules that compare several files."""

from __future__ import annotations

from typing import Protocol

from kitlib.kubelet.cm.cgroup_tree import Version
from kitlib.kubelet.config.machine import MachineInfo


class CgroupFiles(Protocol):
    """The cgroups of one machine and their files."""

    version: Version
    machine: MachineInfo
    available: tuple[str, ...]

    def children(self, path: str) -> list[str]: ...

    def has(self, path: str, file: str) -> bool: ...

    def read(self, path: str, file: str) -> str: ...

    def setting(self, path: str, file: str) -> str: ...

    def statistics(self, path: str, name: str) -> str | None: ...

    def set_weight(self, path: str, weight: str) -> str: ...

    def begin_anew(self, path: str, controller: str) -> None: ...

    def controllers(self, path: str) -> list[str]: ...

    def procs(self, path: str) -> set[int]: ...

    def effective_cpus(self, path: str) -> frozenset[int]: ...
