"""The map and cheat sheet prints on one page, and no cell of it is cut."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from kitlib.lab import cheat_sheet


def test_the_sheet_prints_on_one_page(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "sheet.html").write_text(cheat_sheet.page())
    page = browser.new_page()
    page.goto((tmp_path / "sheet.html").as_uri())
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) == 1
    cut = "[...document.querySelectorAll('td')].filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert page.evaluate(cut) == 0
    wide = "[...document.querySelectorAll('text')].filter(one => one.getBBox().width > 150).map(one => one.textContent)"
    assert page.evaluate(wide) == [], "the boxes of the map are 150 wide"
    page.close()
