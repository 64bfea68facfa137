"""A view of a scheduling Decision: nodes × plugins, each cell a verdict with its reason or a weighted score.

Marks are signs and words, not colours alone. For large clusters only the most relevant nodes are shown: the feasible
ones and some of each reason.
"""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from kitlib.scheduler.decision import Decision
from kitlib.views.tokens import paint

MOST_NODES = 60
STYLE = f"""
.kit-decision{{border-collapse:collapse;margin:.4em 0;font-size:.92em}}
.kit-decision caption{{text-align:left;font-weight:600;padding-bottom:.2em}}
.kit-decision th,.kit-decision td{{text-align:left;padding:.1em .8em .1em 0;vertical-align:top;
border-bottom:1px solid {paint("line")}}}
.kit-decision tr.chosen :is(td,th){{font-weight:600;
background:color-mix(in srgb,{paint("green")} 22%,transparent)}}
.kit-decision td.no{{background:color-mix(in srgb,{paint("series-1")} 18%,transparent)}}
"""


class Cell(NamedTuple):
    """A plugin's result for a node: whether it passed, and the reason or score."""

    passed: bool
    text: str


def matrix(decision: Decision) -> tuple[list[str], dict[str, dict[str, Cell]]]:
    """Return the plugins in order, and node -> plugin -> cell; a plugin that was not run for a node has no cell."""
    rows: dict[str, dict[str, Cell]] = {node: {} for node in decision.nodes}
    plugins: list[str] = []
    for row in decision.filter_rows():
        plugin = row["plugin"]
        if plugin not in plugins:
            plugins.append(plugin)
        rows[row["node"]][plugin] = Cell(not row["reasons"], row["reasons"])
    return plugins, rows


def scores(decision: Decision) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Return the Score plugins in order, and node -> plugin -> `normalized×weight`; "total" comes last."""
    if decision.scores is None:
        return [], {}
    plugins = list(decision.scores.normalized)
    found: dict[str, dict[str, str]] = {}
    for place, row in enumerate(decision.scores.rows):
        cells = {p: f"{int(decision.scores.normalized[p][place])}×{decision.scores.weights[p]}" for p in plugins}
        found[decision.nodes[row]] = {**cells, "total": str(int(decision.scores.total[place]))}
    return [*plugins, "total"], found


def shown_nodes(decision: Decision, most: int = MOST_NODES) -> list[str]:
    """Return the nodes to show: all, or the best and some for each reason."""
    if len(decision.nodes) <= most:
        return list(decision.nodes)
    seen: dict[tuple[str, ...], int] = {}
    best = ([decision.suggested_host] if decision.suggested_host else []) + [
        n for n in decision.best if n != decision.suggested_host
    ]
    picked = best[: most // 2]
    for node in decision.nodes:
        reasons = tuple(decision.reasons_of(node))
        seen[reasons] = seen.get(reasons, 0) + 1
        if seen[reasons] <= 5 and node not in picked and len(picked) < most:
            picked.append(node)
    return picked


def decision_html(decision: Decision) -> str:
    """Return the explanation, the table of verdicts and the table of scores as HTML."""
    nodes = shown_nodes(decision)
    parts = [f"<style>{STYLE}</style><pre>{escape(decision.explain())}</pre>"]
    plugins, rows = matrix(decision)
    if plugins:
        body = "".join(_verdicts(node, plugins, rows[node], decision.suggested_host) for node in nodes)
        parts.append(_table(f"Filter: {len(nodes)} of {len(decision.nodes)} nodes", plugins, body))
    columns, scored = scores(decision)
    if columns:
        ranked = sorted((n for n in nodes if n in scored), key=lambda n: -int(scored[n]["total"]))
        body = "".join(_scored(node, columns, scored[node], decision.suggested_host) for node in ranked)
        parts.append(_table("Score: normalized × weight", columns, body))
    if decision.message:
        parts.append(f"<p>{escape(decision.message)}</p>")
    return "".join(parts)


def _verdicts(node: str, plugins: list[str], cells: dict[str, Cell], chosen: str) -> str:
    shown = ""
    for plugin in plugins:
        cell = cells.get(plugin)
        if cell is None:
            shown += "<td>not run</td>"
        else:
            shown += "<td>✓</td>" if cell.passed else f'<td class="no">✗ {escape(cell.text)}</td>'
    return _row(node, shown, chosen)


def _scored(node: str, columns: list[str], cells: dict[str, str], chosen: str) -> str:
    return _row(node, "".join(f"<td>{escape(cells[column])}</td>" for column in columns), chosen)


def _row(node: str, cells: str, chosen: str) -> str:
    mark = ' class="chosen"' if node == chosen else ""
    star = " (chosen)" if node == chosen else ""
    return f'<tr{mark}><th scope="row">{escape(node)}{star}</th>{cells}</tr>'


def _table(title: str, columns: list[str], body: str) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("node", *columns))
    return (
        f'<table class="kit-decision"><caption>{escape(title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
