"""The cgroup tree in a notebook: one row per cgroup, one header, values in columns over the whole tree.

A value's bar is the cgroup's share among its siblings: the outline is the desired share, the fill the observed one, so
a difference is a gap. A row opens to all its files with their reasons; a row with a difference is open initially. The
tree needs no script. Differences are also marked with a sign and a word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from kitlib.views.cgroup_row import CgroupRow, short_id
from kitlib.views.tokens import css, paint
from kitlib.views.units import size

MAIN = ("cpu.weight", "cpu.shares", "cpu.max", "cpu.cfs_quota_us", "memory.max", "memory.limit_in_bytes")
"""Files that become columns first, in this order, if they exist."""
COLUMNS = 3
"""Minimum number of columns, if there are enough files."""
UNLIMITED = ("max", "-1", str(2**63 - 4096))
_WEIGHTS = ("cpu.weight", "cpu.shares")

STYLE = (
    css()
    + """
.kit-tree{font:13px/1.4 var(--kit-font);color:var(--kit-ink,inherit);overflow-x:auto}
.kit-tree .r{display:grid;grid-template-columns:minmax(13em,26em) repeat(var(--columns),13em);align-items:center;
min-height:24px;column-gap:10px;min-width:calc(13em + var(--columns)*13.8em);padding-right:6px;box-sizing:border-box}
.kit-tree .h{font-weight:600;border-bottom:1px solid @line;margin-top:4px}
.kit-tree .h>:not(:first-child){text-align:right}
.kit-tree summary.r{cursor:pointer;list-style:none}
.kit-tree summary.r::-webkit-details-marker{display:none}
.kit-tree summary:hover{background:color-mix(in srgb,currentColor 6%,transparent)}
.kit-tree summary:focus-visible{outline:2px solid @focus;outline-offset:-2px}
.kit-tree .n{padding-left:calc(1.3em*var(--depth) + 1.1em);position:relative;white-space:nowrap;overflow:hidden;
text-overflow:ellipsis}
.kit-tree .n::before{content:"▸";position:absolute;left:calc(1.3em*var(--depth));color:@soft}
.kit-tree details[open]>summary .n::before{content:"▾"}
.kit-tree .n small{color:@soft;font-size:12px;margin-left:.5em}
.kit-tree .p .n,.kit-tree .u{color:@soft}
.kit-tree .v{display:flex;justify-content:flex-end;align-items:center;gap:8px;font-variant-numeric:tabular-nums;
white-space:nowrap}
.kit-tree .v i{flex:0 0 60px;height:9px;position:relative;box-sizing:border-box}
.kit-tree .v i::before,.kit-tree .v i::after{content:"";position:absolute;left:0;top:0;bottom:0;box-sizing:border-box}
.kit-tree .v i::before{width:calc(60px*var(--o,0));background:color-mix(in srgb,@blue 42%,transparent)}
.kit-tree .v i.z::after{display:none}
.kit-tree .v i::after{width:calc(60px*var(--d,0));border:1px solid @ink}
.kit-tree .d>summary{background:color-mix(in srgb,@differs 14%,transparent)}
.kit-tree .x{font-weight:700}
.kit-tree .f{margin:2px 0 8px calc(1.3em*var(--depth) + 1.1em);border-left:2px solid @line;padding-left:10px}
.kit-tree .f p{margin:2px 0;color:@soft;font-size:12px}
.kit-tree .f dl{display:grid;grid-template-columns:max-content max-content minmax(12em,1fr);gap:1px 14px;margin:2px 0}
.kit-tree .f dt,.kit-tree .f dd{margin:0;text-align:left}
.kit-tree .f .c{color:@soft}
.kit-tree .f details{display:inline}
.kit-tree .f details summary{display:inline;text-decoration:underline dotted;cursor:pointer}
"""
)
for _name, _token in {
    "line": "line",
    "focus": "focus",
    "soft": "soft",
    "blue": "blue",
    "ink": "ink",
    "differs": "series-1",
}.items():
    STYLE = STYLE.replace(f"@{_name}", paint(_token))


class CgroupLines(NamedTuple):
    """A cgroup of the tree with its files.

    Attributes:
        head: its own row.
        files: the rows of its files, those that differ first.
        parent: path of the parent cgroup.
    """

    head: CgroupRow
    files: tuple[CgroupRow, ...]
    parent: str

    @property
    def differs(self) -> bool:
        return self.head.differs or any(row.differs for row in self.files)

    def file(self, name: str) -> CgroupRow | None:
        """Return the row of a file, or None."""
        return next((row for row in self.files if row.file == name), None)


def lines_of(rows: Sequence[CgroupRow]) -> list[CgroupLines]:
    """Return the cgroups of a tree in display order, each with its files."""
    found: dict[str, tuple[CgroupRow, list[CgroupRow]]] = {}
    for row in rows:
        if not row.file:
            found[row.path] = (row, [])
    for row in rows:
        if row.file:
            head = CgroupRow(row.depth, (), row.path, "", "", "", "", label="/")
            found.setdefault(row.path, (head, []))[1].append(row)
    if "/" in found:
        found = {"/": found.pop("/"), **found}
    return [
        CgroupLines(
            head,
            tuple(sorted(files, key=lambda row: not row.differs)),
            (path.rpartition("/")[0] or "/") if path != "/" else "",
        )
        for path, (head, files) in found.items()
    ]


def columns_of(lines: Sequence[CgroupLines]) -> list[str]:
    """Return the files that become columns: the main ones, then those that most cgroups have."""
    count = Counter(row.file for line in lines for row in line.files)
    main = [file for file in MAIN if file in count]
    rest = sorted((file for file in count if file not in main), key=lambda file: -count[file])
    return main + rest[: max(0, COLUMNS - len(main))]


def amount(file: str, value: str | None) -> float | None:
    """Return a value as a number that can be compared among siblings; None = no limit, no file, or not a number."""
    first = (value or "").partition(" ")[0]
    return None if first in UNLIMITED or not first.isdigit() else float(first)


def shares(lines: Sequence[CgroupLines], file: str, *, observed: bool) -> dict[str, float]:
    """Return cgroup -> its share among its siblings, 0 to 1: of the sum of weights, or of the largest limit."""
    values = {}
    for line in lines:
        row = line.file(file)
        if row is not None:
            values[line.head.path] = amount(file, row.observed if observed else row.desired)
    parents = {line.head.path: line.parent for line in lines}
    found = {}
    for path, value in values.items():
        siblings = [v for other, v in values.items() if parents[other] == parents[path] and v is not None]
        whole = sum(siblings) if file in _WEIGHTS else max(siblings, default=0)
        found[path] = value / whole if value is not None and whole else 0.0
    return found


def value_words(line: CgroupLines, file: str, value: str | None) -> str:
    """Return a value in readable units: memory in Mi, a quota in CPUs, "max" for no limit."""
    if value is None:
        return "missing"
    first, _, second = value.partition(" ")
    if first in UNLIMITED:
        return "max"
    if file in ("cpu.max", "cpu.cfs_quota_us") and first.isdigit():
        period = line.file("cpu.cfs_period_us")
        length = int(second or (period.desired if period and period.desired else "100000"))
        return f"{int(first) / length:g} CPU"
    if file.startswith("memory.") and first.isdigit() and int(first) >= 1024 and not second:
        return size(int(first)).removeprefix("~")
    return value


def tree_html(title: str, rows: list[CgroupRow], *, compared: bool) -> str:
    """Return the rows of a tree as HTML with its style.

    Args:
        title: the heading.
        rows: the rows in display order.
        compared: whether there is an observed tree beside the desired one.
    """
    different = sum(row.differs for row in rows)
    said = f"<div>{_sentence(different)}</div>" if compared else ""
    body = f"<div><b>{escape(title)}</b></div>{said}{tree_body(rows, compared=compared)}"
    return f'<style>{STYLE}</style><div class="kit-tree">{body}</div>'


def tree_body(rows: Sequence[CgroupRow], *, compared: bool, whole: bool = False) -> str:
    """Return header and rows; with `whole`, rows have paths by which a page identifies them, and full container IDs."""
    lines = lines_of(rows)
    columns = columns_of(lines)
    wanted = {file: shares(lines, file, observed=False) for file in columns}
    seen = {file: shares(lines, file, observed=True) for file in columns}
    heads = "".join(f'<span title="{escape(file)}">{escape(file)}</span>' for file in columns)
    parts = [
        f'<div style="--columns:{len(columns)}"><div class="r h" aria-hidden="true"><span>cgroup</span>{heads}</div>'
    ]
    for line in lines:
        cells = [(file, wanted[file].get(line.head.path, 0), seen[file].get(line.head.path, 0)) for file in columns]
        parts.append(_line(line, cells, compared, whole))
    return "".join(parts) + "</div>"


def _sentence(different: int) -> str:
    if not different:
        return "Desired and observed are the same, file by file."
    return (
        f"<b>≠ {different} {'value differs' if different == 1 else 'values differ'}</b> between desired and observed."
    )


def _line(line: CgroupLines, cells: Sequence[tuple[str, float, float]], compared: bool, whole: bool) -> str:
    head = line.head
    path = head.path if whole else short_id(head.path)
    name = head.label or short_id(head.path.rpartition("/")[2]) or "/"
    mark = ""
    if head.differs:
        mark = f' <b class="x">≠ {"missing" if head.observed is None else "not desired"}</b>'
    kind = " ".join(word for word, on in (("d", line.differs), ("p", name == "pause")) if on)
    hint = f"<small>{escape(head.qos)}</small>" if head.comment.endswith(f"pod {_whole(head.label)}") else ""
    values = "".join(_cell(line, file, wanted, seen, compared) for file, wanted, seen in cells)
    return (
        f'<details class="{kind}" data-path="{escape(path)}" style="--depth:{head.depth}"'
        f"{' open' if line.differs else ''}>"
        f'<summary class="r"><span class="n" title="{escape(head.comment or path)}">'
        f"{escape(name)}{hint}{mark}</span>{values}</summary>"
        f'<div class="f">{"".join(_files(line, compared))}</div></details>'
    )


def _whole(label: str) -> str:
    """Return a pod's name with its namespace."""
    return label if "/" in label else f"default/{label}"


