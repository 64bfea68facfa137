"""The report's page: one file, without scripts and addresses, in which every name is text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from kitlib.advisor.report import report
from kitlib.views.report_page import ROW_LIMIT, as_html, as_markdown
from kitlib.views.tokens import DARK
from tests.advisor.dumps import dump, node, pod

HOSTILE = '<script>alert(1)</script>" onload=x | `b` [l](http://e)'


class Tags(HTMLParser):
    """The tags of a page, its attributes and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_nothing_is_loaded_and_nothing_runs() -> None:
    page = as_html(report(dump(node("n1"), pod("p", cpu="9"))))
    read = Tags(page)
    assert not read.tags & {"script", "link", "img", "iframe", "object", "a", "form"}
    assert not {name for name in read.names if name.startswith("on")} and "src" not in read.names
    assert "default-src 'none'" in page and not re.search(r"https?://|url\(|@import", page)


def test_hostile_names_stay_text() -> None:
    found = report(dump(node("n1"), pod(HOSTILE, cpu="9")))
    read = Tags(as_html(found))
    assert HOSTILE in read.text and "script" not in read.tags and "onload" not in read.names
    markdown = as_markdown(found)
    assert "<script>" not in markdown and "[l]" not in markdown.replace("\\[l\\]", "")


def test_names_are_hidden_everywhere() -> None:
    found = report(dump(node("secretnode"), pod("secretpod", cpu="9")))
    for page in (as_html, as_markdown):
        assert "secret" not in page(found, lambda text: re.sub(r"secret\w+", "hidden", text))


def test_a_dark_screen_gets_the_dark_tokens_and_paper_the_light_ones() -> None:
    page = as_html(report(dump(node("n1"))))
    (dark,) = re.findall(r"@media ([^{]+){:root{[^}]*--kit-ground:" + DARK["ground"], page)
    assert dark == "screen and (prefers-color-scheme:dark)"


def test_long_tables_say_what_is_left_out() -> None:
    found = report(dump(*(node(f"n{i}") for i in range(ROW_LIMIT + 5))))
    assert "5 more rows" in as_html(found) and "5 more rows" in as_markdown(found)


def test_nothing_scrolls_or_is_cut_off_on_paper() -> None:
    """A printed table that scrolls loses its last columns, which a page in Chromium's PDF had shown."""
    page = as_html(report(dump(node("n1"))))
    paper = page[page.index("@media print") : page.index("</style>")]
    assert ".wide{overflow:visible}" in paper and "overflow-wrap:anywhere" in paper
    assert "@media screen and (prefers-color-scheme:dark)" in page  # paper stays light
