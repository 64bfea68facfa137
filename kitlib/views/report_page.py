"""A report about a cluster as one page: HTML without scripts and links, or Markdown.

The page contains its styles, so opening it sends no request. It supports light and dark screens and printing. Names
are escaped.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence

from kitlib.advisor.node_room import NodeRoom
from kitlib.advisor.report import WEIGHTS, ClusterReport
from kitlib.views.tokens import BODY, DARK, LIGHT, SMALL, TITLE

ROW_LIMIT = 60
"""Maximum number of rows of a table on the page; `--json` has all."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_MARKS = {"high": "red", "medium": "orange", "low": "grey"}
Hide = Callable[[str], str]


def as_html(found: ClusterReport, hide: Hide = str) -> str:
    """Return the report as an HTML document.

    Args:
        found: the report.
        hide: function that replaces names.
    """

    def text(words: str) -> str:
        return html.escape(hide(words))

    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width"><title>Cluster report</title>',
            f"<style>{_style()}</style></head><body><main><h1>Cluster report</h1>",
            f"<p>{text(found.summary)} {html.escape(_when(found))}</p>",
            _findings(found, text),
            _bars(found.nodes, text),
            *(
                _section(section.title, section.sentence, section.columns, section.rows, text)
                for section in found.sections
            ),
            _gaps(found, text),
            "</main></body></html>\n",
        )
    )


def as_markdown(found: ClusterReport, hide: Hide = str) -> str:
    """Return the report as Markdown.

    Args:
        found: the report.
        hide: function that replaces names.
    """

    def text(words: str) -> str:
        return _escaped(hide(words))

    lines = ["# Cluster report", "", f"{text(found.summary)} {_when(found)}", ""]
    if found.findings:
        lines += ["## Findings", ""]
        lines += [
            f"* **{finding.weight}**, {finding.rule}: {text(finding.text)}. Way out: {text(finding.remedy)}."
            for finding in found.findings
        ]
        lines.append("")
    for section in found.sections:
        lines += [f"## {section.title}", "", text(section.sentence), ""]
        if section.rows:
            lines += [_row(section.columns), _row(["---"] * len(section.columns))]
            lines += [_row([text(cell) for cell in row]) for row in section.rows[:ROW_LIMIT]]
            lines += ["", *_left_out(len(section.rows))]
    if found.gaps:
        lines += ["## Not taken into account", "", *(f"* {text(str(gap))}" for gap in found.gaps), ""]
    return "\n".join(lines).rstrip() + "\n"


def _when(found: ClusterReport) -> str:
    at = f"Newest time in the dump: {found.at:%Y-%m-%d %H:%M} UTC. " if found.at is not None else ""
    return f"{at}Rules of Kubernetes {found.release}."


def _findings(found: ClusterReport, text: Callable[[str], str]) -> str:
    if not found.findings:
        return "<h2>Findings</h2><p>None.</p>"
    parts = ["<h2>Findings</h2>"]
    for weight in WEIGHTS:
        own = [finding for finding in found.findings if finding.weight == weight]
        if not own:
            continue
        parts.append(f'<h3 class="{weight}">{weight} ({len(own)})</h3><ul>')
        for risk in own[:ROW_LIMIT]:
            parts.append(
                f"<li><strong>{html.escape(risk.rule)}</strong>: {text(risk.text)}. "
                f'<span class="way">Way out: {text(risk.remedy)}.</span></li>'
            )
        parts.append("</ul>" + "".join(f"<p>{line}</p>" for line in _left_out(len(own))))
    return "".join(parts)


