"""The required contents of a node's root file system, checked before it replaces a base that works.

Without a network nothing can be added to it; with one, `apt-get`, if the root contains it, installs Debian's packages.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterable
from pathlib import Path

PROGRAMS = {"sh": "dash", "python3": "python3", "crun": "crun", "stress-ng": "stress-ng", "ps": "procps"}
"""Debian package of each program that a node needs."""
SYSTEMD_PROGRAMS = {"systemd": "systemd", "dbus-daemon": "dbus"}
"""The same for a node with systemd as process 1."""
_FOLDERS = ("bin", "sbin", "usr/bin", "usr/sbin", "usr/local/bin", "lib/systemd", "usr/lib/systemd")


def missing_packages(root: Path, *, systemd: bool = False) -> list[str]:
    """Return the packages that a root file system lacks, in the order of `PROGRAMS`.

    Args:
        root: a tar archive or a directory.
        systemd: whether the node is to have systemd.

    Raises:
        OSError, tarfile.TarError: the file cannot be read, or is not an archive.
    """
    wanted = {**PROGRAMS, **(SYSTEMD_PROGRAMS if systemd else {})}
    there = _programs(root)
    return [package for program, package in wanted.items() if program not in there]


def can_install(root: Path) -> bool:
    """Return whether packages can be added over a network: the root has a shell and apt-get."""
    return {"sh", "apt-get"} <= _programs(root)


def offline(packages: Iterable[str]) -> str:
    """Return the command that makes a root file system with these packages."""
    return f"debootstrap --variant=minbase --include={','.join(packages)} bookworm ROOT"


def _programs(root: Path) -> set[str]:
    """Return the names of the files in the folders of programs; a link counts, wherever it points."""
    if root.is_dir():
        found: set[str] = set()
        for folder in _FOLDERS:
            if (root / folder).is_dir():
                found |= set(os.listdir(root / folder))
        return found
    with tarfile.open(root) as archive:
        names = (info.name.removeprefix("./").rpartition("/") for info in archive if not info.isdir())
        return {name for folder, _, name in names if folder in _FOLDERS}
