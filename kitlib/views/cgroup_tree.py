"""The cgroup tree in a terminal: directories, files and values, each value with its meaning and reason.

With an observed tree, every value that differs from the desired one is marked, and both are shown.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from kitlib.kubelet.cm.cgroup_tree import MOUNT, Cgroup, CgroupTree
from kitlib.views.cgroup_html import tree_html
from kitlib.views.cgroup_row import CgroupRow, short_id
from kitlib.views.units import meaning

COLOURS = {"Guaranteed": "green", "Burstable": "yellow", "BestEffort": "red"}


class TreeView:
    """A view of a cgroup tree for the terminal and the notebook.

    Args:
        tree: the desired tree, or any other.
        observed: the tree read from a node; None = no comparison.
        controller: only the files of this controller, `cpu` or `memory`; "" = all.
        reasons: whether each value is followed by its formula, or only by its meaning.
        unwritten: whether files with kernel defaults are shown too.
        title: the heading; "" = the mount point.
    """

    def __init__(
        self,
        tree: CgroupTree,
        observed: CgroupTree | None = None,
        *,
        controller: str = "",
        reasons: bool = True,
        unwritten: bool = True,
        title: str = "",
    ) -> None:
        self.controller, self.reasons, self.unwritten = controller, reasons, unwritten
        self.tree = tree.only(controller) if controller else tree
        self.observed = observed.only(controller) if controller and observed is not None else observed
        hierarchy = f"/{controller}" if tree.version == 1 and controller else ""
        self.title = title or f"{MOUNT}{hierarchy}"

    def rows(self) -> list[CgroupRow]:
        """Return all lines in display order; the root's own files come first."""
        return list(self._below("/", 0, ()))

    @property
    def differences(self) -> int:
        """The number of lines that differ; 0 without an observed tree."""
        return sum(row.differs for row in self.rows()) if self.observed is not None else 0

    def _below(self, path: str, depth: int, last: tuple[bool, ...]) -> Iterator[CgroupRow]:
        cgroup = self.tree.get(path)
        twin = self.observed[path] if self.observed is not None and path in self.observed else None
        files = self._files(cgroup, twin)
        children = self._children(path)
        lines = len(files) + len(children)
        for i, name in enumerate(files):
            yield self._file(path, name, cgroup, twin, depth, (*last, i + 1 == lines))
        for i, child in enumerate(children, start=len(files)):
            branch = (*last, i + 1 == lines)
            yield self._directory(child, depth, branch)
            yield from self._below(child, depth + 1, branch)

    def _children(self, path: str) -> list[str]:
        found = [c.path for c in self.tree.children(path)]
        if self.observed is not None:
            found += [c.path for c in self.observed.children(path) if c.path not in found]
        return found

    def _files(self, cgroup: Cgroup | None, twin: Cgroup | None) -> list[str]:
        mine = cgroup.files if cgroup is not None else {}
        names = [name for name, file in mine.items() if self.unwritten or file.written]
        if cgroup is None and twin is not None:
            names = list(twin.files)
        return names

    def _directory(self, path: str, depth: int, last: tuple[bool, ...]) -> CgroupRow:
        desired = self.tree.get(path)
        there = self.observed is None or path in self.observed
        comment = desired.title if desired is not None else ""
        qos = desired.qos if desired is not None else ""
        seen, wanted = "" if there else None, "" if desired else None
        return CgroupRow(depth, last, path, "", wanted, seen, comment, qos, label=_label(desired) if desired else "")

    def _file(
        self, path: str, name: str, cgroup: Cgroup | None, twin: Cgroup | None, depth: int, last: tuple[bool, ...]
    ) -> CgroupRow:
        own = cgroup.get(name) if cgroup is not None else None
        seen = twin.get(name) if twin is not None else None
        desired = own.shown if own is not None else None
        observed = desired if self.observed is None else (seen.shown if seen is not None else None)
        owner = cgroup if own is not None and cgroup is not None else twin
        comment = self._comment(owner, name) if owner is not None else ""
        if twin is not None and name in twin.refused:
            comment = f"refused by the host: {twin.refused[name]}; {comment}".rstrip("; ")
        qos = cgroup.qos if cgroup is not None else ""
        formula = str(own.formula or "") if own is not None and self.reasons else ""
        return CgroupRow(depth, last, path, name, desired, observed, comment, qos, own is None or own.written, formula)

    def _comment(self, cgroup: Cgroup, name: str) -> str:
        words = meaning(cgroup, name)
        if not cgroup[name].written:
            return f"{words}; kernel default" if words else "kernel default"
        reason = cgroup[name].reason if self.reasons else ""
        if words and reason and words not in reason:
            return f"{words}: {reason}"
        return reason or words

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self.title, style="bold")
        room = max(options.max_width, 40)
        for row in self.rows():
            yield from _line(row, room)

    def __str__(self) -> str:
        return plain(self)

    def __repr__(self) -> str:
        return f"TreeView({self.tree!r})"

    def _repr_html_(self) -> str:
        return tree_html(self.title, self.rows(), compared=self.observed is not None)


def _label(cgroup: Cgroup) -> str:
    """Return a readable name of a cgroup: the name of its pod or container instead of a UID."""
    if cgroup.kind == "pod":
        return cgroup.pod.removeprefix("default/")
    if cgroup.kind == "container":
        return cgroup.container
    return "pause" if cgroup.kind == "sandbox" else ""


def tree_view(tree: CgroupTree, observed: CgroupTree | None = None, **settings: Any) -> TreeView:
    """Return a view of a cgroup tree; arguments as for `TreeView`."""
    return TreeView(tree, observed, **settings)


def plain(view: TreeView) -> str:
    """Return the tree as text without colours and without wrapping."""
    lines = [view.title]
    for row in view.rows():
        text = f"{_branches(row.last)}{row.name}"
        if row.file:
            text += f"  {row.value}"
        if row.differs:
            text += "  ≠"
        lines.append(text + (f"  // {row.comment}" if row.comment else ""))
    return "\n".join(lines)


def _branches(last: tuple[bool, ...]) -> str:
    return "".join("    " if end else "│   " for end in last[:-1]) + ("└── " if last[-1] else "├── ")


def _line(row: CgroupRow, room: int) -> Iterator[Text]:
    """Yield a line; a long comment is wrapped with indentation, so that the tree's branches stay intact."""
    branches = _branches(row.last)
    line = Text(branches, style="dim", no_wrap=True, overflow="ellipsis")
    style = COLOURS.get(row.qos, "cyan")
    if row.file:
        line.append(row.name, style="default")
        line.append(f"  {row.value}", style="bold red" if row.differs else "bold" if row.written else "dim")
        if row.differs:
            line.append("  ≠", style="bold red")
    else:
        fits = line.cell_len + len(row.name) + len(row.comment) + 5 <= room
        line.append(row.name if fits else short_id(row.name), style=style)
    if not row.comment:
        yield line
        return
    below = "".join("    " if end else "│   " for end in row.last) + "    "
    width = room - line.cell_len - 5
    if width < len(row.comment) and width < 30:
        yield line
        width = max(room - len(below) - 3, 20)
        line = Text(below, style="dim", no_wrap=True)
    else:
        line.append("  ")
    for i, part in enumerate(_wrapped(row.comment, width)):
        if i:
            line = Text(below, style="dim", no_wrap=True)
        line.append(("// " if not i else "   ") + part, style="italic dim")
        yield line


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 20)) or [""]
