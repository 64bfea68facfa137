"""One line of the cgroup tree, as the terminal and the notebook show it."""

from __future__ import annotations

import re
from typing import NamedTuple

MISSING = "missing"


class CgroupRow(NamedTuple):
    """One line of the tree.

    Attributes:
        depth: how far below the root.
        last: for each level, whether it is the last of its siblings.
        path: of the cgroup.
        file: the file's name; "" for the cgroup itself.
        desired: what the kernel shall show; None = not in the desired tree.
        observed: what it shows; None = not there. Equal to `desired` where nothing was observed.
        comment: meaning and formula, or the cgroup's title.
        qos: the QoS class that the line belongs to.
        written: False where the file has the kernel's default.
        formula: the arithmetic at the end of `comment`, "" where there is none.
        label: what a reader calls the cgroup, such as a pod's name; "" where only its path names it.
    """

    depth: int
    last: tuple[bool, ...]
    path: str
    file: str
    desired: str | None
    observed: str | None
    comment: str
    qos: str = ""
    written: bool = True
    formula: str = ""
    label: str = ""

    @property
    def differs(self) -> bool:
        return self.desired != self.observed

    @property
    def name(self) -> str:
        return self.file or self.path.rpartition("/")[2]

    @property
    def value(self) -> str:
        """The value; where the two differ, both."""
        if not self.differs:
            return self.desired or ""
        return f"{MISSING if self.observed is None else self.observed} (desired {self.desired or 'no such file'})"


def short_id(name: str) -> str:
    """A container's id as engines abbreviate it: its first twelve digits."""
    return re.sub(r"([0-9a-f]{12})[0-9a-f]{52}", r"\1…", name)
