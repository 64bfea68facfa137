"""The situation before a question as a picture: the nodes with their pods, and each pod's request, limit and use.

The figures are read from the notebook's own cells and from the lab's files, so that a picture shows what the question
is about. A picture names no result. Notebooks link PNG files, which `written_questions.py` makes from
these drawings: GitHub shows no SVG file that a notebook links (HDFGroup/hdf5-tutorial#39, of 2024).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from course import ROOT, Notebook

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.podresources import pod_limits, pod_requests
from kitlib.api.resource import Quantity
from kitlib.api.serialize import from_dict
from kitlib.charts.svg import TINT, Drawing
from kitlib.kubelet.qos.qos_class import get_pod_qos
from kitlib.lab.definition import LabFolder
from kitlib.lab.manifests import pod

WIDTH, NAMES, MARGIN, BAR, ROW = 760, 150, 24, 24, 52
MIB = 2**20


@dataclass(frozen=True)
class Picture:
    """A drawing and its text.

    Attributes:
        sentence: description of the drawing, for readers who do not see it.
        svg: the drawing.
    """

    sentence: str
    svg: str


@dataclass(frozen=True)
class Shown:
    """A node or a pod, with amounts in CPUs or MiB.

    Attributes:
        name: its name.
        about: text below the name.
        facts: text below the bar.
        uses: (name, amount) of filled parts from left to right.
        requests: (name, amount) of boxes from left to right; the name is written if it fits.
        limit: position of the line of a limit, or of a node's end; None = no line.
        node: whether the row is a node, which has a frame up to its end.
    """

    name: str
    about: str
    facts: str
    uses: Sequence[tuple[str, float]] = ()
    requests: Sequence[tuple[str, float]] = ()
    limit: float | None = None
    node: bool = False

    @property
    def end(self) -> float:
        """The largest amount of the row."""
        return max(sum(amount for _, amount in self.uses), sum(amount for _, amount in self.requests), self.limit or 0)


def drawn(title: str, rows: Sequence[Shown]) -> Picture:
    """Return rows of bars on one scale, the largest amount as wide as the picture."""
    picture = Drawing(WIDTH)
    picture.height = 52 + ROW * len(rows)
    picture.rect(0, 0, WIDTH, picture.height, "ground", stroke="line")
    picture.text(MARGIN, 28, title, size=15, bold=True)
    marks = [("filled: in use", any(r.uses for r in rows)), ("dashed: requested", any(r.requests for r in rows))]
    marks += [("line: a limit, a node's end", any(row.limit for row in rows))]
    legend = ", ".join(words for words, shown in marks if shown)
    picture.text(WIDTH - MARGIN, 28, legend, "soft", anchor="end")
    scale = (WIDTH - NAMES - 2 * MARGIN) / max(row.end for row in rows)
    for number, row in enumerate(rows):
        _draw(picture, row, 46 + number * ROW, scale)
    said = [f"{row.name} ({row.about}): {row.facts}" for row in rows]
    sentence = f"{title} ({legend}). {'; '.join(said)}."
    return Picture(sentence, picture.svg(title, sentence))


def _draw(picture: Drawing, row: Shown, y: float, scale: float) -> None:
    picture.text(MARGIN, y + 11, row.name, size=13, bold=True)
    picture.text(MARGIN, y + 26, row.about, "soft")
    left = float(NAMES)
    if row.node and row.limit:
        picture.rect(left, y, row.limit * scale, BAR, "raised", stroke="line")
    for blocks, filled in ((row.uses, True), (row.requests, False)):
        x = left
        for name, amount in blocks:
            if filled:
                picture.rect(x, y, amount * scale, BAR, "blue", stroke="blue", tint=TINT)
            else:
                picture.rect(x, y, amount * scale, BAR, stroke="ink", weight=1.5, dash="5 3")
            if amount * scale > 7.5 * len(name):
                picture.text(x + 6, y + 16, name)
            x += amount * scale
    if row.limit:
        end = left + row.limit * scale
        picture.limit(end, y - 4, end, y + BAR + 4)
    picture.text(left, y + (39 if row.end else 17), row.facts, "soft")


def memory(name: str, mebibytes: float, what: str, manifests: Sequence[Any]) -> list[Shown]:
    """Return the row of a node's memory and a row for each pod on it."""
    rows = [_memory_of(one) for one in manifests]
    used = [(row.name, row.uses[0][1]) for row in rows if row.uses]
    facts = f"{_mebibytes(mebibytes)} {what}"
    facts += f", {_mebibytes(sum(amount for _, amount in used))} in use" if used else ""
    return [Shown(name, "node", facts, used, limit=mebibytes, node=True), *rows]


