"""The picture of an answer is laid out for the width of its page: nothing is scaled down or cut."""

from __future__ import annotations

import pytest

from kitlib.views.tokens import DARK, LIGHT

MADE = """
from kitlib.charts.answers import PlaceCard, amounts_chart, places_chart
from kitlib.lab.prediction import Verdict
cards = {f"n{n}": PlaceCard(["web-5cff65576f-26757"], "node(s) had untolerated taint(s)", "refused") for n in (1, 2)}
rows = {"the container that asks for more": 300, "pod": 200}
amounts = amounts_chart("Memory", rows, unit="MiB", bounds=[("limit of the pod", 256)], guess=120.0)
places = places_chart("Nodes", cards, guess="n1")
"""
SHOWN = [f"Verdict('Where?', 'x', 'y', False, picture={name}.page_svg())" for name in ("amounts", "places")]
LAID_OUT = """n => {
    const shown = [...document.querySelectorAll('.kitlib-verdict svg')].filter(svg => svg.checkVisibility());
    const columns = shown.map(svg => svg.closest('.kitlib-fits').getBoundingClientRect());
    return shown.length === n && columns.every(({width, right}) => width > 250 && right <= innerWidth);
}"""
SEEN = """() => [...document.querySelectorAll('.kitlib-verdict svg')].filter(svg => svg.checkVisibility()).map(svg => {
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const column = svg.closest('.kitlib-fits').getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].map(text => [text, text.getBoundingClientRect()]);
    const guess = svg.querySelector('[stroke*="guess"]');
    return {guess: getComputedStyle(guess).stroke, layout: svg.viewBox.baseVal.width, column: column.width,
        font: Math.min(...texts.map(([text]) => parseFloat(getComputedStyle(text).fontSize) * scale)),
        cut: texts.filter(([, box]) => box.left < column.left - 1 || box.right > Math.min(column.right, innerWidth) + 1)
            .map(([text]) => text.textContent)};
})"""


COLOURS = {
    theme: f"rgb({', '.join(str(int(colours['guess'][at : at + 2], 16)) for at in (1, 3, 5))})"
    for theme, colours in (("light", LIGHT), ("dark", DARK))
}
"""Theme -> colour of the guess, as a page computes it."""


@pytest.fixture
def answers(open_cells):
    """Open two answers in a light or dark page whose sidebar is closed, as it is on a phone."""
    pages = []

    def opened(dark):
        pages.append(open_cells(MADE, *SHOWN, dark=dark))
        pages[0].evaluate("() => window.jupyterapp.shell.collapseLeft()")
        return pages[0]

    yield opened
    for page in pages:
        page.evaluate("() => window.jupyterapp.shell.expandLeft()")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_an_answer_can_be_read_on_a_phone_and_on_a_wide_page(answers, artifacts, dark):
    page = answers(dark)
    for width in (1400, 880, 390):
        page.set_viewport_size({"width": width, "height": 1100})
        page.wait_for_function(LAID_OUT, arg=len(SHOWN))
        for picture in page.evaluate(SEEN):
            assert picture["font"] > 10.9 and picture["cut"] == [], (width, picture)
            assert picture["guess"] == COLOURS["dark" if dark else "light"], picture
        page.screenshot(path=str(artifacts / f"answers-{width}-{'dark' if dark else 'light'}.png"))