def _bars(nodes: Sequence[NodeRoom], text: Callable[[str], str]) -> str:
    """Return requests relative to allocatable as bars, the fullest nodes first."""

    def part(one: NodeRoom, kind: str) -> float:
        return one.requested[kind] / one.allocatable[kind] if one.allocatable[kind] else 0.0

    ranked = sorted(nodes, key=lambda one: -max(part(one, "cpu"), part(one, "memory")))[:20]
    if not ranked:
        return ""
    rows = []
    for node_room in ranked:
        cells = []
        for kind in ("cpu", "memory"):
            share = part(node_room, kind)
            words = f"{share:.0%} of {kind} requested"
            bar = f'<span class="fill" style="width:{min(share, 1) * 100:.1f}%"></span>'
            cells.append(
                f'<td class="share"><span class="bar" role="img" aria-label="{words}">{bar}</span> {share:.0%}</td>'
            )
        rows.append(f'<tr><th scope="row">{text(node_room.name)}</th>{"".join(cells)}</tr>')
    left = f"<p>The {len(ranked)} fullest of {len(nodes)} nodes.</p>" if len(nodes) > len(ranked) else ""
    head = '<tr><th scope="col">node</th><th scope="col">CPU</th><th scope="col">memory</th></tr>'
    return (
        f"<h2>Requests against allocatable</h2>{left}<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _section(
    title: str, sentence: str, columns: Sequence[str], rows: Sequence[Sequence[str]], text: Callable[[str], str]
) -> str:
    parts = [f"<h2>{html.escape(title)}</h2><p>{text(sentence)}</p>"]
    if rows:
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in columns)
        body = "".join(f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in row)}</tr>" for row in rows[:ROW_LIMIT])
        parts.append(f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>')
        parts += [f"<p>{line}</p>" for line in _left_out(len(rows))]
    return "".join(parts)


def _gaps(found: ClusterReport, text: Callable[[str], str]) -> str:
    if not found.gaps:
        return ""
    items = "".join(f"<li>{text(str(gap))}</li>" for gap in found.gaps)
    return f"<h2>Not taken into account</h2><ul>{items}</ul>"


def _left_out(rows: int) -> list[str]:
    return [f"{rows - ROW_LIMIT} more rows are in the output of --json."] if rows > ROW_LIMIT else []


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(words: str) -> str:
    """Return text escaped for Markdown."""
    for mark in "\\`*_[]<>|#":
        words = words.replace(mark, f"\\{mark}")
    return words.replace("\r", " ").replace("\n", " ")


def _style() -> str:
    return "".join(_rules())


def _rules() -> Iterator[str]:
    yield ":root{color-scheme:light dark;" + "".join(f"--kit-{name}:{value};" for name, value in LIGHT.items()) + "}"
    dark = "".join(f"--kit-{name}:{value};" for name, value in DARK.items())
    yield f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    yield (
        f"body{{font:{BODY}px/1.5 system-ui,sans-serif;color:var(--kit-ink);background:var(--kit-ground);margin:0}}"
        "main{max-width:76em;margin:0 auto;padding:16px}h1{font-size:24px}"
        f"h2{{font-size:{TITLE + 2}px;margin:1.6em 0 .4em}}h3{{font-size:{TITLE}px;margin:1em 0 .3em;padding-left:8px}}"
        f"table{{border-collapse:collapse;font-size:{SMALL + 1}px}}.wide{{overflow-x:auto}}"
        "th,td{border-bottom:1px solid var(--kit-line);padding:3px 10px 3px 0;text-align:left;vertical-align:top;"
        "overflow-wrap:break-word}tbody th{font-weight:400}"
        "thead th{white-space:nowrap;color:var(--kit-soft);font-weight:600}"
        ".way{color:var(--kit-soft)}li{margin:.25em 0}"
        ".bar{display:inline-block;width:14em;height:10px;border:1px solid var(--kit-line);vertical-align:middle}"
        ".fill{display:block;height:100%;background:var(--kit-blue)}"
        ".share{white-space:nowrap}"
        # Paper does not scroll: without narrower tables, the last columns would be cut off.
        "@media print{@page{margin:12mm}body{font-size:9.5pt;line-height:1.35}main{max-width:none;padding:0}"
        "h1{font-size:16pt}h2,h3{break-after:avoid}h2+p{break-after:avoid}tr,li{break-inside:avoid}"
        ".wide{overflow:visible}table{font-size:8pt}thead{display:table-header-group}"
        "th,td{overflow-wrap:anywhere;min-width:3.2em;padding-right:6px}"
        "thead th{white-space:normal;overflow-wrap:normal}.bar{width:9em}"
        ".fill,h3{print-color-adjust:exact}}"
    )
    for weight, token in _MARKS.items():
        yield f"h3.{weight}{{border-left:6px solid var(--kit-{token})}}"
