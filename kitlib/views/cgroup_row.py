"""A line of the cgroup tree in the terminal and the notebook."""

from __future__ import annotations

import re
from typing import NamedTuple

MISSING = "missing"


class CgroupRow(NamedTuple):
    """A line of the tree.

    Attributes:
        depth: level below the root; the root has 0.
        last: for each level, whether the ancestor there is the last of its siblings.
        path: path of the cgroup.
        file: the file's name; "" for the cgroup itself.
        desired: desired value; None = not in the desired tree.
        observed: observed value; None = missing. Without an observed tree it equals `desired`.
        comment: meaning and formula, or the cgroup's title.
        qos: QoS class of the line.
        written: whether the kit writes the file; False = the file has the kernel's default.
        formula: the arithmetic at the end of `comment`; "" = none.
        label: readable name of the cgroup, such as a pod's name; "" = only the path names it.
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
        """The desired value; if the observed value differs, both."""
        if not self.differs:
            return self.desired or ""
        return f"{MISSING if self.observed is None else self.observed} (desired {self.desired or 'no such file'})"


def short_id(name: str) -> str:
    """Return a container's ID shortened to twelve digits, as engines do."""
    return re.sub(r"([0-9a-f]{12})[0-9a-f]{52}", r"\1…", name)
