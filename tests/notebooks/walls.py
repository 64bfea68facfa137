"""Outputs that are too long to read: what a learner sees of a cell without opening anything."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

WIDGET = "application/vnd.jupyter.widget-view+json"
MAX_LINES, MAX_WORDS = 60, 300
_HIDDEN = re.compile(r"<(style|script|svg|textarea|noscript)\b.*?</\1>", re.DOTALL | re.IGNORECASE)
_DETAILS = re.compile(r"<details(?![^>]*\bopen\b)[^>]*>((?:(?!<details).)*?)</details>", re.DOTALL)
_SUMMARY = re.compile(r"<summary\b[^>]*>(.*?)</summary>", re.DOTALL)
_ENDS = re.compile(r"</(tr|p|li|div|h\d|summary|pre|caption|dt|dd)>|<br\s*/?>", re.IGNORECASE)


def visible(page: str) -> str:
    """Return the text of an HTML output that is visible before anything is opened, a line for each row and block."""
    parts = re.split(r"(<pre\b.*?</pre>)", _HIDDEN.sub(" ", page), flags=re.DOTALL)
    page = "".join(part if part.startswith("<pre") else " ".join(part.split()) for part in parts)
    before = ""
    while before != page:  # from the innermost one; a closed one shows its summary only
        before, page = page, _DETAILS.sub(lambda one: "".join(_SUMMARY.findall(one[1])[:1]) + "\n", page)
    return html.unescape(re.sub(r"<[^>]+>", " ", _ENDS.sub("\n", page)))


def text_of(output: Any) -> str:
    """Return what a notebook shows of an output: of a widget its page without JavaScript, of a picture nothing."""
    data = output.get("data", {})
    if "text/html" in data:
        return visible(str(data["text/html"]))
    for kind in ("image/svg+xml", "image/png", "application/vnd.plotly.v1+json", WIDGET):
        if kind in data:
            return ""
    return str(data.get("text/markdown") or data.get("text/plain") or output.get("text", ""))


def is_wall(text: str) -> bool:
    """Return whether a text has too many lines or words to be read."""
    lines = sum(1 for line in text.splitlines() if line.strip())
    words = sum(1 for word in text.split() if re.search(r"\w", word))
    return lines > MAX_LINES or words > MAX_WORDS


def walls(cells: Iterable[Any]) -> list[str]:
    """Return the source of each cell that shows too much."""
    code = [cell for cell in cells if cell.cell_type == "code"]
    return [cell.source for cell in code if is_wall("\n".join(map(text_of, cell.outputs)))]
