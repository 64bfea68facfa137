"""Tables and short names for notebooks: text stands left, container ids have twelve digits, files have one name."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

_ID = re.compile(r"([0-9a-f]{12})[0-9a-f]{20,52}")


def short(text: object) -> str:
    """The text with container ids as engines abbreviate them, to twelve digits."""
    return _ID.sub(r"\1…", str(text))


class Table:
    """Rows under a header, shown as an HTML table or as aligned text.

    Args:
        rows: mappings (their keys are the header), a mapping of two columns, or a data frame.
        columns: the header, in this order; empty = as the rows have it.
    """

    def __init__(self, rows: Any, columns: Sequence[str] = ()) -> None:
        chosen = list(columns)
        if hasattr(rows, "to_dict"):
            rows = rows.to_dict("records")
        elif isinstance(rows, Mapping):
            names, chosen = chosen or ["what", "value"], []
            rows = [
                {names[0]: key, **value} if isinstance(value, Mapping) else _named(names, key, value)
                for key, value in rows.items()
            ]
        self.rows: list[dict[str, Any]] = [dict(row) for row in rows]
        self.columns = chosen or list(dict.fromkeys(name for row in self.rows for name in row))

    def _texts(self) -> Iterable[list[str]]:
        for row in self.rows:
            yield [_text(row.get(name)) for name in self.columns]

    def __str__(self) -> str:
        lines = [list(map(str, self.columns)), *self._texts()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        left = ' style="text-align:left;vertical-align:top"'
        head = "".join(f'<th scope="col"{left}>{html.escape(str(name))}</th>' for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td{left}>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._texts()
        )
        return f'<table class="kitlib-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def table(rows: Any, *columns: str) -> Table:
    """A table for a notebook; see `Table`."""
    return Table(rows, columns)


def _named(names: Sequence[str], key: Any, value: Any) -> dict[str, Any]:
    return dict(zip(names, (key, *(value if isinstance(value, tuple) else (value,))), strict=False))


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1 else f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"
    if isinstance(value, list | tuple | set):
        return ", ".join(_text(one) for one in value)
    return short(value)


class FileNames(NamedTuple):
    """How the files of one cgroup version are called."""

    cpu_weight: str
    cpu_quota: str
    memory_limit: str
    memory_usage: str


_FILES = {
    1: FileNames("cpu.shares", "cpu.cfs_quota_us", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    2: FileNames("cpu.weight", "cpu.max", "memory.max", "memory.current"),
}


def file_names(node: Any) -> FileNames:
    """The names of the files on a node, or of cgroup version 1 or 2."""
    return _FILES[node if isinstance(node, int) else node.cgroupfs.version]


def pod_cgroup(cluster: Any, name: str, container: str = "") -> Any:
    """The cgroup of a pod, or of one of its containers, as it is read from the pod's node."""
    found = cluster.pod(name)
    groups = cluster.node(found.spec.node_name).tree().of_pod(found.metadata.uid)
    return next(g for g in groups if (g.container == container if container else g.kind == "pod"))


def quota_of(cgroup: Any) -> int | None:
    """The CPU quota of a cgroup in microseconds of each period; None where it has none."""
    names = _FILES[2 if "cpu.max" in cgroup else 1]
    text = cgroup[names.cpu_quota].value.split()[0]
    return None if text in ("max", "-1") else int(text)