def _cell(line: CgroupLines, file: str, wanted: float, seen: float, compared: bool) -> str:
    row = line.file(file)
    if row is None:
        return '<span class="v"></span>'
    shown = value_words(line, file, row.observed if compared else row.desired)
    bar = f'<i style="--d:{min(wanted, 1):.3f};--o:{min(seen, 1):.3f}"></i>' if wanted or seen else '<i class="z"></i>'
    kind = "x" if row.differs else "" if row.written else "u"
    words = f"{file}: desired {row.desired or 'no such file'}" + (f", observed {row.observed}" if compared else "")
    return (
        f'<span class="v" data-file="{escape(file)}" title="{escape(words)}">'
        f'<b class="{kind}" style="font-weight:{600 if row.written else 400}">{"≠ " if row.differs else ""}'
        f"{escape(shown)}</b>{bar}</span>"
    )


def _files(line: CgroupLines, compared: bool) -> Iterator[str]:
    """Yield the HTML inside a row: the path, and every file with its reason."""
    meaning = f": {line.head.comment}" if line.head.comment else ""
    yield f"<p>{escape(short_id(line.head.path) + meaning)}</p><dl>"
    for row in line.files:
        value = row.desired or "–"
        if row.differs:
            value = f"≠ {'missing' if row.observed is None else row.observed}, desired {row.desired or 'no such file'}"
        kind = "x" if row.differs else "" if row.written else "u"
        yield f'<dt>{escape(row.file)}</dt><dd class="{kind}">{escape(value)}</dd><dd class="c">{_why(row)}</dd>'
    yield "</dl>"


def _why(row: CgroupRow) -> str:
    """Return the reason in words; its formula opens on demand to keep the first view short."""
    words, formula = row.comment, row.formula
    if not formula or not words.endswith(formula):
        return escape(words)
    words = words.removesuffix(formula).rstrip(" :")
    if not words:
        return escape(formula)
    return f"{escape(words)} <details><summary>formula</summary> {escape(formula)}</details>"
