"""The cgroup tree in a notebook: directories that open and close by keyboard, one table of files in each.

Nothing in it needs a script. Colours are shades of the text's around it: VS Code leaves JupyterLab's variables at those
of a light theme in every theme. What differs is marked with a sign and a word as well as with a colour.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from kitlib.views.cgroup_row import Row, short_id
from kitlib.views.tokens import paint

STYLE = (
    """
.kit-tree{font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,13px);
color:inherit;line-height:1.45}
.kit-tree details{margin-left:1.1em;border-left:1px solid @line;padding-left:.5em}
.kit-tree summary{cursor:pointer}
.kit-tree summary:focus-visible{outline:2px solid @focus}
.kit-tree table{border-collapse:collapse;margin:.1em 0 .3em 1.1em;font-size:inherit}
.kit-tree th,.kit-tree td{text-align:left;padding:0 .9em 0 0;vertical-align:top;border:0;background:none}
.kit-tree th{font-weight:600;color:color-mix(in srgb,currentColor 78%,transparent)}
.kit-tree td.v{font-weight:600;white-space:nowrap}
.kit-tree .c{color:color-mix(in srgb,currentColor 78%,transparent);font-style:italic;white-space:normal}
.kit-tree .u td.v{font-weight:400;color:color-mix(in srgb,currentColor 78%,transparent)}
.kit-tree .d td{background:color-mix(in srgb,@differs 18%,transparent)}
.kit-tree .q{border-radius:.6em;padding:0 .5em;border:1px solid currentColor;font-size:.85em}
.kit-tree details.f{display:inline;margin:0;border:0;padding:0}
.kit-tree details.f summary{display:inline;text-decoration:underline dotted}
.kit-tree caption{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
""".replace("@line", paint("line"))
    .replace("@focus", paint("focus"))
    .replace("@differs", paint("series-1"))
)


def tree_html(title: str, rows: list[Row], *, compared: bool) -> str:
    """The rows of a tree as HTML, style included.

    Args:
        title: above the tree.
        rows: in the order in which they are shown.
        compared: whether an observed tree stands beside the desired one.
    """
    parts = [f"<style>{STYLE}</style>", '<div class="kit-tree">', f"<div><b>{escape(title)}</b></div>"]
    if compared:
        different = sum(row.differs for row in rows)
        parts.append(f"<div>{_sentence(different)}</div>")
    parts += _section(rows, 0, "/", compared)
    parts.append("</div>")
    return "".join(parts)


def _sentence(different: int) -> str:
    if not different:
        return "Desired and observed are the same, file by file."
    return (
        f"<b>≠ {different} {'value differs' if different == 1 else 'values differ'}</b> between desired and observed."
    )


def _section(rows: list[Row], depth: int, path: str, compared: bool) -> Iterator[str]:
    """The files of one cgroup, then its children; `rows` are all lines below it."""
    files = [row for row in rows if row.depth == depth and row.file]
    if files:
        yield _table(files, path, compared)
    children = [i for i, row in enumerate(rows) if row.depth == depth and not row.file]
    for at, end in zip(children, [*children[1:], len(rows)], strict=False):
        row = rows[at]
        mark = (
            ' <b class="d">≠ ' + ("missing" if row.observed is None else "not desired") + "</b>" if row.differs else ""
        )
        badge = f' <span class="q">{escape(row.qos)}</span>' if row.qos else ""
        yield f"<details open><summary>{escape(short_id(row.name))}{badge}{mark}"
        yield f' <span class="c">{escape(row.comment)}</span></summary>'
        yield from _section(rows[at + 1 : end], depth + 1, row.path, compared)
        yield "</details>"


def _table(files: list[Row], path: str, compared: bool) -> str:
    heads = ("file", "desired", "observed", "why") if compared else ("file", "value", "why")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join(_file(row, compared) for row in files)
    return (
        f"<table><caption>{escape(short_id(path))}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _file(row: Row, compared: bool) -> str:
    kind = "d" if row.differs else "" if row.written else "u"
    cells = f'<td>{escape(row.file)}</td><td class="v">{escape(row.desired or "–")}</td>'
    if compared:
        mark = "≠ " if row.differs else ""
        cells += f'<td class="v">{mark}{escape("missing" if row.observed is None else row.observed)}</td>'
    return f'<tr class="{kind}">{cells}<td class="c">{_why(row)}</td></tr>'


def _why(row: Row) -> str:
    """The reason in words; its formula opens on demand, so that a first look is not full of arithmetic."""
    words, formula = row.comment, row.formula
    if not formula or not words.endswith(formula):
        return escape(words)
    words = words.removesuffix(formula).rstrip(" :")
    if not words:
        return escape(formula)
    return f'{escape(words)} <details class="f"><summary>formula</summary>{escape(formula)}</details>'
