"""The reference pages: Markdown in the package, copied into the learner's folder, rendered for the site.

Links to notebooks and labs lead to those beside the pages. Files that a wheel does not contain are named without a
link.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?:\.\./)+)([^)]+)\)")
_KEPT = ("notebooks/", "labs/")
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.55 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "pre{overflow:auto;padding:.8em;background:color-mix(in srgb,currentColor 8%,transparent)}"
    "code{font-size:14px}table{border-collapse:collapse;display:block;overflow:auto}"
    "th,td{border:1px solid #8888;padding:.3em .7em;text-align:left;vertical-align:top}a{color:LinkText}"
)


def pages() -> dict[str, str]:
    """Return name -> Markdown of every page, with links for a folder `docs` beside `notebooks` and `labs`."""
    return {path.stem: _linked(path.read_text(encoding="utf-8")) for path in sorted(DOCS.glob("*.md"))}


def _linked(text: str) -> str:
    def put(match: re.Match[str]) -> str:
        image, words, _, target = match.groups()
        if image:
            return f"*{words}*"
        return f"[{words}](../{target})" if target.startswith(_KEPT) else words

    return _LINK.sub(put, text)


def title_of(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ").strip()


def rendered(text: str, notebook: str = "../lab/index.html?path=") -> str:
    """Return a page as HTML, with links that open notebooks in the site.

    Args:
        text: Markdown, from `pages`.
        notebook: address prefix of a notebook's path.
    """
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    body = re.sub(r'href="\.\./((?:notebooks|labs)/[^"]+)"', rf'href="{notebook}\1"', body)
    body = re.sub(r'href="([\w-]+)\.md"', r'href="\1.html"', body)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title_of(text))}</title><style>{_STYLE}</style>"
        f'<p><a href="../index.html">kitlib</a> · <a href="index.html">all pages</a></p>{body}</html>'
    )
