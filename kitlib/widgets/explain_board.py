"""Explains why a pod of the user's own cluster waits, and what would help.

The cluster's objects are pasted or loaded as kubectl printed them, or read from the cluster.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as ipw

from kitlib.advisor.dump import COMMAND, Dump
from kitlib.advisor.explanation import HOLDS, Explanation, explain_pod
from kitlib.advisor.explanation_text import headline
from kitlib.advisor.redact import Redactor
from kitlib.advisor.remedies import remedies
from kitlib.api.errors import KitError
from kitlib.api.release import RELEASES, Release
from kitlib.api.serialize import to_yaml
from kitlib.charts.base import Chart
from kitlib.charts.scheduler_board import filter_board
from kitlib.examples.stories import story
from kitlib.scheduler.decision import Decision
from kitlib.views.board import HELP, Cell, decision_board
from kitlib.views.decision import shown_nodes
from kitlib.widgets._parts.base import KitWidget, labelled
from kitlib.widgets._parts.grid import Grid


class ExplainBoard(KitWidget):
    """A pod of a dump, the stage that blocks it, the board of its cycle, and the smallest changes that help.

    Args:
        source: the output of kubectl: a Dump, a path, or the text; None = to be pasted or loaded.
        pod: `name` or `namespace/name`; "" = the first waiting pod.
        release: release of the scheduler.
    """

    title = "Explain board"
    try_this = "press Load an example, or paste what kubectl printed of your own cluster."

    unshared = ("source", "what kubectl printed", "Load a file", "or context of your kubeconfig", "Ask the cluster")

    def __init__(
        self, source: Dump | Path | str | None = None, pod: str = "", *, release: Release | str | None = None
    ) -> None:
        self._dump: Dump | None = None
        self._by_release: dict[str, Dump] = {}
        self._decision: Decision | None = None
        self._setting = False
        followed = Release(release).name if release is not None else Release.latest().name
        self.text = ipw.Textarea(placeholder=f"the output of: {COMMAND}", layout={"width": "98%", "height": "7em"})
        self.text.add_class("kitlib-mono")
        labelled(self.text, "", "what kubectl printed")
        self.example = self.button("Load an example", self._load_example, "a pod that waits, of the kit's own", "book")
        self.file = ipw.FileUpload(accept=".yaml,.yml,.json", multiple=False, description="Load a file")
        self.read = self.button("Read the text", self._read_text, "read what was pasted", "check")
        self.context = labelled(
            ipw.Text("", placeholder="the current one", layout={"width": "24em"}), "or context of your kubeconfig"
        )
        self.ask = self.button("Ask the cluster", self._ask, "lists its objects with your own rights", "cloud-download")
        self.pod = labelled(ipw.Dropdown(options=[], layout={"width": "30em"}), "pod")
        self.release = labelled(ipw.Dropdown(options=RELEASES, value=followed, layout={"width": "11em"}), "release")
        self.redact = labelled(ipw.Checkbox(False, indent=False, layout={"width": "10em"}), "hide names")
        self.helps = self.button("What would help?", self._find_remedies, "the smallest changes", "magic")
        self.count = self.button("How many more fit?", self._count, icon="calculator")
        self.grid = Grid("Nodes and plugins", help=HELP)
        self._answer = ipw.HTML()
        self._stages = ipw.HTML()
        reading = ipw.HBox([self.read, self.file, self.example])
        reading.add_class("kitlib-row")
        self._input = ipw.Accordion(
            children=[
                ipw.VBox([self.text, reading, ipw.HBox([self.context, self.ask])]),
            ],
            titles=("What kubectl printed",),
            selected_index=0 if source is None else None,
        )
        choice = ipw.HBox([self.pod, self.release, self.redact])
        buttons = ipw.HBox([self.helps, self.count])
        for row in (choice, buttons):
            row.add_class("kitlib-row")
        super().__init__([self._input, choice], picture=ipw.VBox([self._stages, self.grid, buttons, self._answer]))
        self.file.observe(lambda change: self.act(lambda: self._read_file(change["new"])), "value")
        for control in (self.pod, self.release, self.redact):
            control.observe(self._chosen, "value")
        if source is None:
            self.refresh()
        else:
            self.act(lambda: self._take(source if isinstance(source, Dump) else Dump.read(source), pod))

    # ---- what the learner does

    def _read_text(self) -> None:
        if not self.text.value.strip():
            raise ValueError(f"paste what this prints: {COMMAND}")
        self._take(Dump.read(self.text.value))

    def _load_example(self) -> None:
        """Load a story of the kit as kubectl would print it."""
        told = story("affinity-side-effect")
        self.text.value = to_yaml([*told.nodes, *told.pods])
        self._read_text()

    def _read_file(self, files: Any) -> None:
        for file in files:
            self._take(Dump.read(bytes(file["content"])))

    def _ask(self) -> None:
        from kitlib.advisor.live_cluster import read_cluster

        dump = read_cluster(context=self.context.value.strip())
        self._take(dump)
        self._setting = True
        try:
            self.release.value = dump.release.name  # the cluster's own release
        finally:
            self._setting = False

    def _take(self, dump: Dump, pod: str = "") -> None:
        if not dump.pods:
            raise KitError("there is no Pod in it")
        first = dump.pod(pod) if pod else (dump.pending or dump.pods)[0]
        listed = [*dump.pending, *([] if first in dump.pending else [first])]
        self._dump, self._by_release, self._redactor = dump, {}, Redactor(dump.objects)
        self._setting = True
        try:
            self.pod.options = [one.key for one in listed]
            self.pod.value = first.key
        finally:
            self._setting = False
        self._answer.value = ""

    def _chosen(self, _change: Any) -> None:
        if not self._setting:
            self._answer.value = ""
            self.refresh()

    @property
    def dump(self) -> Dump:
        """The loaded dump.

        Raises:
            KitError: nothing is loaded yet.
        """
        if self._dump is None:
            raise KitError("no objects have been read yet: paste or load the output of kubectl")
        found = self._by_release.get(self.release.value)
        if found is None:  # a dump caches values of its pods
            found = self._by_release[self.release.value] = replace(self._dump, release=Release(self.release.value))
        return found

    @property
    def decision(self) -> Decision | None:
        """The scheduler's decision about the pod."""
        return self._decision

    def _find_remedies(self) -> None:
        dump, hide = self.dump, self._hide()
        pod = dump.pod(self.pod.value)
        if dump.explain(pod).suggested_host:
            self._tell("It fits as it is: nothing needs to change.")
            return
        found = remedies(dump, pod)
        if not found:
            self._tell("No change of up to three steps was found that lets it in.")
            return
        items = "".join(f"<li>{html.escape(hide(str(remedy)))}</li>" for remedy in found)
        self._answer.value = f'<div role="status"><p>The smallest changes, each tried:</p><ul>{items}</ul></div>'

    def _count(self) -> None:
        dump, hide = self.dump, self._hide()
        placed, stop = dump.how_many(dump.pod(self.pod.value))
        where = ", ".join(f"{hide(node)} {number}" for node, number in sorted(placed.items(), key=lambda x: -x[1]))
        then = f" Then: {hide(stop.message)}" if stop is not None and stop.message else ""
        self._tell(f"{sum(placed.values())} more fit{': ' + where if where else ''}.{then}")

    def _tell(self, text: str) -> None:
        self._answer.value = f'<p role="status">{html.escape(text)}</p>'

    def _hide(self) -> Callable[[str], str]:
        return self._redactor.text if self.redact.value else str

    # ---- what the learner sees

    def chart(self) -> Chart:
        shown = "" if self._dump is not None else "none"
        for part in (self._stages, self.grid, self.helps, self.count, self.pod, self.redact):
            part.layout.display = shown
        if self._dump is None:
            self.grid.fill([], [], [])
            return Chart("Filters", f"Paste or load what this prints: {COMMAND}", {"node": []}, _nothing)
        dump, hide = self.dump, self._hide()
        pod = dump.pod(self.pod.value)
        scheduler = dump.scheduler(without=pod)
        found = explain_pod(dump, pod, find_remedies=False, scheduler=scheduler)
        self._stages.value = _table(found, hide)
        decision = self._decision = found.decision or dump.explain(pod)
        board = decision_board(decision)
        cells = [[(text, hide(words), kind) for text, words, kind in row] for row in with_reasons(board.cells)]
        self.grid.fill([hide(node) for node in board.rows], board.columns, cells)
        self.grid.help = board.help
        rows = decision.filter_rows()
        plugins = list(dict.fromkeys(row["plugin"] for row in rows))
        verdicts = {(hide(r["node"]), r["plugin"]): (r["code"], hide(r["reasons"])) for r in rows}
        chart = filter_board([hide(node) for node in shown_nodes(decision)], plugins, verdicts)
        words = " ".join(_sentences(found, decision))
        words += f" Not looked at: {dump.left_out}." if dump.left_out else ""
        words += f" A release that is not known: {dump.unknown_release_text}." if dump.unknown_release_text else ""
        return replace(chart, sentence=hide(words))

    def paint(self, chart: Chart) -> None:
        """Do nothing: the board is the picture; `figure()` makes a plotly figure on request."""


