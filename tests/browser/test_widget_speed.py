"""How fast widgets are in a real page; the figures are printed (`.ci/browser -s -k speed`).

Time is taken in the page itself: from the key that moves a slider to the moment when the new figure is drawn.
The driver's own time is left out; that of page, kernel, and the messages between them is in it. The same is measured
in the same page for a plain slider of ipywidgets and a label that shows its value: the bound is a ratio to it, which a
busy or slow machine changes little. `test_widget_speed_long.py` has what runs nightly.
"""

import os
import statistics

import pytest

from tests.sizes import NIGHTLY

MEASURE = """
() => {
  const taken = (window.taken = []), plot = document.querySelector('.kitlib-widget');
  let began = null;
  document.addEventListener('keydown', () => { began = performance.now(); }, true);
  plot.addEventListener('kitlib-drawn', () => {
    if (began !== null) requestAnimationFrame(() => { taken.push(performance.now() - began); began = null; });
  });
}
"""
SLIDERS = {
    "pod builder": (
        "from kitlib.widgets import PodBuilder\nshown = PodBuilder()\nshown",
        "cpu request, slider",
    ),
    "OOM arena": ("from kitlib.widgets import OomArena\nshown = OomArena()\nshown", "uses, slider"),
    "side by side": (
        "from kitlib.widgets import SideBySide\nshown = SideBySide()\nshown",
        "cpu request, slider",
    ),
    "shares race": ("from kitlib.widgets import SharesRace\nshown = SharesRace()\nshown", "racer-3 request, slider"),
    "spread, 200 nodes": (
        "from kitlib.widgets import SpreadExplorer\nshown = SpreadExplorer(zones=4, nodes=50)\nshown",
        "maxSkew",
    ),
}
MOVES = 100 if NIGHTLY else 50
PLAIN = """
import ipywidgets
plain, label = ipywidgets.IntSlider(description="plain"), ipywidgets.Label("0")
plain.observe(lambda change: setattr(label, "value", f"at {change.new}"), "value")
ipywidgets.VBox([plain, label]).add_class("plain")
"""
MEASURE_PLAIN = """
() => {
  const taken = (window.taken = []), plain = document.querySelector(".plain");
  let began = null;
  plain.addEventListener("keydown", () => { began = performance.now(); }, true);
  new MutationObserver(() => {
    if (began !== null) requestAnimationFrame(() => { taken.push(performance.now() - began); began = null; });
  }).observe(plain.querySelector(":scope > .widget-label"), {
    characterData: true, childList: true, subtree: true });
}
"""
LIMIT = 5
"""The median of a widget's times over that of the plain slider: measured 1.1 to 1.8, 2.6 for two hundred nodes."""


def p95(values):
    return statistics.quantiles(values, n=20)[-1]


def moved(page, label):
    """Milliseconds that each of so many moves of a slider took to its new figure."""
    page.wait_for_selector(".kitlib-widget :is(.kitlib-bar, .kitlib-cells td, .kitlib-drawn rect, .kitlib-column)")
    return _moved(page, page.locator(".kitlib-widget").get_by_role("slider", name=label).first, MEASURE)


def moved_plain(page):
    """Return the same for the plain slider."""
    return _moved(page, page.locator(".plain .noUi-handle, .plain [role=slider]").first, MEASURE_PLAIN)


def _moved(page, handle, measure):
    page.wait_for_timeout(1000)
    handle.focus()
    page.evaluate(measure)
    for turn in range(MOVES + 10):
        handle.press("ArrowRight" if turn % 4 < 2 else "ArrowLeft")
        page.wait_for_function("n => window.taken.length > n", arg=turn, polling="raf", timeout=60_000)
    return page.evaluate("() => window.taken")[10:]


def told(what, taken, plain):
    """Print the figures; return the ratio of the medians."""
    ratio = statistics.median(taken) / statistics.median(plain)
    print(
        f"\n{what}: median {statistics.median(taken):.0f} ms, p95 {p95(taken):.0f} ms, "
        f"{ratio:.1f} times a plain slider (load of the machine {load():.1f} a core)"
    )
    return ratio


def load():
    return os.getloadavg()[0] / (os.cpu_count() or 1)


@pytest.mark.parametrize("name", list(SLIDERS) if NIGHTLY else ["pod builder"])
def test_speed_from_slider_to_figure(open_cells, name):
    code, label = SLIDERS[name]
    page = open_cells(PLAIN, code, own_page=True)  # what other tests left behind in a page takes time too
    taken, plain = moved(page, label), moved_plain(page)
    assert told(f"{name}, slider to figure", taken, plain) < LIMIT