def _memory_of(manifest: Any) -> Shown:
    made = _pod(manifest)
    work = re.search(r"memory=(\w+)", "".join(manifest["metadata"].get("annotations", {}).values()))
    uses = Quantity.parse(work[1]).value() / MIB if work else 0.0
    request, limit = (_amount(of(made), "memory", MIB) for of in (pod_requests, pod_limits))
    facts = [f"{'wants' if limit and uses > limit else 'uses'} {_mebibytes(uses)}"] if uses else []
    facts += [f"requests {_mebibytes(request)}" if request else "requests nothing"]
    facts += [f"limit {_mebibytes(limit)}"] if limit else []
    facts += [made.spec.priority_class_name] if made.spec.priority_class_name else []
    used, requested = ([("", amount)] if amount else [] for amount in (min(uses, limit or uses), request))
    return Shown(made.name, get_pod_qos(made), ", ".join(facts), used, requested, limit)


def _pod(manifest: Any) -> Pod:
    made = set_defaults(from_dict(manifest))
    assert isinstance(made, Pod)
    return made


def _amount(amounts: Any, resource: str, unit: float) -> float | None:
    return amounts[resource].milli_value() / 1000 / unit if resource in amounts else None


def _mebibytes(amount: float) -> str:
    return f"{amount / 1024:g} GiB" if amount >= 1024 and amount % 1024 == 0 else f"{amount:g} MiB"


def in_notebook(name: str, *pods: str) -> list[Any]:
    """Return manifests that a notebook's cells make: the calls `pod("NAME", …)`, in the order of `pods`."""
    found: dict[str, Any] = {}
    for source in Notebook(name).code:
        for call in ast.walk(ast.parse(source)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "pod":
                values = [ast.literal_eval(one) for one in call.args if isinstance(one, ast.Constant)]
                if values and values[0] in pods:
                    found[values[0]] = pod(*values, **{str(k.arg): ast.literal_eval(k.value) for k in call.keywords})
    return [found[one] for one in pods]


def _four_pods() -> Picture:
    pods = in_notebook("05-who-dies-first", "free", "thrifty", "honest", "safe")
    return drawn("Before honest grows", memory("node-1", 1024, "for pods", pods))


def _whole_machine() -> Picture:
    asking = pod("container", memory="1Gi")
    return drawn("A request of all memory", memory("machine", 1024, "of memory", [asking]))


def _careless() -> Picture:
    pods = in_notebook("05-who-dies-first", "besteffort", "careless")
    return drawn("careless and the BestEffort pod", memory("node-1", 1024, "for pods", pods))


def _critical() -> Picture:
    return drawn("A critical pod", memory("node-1", 1024, "for pods", in_notebook("05-who-dies-first", "net")))


def lab(name: str) -> tuple[LabFolder, list[Any]]:
    """Return a lab's first variant and its manifests."""
    folder = LabFolder.read(ROOT / "labs" / name)
    return folder, list(yaml.safe_load_all(folder.setup()))


def _throttled() -> Picture:
    folder, manifests = lab("02-throttled-on-an-idle-node")
    [node] = folder.definition.cluster["nodes"]
    rows = [Shown(node["name"], "node", f"{node['cpus']} CPUs, no other pods", limit=node["cpus"], node=True)]
    for made in map(_pod, manifests):
        request, limit = (_amount(of(made), "cpu", 1) for of in (pod_requests, pod_limits))
        assert request and limit
        facts = f"requests {request:g} CPU, limit {limit:g} CPU, always has work"
        rows.append(Shown(made.name, get_pod_qos(made), facts, requests=[("", request)], limit=limit))
    return drawn("One pod on an idle node", rows)


def _pending() -> Picture:
    folder, manifests = lab("09-pending-three-reasons")
    pods, rows = [_pod(one) for one in manifests], []
    for node in folder.definition.cluster["nodes"]:
        here = [one for one in pods if one.spec.node_name == node["name"]]
        blocks = [(one.name, _amount(pod_requests(one), "cpu", 1) or 0.0) for one in here]
        facts = [f"{node['cpus']} CPUs", *(f"{name} requests {amount:g}" for name, amount in blocks)]
        facts += [f"taint {taint}" for taint in node.get("taints", ())]
        about, said = f"disk={node['labels']['disk']}", ", ".join(facts)
        rows.append(Shown(node["name"], about, said, requests=blocks, limit=node["cpus"], node=True))
    for one in pods:
        if not one.spec.node_name:
            wants = _amount(pod_requests(one), "cpu", 1)
            selects = ", ".join(f"{key}={value}" for key, value in one.spec.node_selector.items())
            rows.append(Shown(one.name, "pending", f"requests {wants:g} CPUs, selects nodes with {selects}"))
    return drawn("Four nodes, and a pod that waits", rows)


SITUATIONS: dict[tuple[str, str], Callable[[], Picture]] = {
    ("05-who-dies-first", "first"): _four_pods,
    ("05-who-dies-first", "bounds"): _whole_machine,
    ("05-who-dies-first", "scope"): _careless,
    ("05-who-dies-first", "critical"): _critical,
    ("02-throttled-on-an-idle-node", "periods"): _throttled,
    ("09-pending-three-reasons", "nodes"): _pending,
}
"""Notebook or lab, and question -> the picture above it; `adj` of notebook 05 is asked about the first one's."""