def with_reasons(cells: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Return cells in which a refusal has its reason, once for each reason of a column; below it the mark is enough."""
    told: set[tuple[int, str]] = set()
    rows = []
    for row in cells:
        rows.append(list(row))
        for column, (text, words, kind) in enumerate(row):
            if kind in ("no", "hard") and (column, words) not in told:
                told.add((column, words))
                reason = words.partition("; preemption would")[0].replace("node(s) ", "")
                rows[-1][column] = (f"{text} {reason}", words, kind)
    return rows


def _sentences(found: Explanation, decision: Decision) -> list[str]:
    """Return the verdict; the event and the reasons are in the table of stages and in the cells, if there are any."""
    lines = [f"{line.strip().rstrip('.')}." for line in decision.explain().splitlines()]
    if found.verdict == HOLDS and found.stage == "filters" and found.held is not None:
        return [f"{found.subject.kind} {found.subject.key} is held at the stage filters.", lines[0]]
    event = [f"The event says: {decision.message}"] if decision.message else []
    return [headline(found), *lines, *event]


def _table(found: Explanation, hide: Callable[[str], str]) -> str:
    """Return the stages between the pod and its start, with the blocking one in bold; "" = no stage has a result."""
    rows = []
    for stage in found.results:
        cells = [stage.stage, stage.state, hide(str(stage)), stage.owner]
        mark = "strong" if stage is found.held else "span"
        rows.append("<tr>" + "".join(f"<td><{mark}>{html.escape(cell)}</{mark}></td>" for cell in cells) + "</tr>")
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("stage", "state", "why", "changed by"))
    return f'<table class="kitlib-stages"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _nothing() -> Any:
    import plotly.graph_objects as go

    return go.Figure()
