"""A node's cgroup tree, desired beside observed; changes flash, and any file can be written directly.

It reads the files on request, or continuously while "live" is on. Writing a file shows how the kernel interprets the
value, and when the kubelet overwrites it.
"""

from __future__ import annotations

from typing import Any

import ipywidgets as ipw

from kitlib.api.errors import KitError
from kitlib.charts.base import Chart
from kitlib.charts.cgroup_matrix import cgroup_matrix
from kitlib.cluster.nodes.metrics import name_of
from kitlib.cluster.nodes.origin import Origin, origin_of
from kitlib.kubelet.cm.cgroup_tree import CgroupTree
from kitlib.views.cgroup_row import short_id
from kitlib.views.cgroup_tree import CgroupRow, TreeView
from kitlib.widgets._parts.base import Field, KitWidget, Ticker, labelled
from kitlib.widgets._parts.nodes import Passing, node_of
from kitlib.widgets._parts.tree_picture import TreePicture

EVERYTHING = "everything"


class CgroupTreeExplorer(KitWidget):
    """The tree of a node.

    Args:
        source: a node of a cluster, a cluster, or a tree (without a comparison).
        node: the node's name; "" = the cluster's only or first node.
        controller: "cpu", "memory", "pids" or "" for all files.
        observed: whether to read the node's files too.
    """

    title = "Cgroup tree"
    try_this = "write another cpu.weight, then let time pass: does the kubelet put it back?"
    _beat: Ticker

    def __init__(self, source: Any, node: str = "", *, controller: str = "", observed: bool = True) -> None:
        self._tree = source if isinstance(source, CgroupTree) else None
        self._node = None if self._tree is not None else node_of(source, node)
        self._observed = observed and self._tree is None
        files = ["cpu", "memory", "pids", "hugetlb", "cpuset"]
        self.controller = labelled(
            ipw.Dropdown(options=[(EVERYTHING, ""), *[(f, f) for f in files]], value=controller), "files"
        )
        self.pod = labelled(ipw.Dropdown(options=[(EVERYTHING, "")], value=""), "pod")
        self.written = labelled(ipw.Checkbox(value=False, indent=False), "only files that are set")
        self.different = labelled(ipw.Checkbox(value=False, indent=False), "only what differs")
        for control in (self.controller, self.pod):
            control.layout.width = "18em"
        for control in (self.controller, self.pod, self.written, self.different):
            control.observe(self.refresh, "value")
        first = ipw.HBox([self.controller, self.pod, self.written, self.different])
        first.add_class("kitlib-row")
        controls: list[ipw.Widget] = [first]
        if self._node is not None:
            controls += self._live_controls(source)
        self._rows: list[CgroupRow] = []
        super().__init__(controls, picture=TreePicture())
        if self._node is not None:
            self._beat = self.ticker(self._tick, 0.5)
        self.refresh()

    def _live_controls(self, source: Any) -> list[ipw.Widget]:
        self._passing = Passing(source)
        self.again = self.button("Read again", lambda: None, "read the files of the node now", "refresh")
        self.live = labelled(ipw.ToggleButton(value=False, icon="play"), "Live", "read the files twice a second")
        self.live.observe(lambda _: self.let_run(self._beat, self.live), "value")
        self.cgroup = labelled(ipw.Dropdown(options=[]), "cgroup")
        self.cgroup.observe(self._list_files, "value")
        self.file = labelled(ipw.Dropdown(options=[]), "file")
        self.value = Field(ipw.Text(layout={"width": "14em"}), "value", "what is written into the file")
        self.write = self.button("Write", self._write, "write the value into the file, as root on the node", "pencil")
        reading, writing = ipw.HBox([self.again, self.live]), ipw.HBox([self.cgroup, self.file, self.value, self.write])
        writing.add_class("kitlib-row")
        return [reading, writing]

    # ---- what the learner does

    def _tick(self) -> None:
        self._passing.on(0.5)
        self.refresh()

    def _write(self) -> None:
        assert self._node is not None
        self.value.say("")
        try:
            self._node.write(self.cgroup.value, self.file.value, self.value.value.strip())
        except (KitError, OSError) as error:
            self.value.say(str(error))

    def _list_files(self, _change: Any = None) -> None:
        tree = self._node.desired() if self._node is not None else {}
        there = tree.get(self.cgroup.value)
        names = list(there) if there is not None else []
        if list(self.file.options) != names:
            kept = self.file.value
            self.file.options = names
            self.file.value = kept if kept in names else (names[0] if names else None)

    # ---- what is shown

    def origin(self) -> Origin:
        return Origin("computed", self._tree.version) if self._tree is not None else origin_of(self._node)

    def chart(self) -> Chart:
        desired = self._tree if self._tree is not None else self._node.desired()  # type: ignore[union-attr]
        observed = self._node.tree() if self._observed and self._node is not None else None
        self._offer(desired)
        if self.pod.value:
            desired = _of_pod(desired, self.pod.value)
            observed = _like(observed, desired) if observed is not None else None
        view = TreeView(desired, observed, controller=self.controller.value, unwritten=not self.written.value)
        self._rows = view.rows()
        if self.different.value:
            self._rows = _with_those_above(self._rows)
        labels = {p: short_id(name_of(cgroup) or p.rpartition("/")[2]) or "/" for p, cgroup in desired.items()}
        rows = [
            {
                "cgroup": row.path,
                "label": labels.get(row.path, row.path),
                "file": row.file,
                "desired": row.desired,
                "observed": row.observed,
                "why": row.comment,
            }
            for row in self._rows
            if row.file or row.differs
        ]
        return cgroup_matrix(rows, compared=observed is not None)

    def paint(self, chart: Chart) -> None:
        assert isinstance(self._picture, TreePicture)
        self._picture.bring(self._rows, self._observed)

    def _offer(self, tree: CgroupTree) -> None:
        """Update the lists of pods and cgroups without changing the selection."""
        pods = sorted({cgroup.pod for cgroup in tree.values() if cgroup.pod})
        _choices(self.pod, [(EVERYTHING, ""), *[(pod, pod) for pod in pods]])
        if self._node is not None:
            _choices(self.cgroup, [(name_of(c) or p, p) for p, c in tree.items()])
            self._list_files()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**options)
        desired = self._tree if self._tree is not None else self._node.desired()  # type: ignore[union-attr]
        observed = self._node.tree() if self._observed and self._node is not None else None
        view = TreeView(desired, observed, controller=self.controller.value, unwritten=not self.written.value)
        return {**bundle, "text/html": view._repr_html_()}


def _choices(control: ipw.Dropdown, options: list[tuple[str, str]]) -> None:
    if [tuple(o) for o in control.options] != options:
        kept, values = control.value, [value for _, value in options]
        control.options = options
        control.value = kept if kept in values else values[0] if values else None


def _of_pod(tree: CgroupTree, pod: str) -> CgroupTree:
    """Return the cgroups of a pod and their ancestors."""
    mine = [path for path, cgroup in tree.items() if cgroup.pod == pod]
    kept = [
        c for path, c in tree.items() if path in mine or any(own.startswith(path.rstrip("/") + "/") for own in mine)
    ]
    return CgroupTree(tree.version, tree.driver, kept)


def _like(tree: CgroupTree, other: CgroupTree) -> CgroupTree:
    return CgroupTree(tree.version, tree.driver, (c for path, c in tree.items() if path in other))


def _with_those_above(rows: list[CgroupRow]) -> list[CgroupRow]:
    """Return the lines that differ, and the directories that contain them."""
    wanted = {row.path for row in rows if row.differs}
    return [
        row
        for row in rows
        if row.differs or (not row.file and any(path == row.path or path.startswith(row.path + "/") for path in wanted))
    ]
