"""The nodes of a what-if before and after, as a static picture: remaining, leaving and coming pods, free room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kitlib.charts.svg import TINT, Drawing, fitted
from kitlib.views.tokens import SMALL

if TYPE_CHECKING:
    from kitlib.advisor.what_if_answer import NodeUse, WhatIf

WIDTH, NAME, BAR, GAP, HEAD = 760, 170, 14, 22, 74
NODE_LIMIT = 24
"""Maximum number of nodes, those with the largest change first."""


def nodes_before_and_after(found: WhatIf, hide: Callable[[str], str] = str) -> str:
    """Return an SVG document with two bars of requests per node, before and after, relative to allocatable.

    Args:
        found: the what-if's answer.
        hide: function that replaces names.
    """
    kind = _scarcer(found.nodes)
    ranked = sorted(found.nodes, key=lambda node_use: (-_changed(node_use, kind), node_use.name))[:NODE_LIMIT]
    drawing = Drawing(WIDTH)
    drawing.height = HEAD + max(1, len(ranked)) * (2 * BAR + GAP)
    drawing.text(8, 20, fitted(hide(", then ".join(found.questions)), WIDTH - 16), size=14, bold=True)
    unit = "CPU" if kind == "cpu" else kind
    drawing.text(
        8, 38, f"requests of {unit} by node; upper bar before, lower bar after; the line is allocatable", "soft"
    )
    _legend(drawing)
    if not ranked:
        drawing.text(8, HEAD + BAR, "No pod changes its node.")
    scale = (WIDTH - NAME - 70) / max((_top(node_use, kind) for node_use in ranked), default=1)
    for number, one in enumerate(sorted(ranked, key=lambda node_use: node_use.name)):
        _node(drawing, one, kind, HEAD + number * (2 * BAR + GAP), scale, hide)
    left = len(found.nodes) - len(ranked)
    more = f" {left} more nodes change." if left else ""
    return drawing.svg("Nodes before and after", hide(found.sentence) + more)


def _legend(drawing: Drawing) -> None:
    x = 8.0
    for words, colour, shape in (("stays", "grey", ""), ("leaves", "red", "leaves"), ("comes", "green", "")):
        if shape:
            drawing.hatch(x, 48, BAR, 10, colour, shape)
        else:
            drawing.rect(x, 48, BAR, 10, colour, stroke=colour, tint=TINT)
        drawing.text(x + BAR + 4, 57, words)
        x += 80


def _node(drawing: Drawing, node_use: NodeUse, kind: str, y: float, scale: float, hide: Callable[[str], str]) -> None:
    drawing.text(8, y + BAR + 4, fitted(hide(node_use.name), NAME - 16))
    for row, (own, other, colour, shape) in enumerate(
        ((node_use.before, node_use.after, "red", "leaves"), (node_use.after, node_use.before, "green", ""))
    ):
        x, top = float(NAME), y + row * (BAR + 2)
        for pod, amounts in sorted(own.items(), key=lambda item: (item[0] not in other, item[0])):
            width = amounts[kind] * scale
            words = f"{hide(pod)}: {_shown(amounts[kind], kind)}"
            if pod in other:
                drawing.rect(x, top, width, BAR, "grey", stroke="line", tint=TINT, words=words)
            elif shape:
                drawing.hatch(x, top, width, BAR, colour, shape, words)
            else:
                drawing.rect(x, top, width, BAR, colour, stroke=colour, tint=TINT, words=words)
            x += width
        drawing.text(
            x + 6, top + BAR - 2, _shown(sum(a[kind] for a in own.values()), kind), "soft", size=SMALL, halo=True
        )
    line = NAME + node_use.allocatable[kind] * scale
    drawing.limit(line, y - 3, line, y + 2 * BAR + 5)


def _scarcer(nodes: tuple[NodeUse, ...]) -> str:
    """Return the resource with the larger requested fraction: `cpu` or `memory`."""

    def part(kind: str) -> float:
        room = sum(node.allocatable[kind] for node in nodes)
        return sum(_sum(node.after, kind) for node in nodes) / room if room else 0.0

    return max(("cpu", "memory"), key=part)


def _top(node_use: NodeUse, kind: str) -> int:
    return max(node_use.allocatable[kind], _sum(node_use.before, kind), _sum(node_use.after, kind), 1)


def _changed(node_use: NodeUse, kind: str) -> int:
    return sum(
        own[pod][kind] + 1
        for own in (node_use.before, node_use.after)
        for pod in node_use.before.keys() ^ node_use.after
        if pod in own
    )


def _sum(pods: Mapping[str, Mapping[str, int]], kind: str) -> int:
    return sum(pod[kind] for pod in pods.values())


def _shown(amount: int, kind: str) -> str:
    return f"{amount / 1000:g} CPU" if kind == "cpu" else f"{amount / 2**30:.3g} GiB"
