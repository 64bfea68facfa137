"""All widgets on one page, in both themes: accessible by axe, readable, whole at every width, and silent towards the
network. One page a theme serves all checks; the pictures of what was seen go to the artefacts.
"""

import re
from pathlib import Path

import pytest

from kitlib.widgets import WIDGETS

START = """
from kitlib.cluster import Cluster
from kitlib.examples.stories import story
from kitlib.api.serialize import to_yaml
import kitlib.widgets as w
POD = '''
apiVersion: v1
kind: Pod
metadata: {name: NAME, annotations: {kitlib.dev/workload.app: "cpu=2 memory=MEMORY"}}
spec:
  containers:
  - {name: app, image: x, resources: {requests: {cpu: 250m}, limits: {cpu: LIMIT, memory: 400Mi}}}
'''
cluster = Cluster.simulated(1, cpus=4, memory="4Gi")
for name, memory, limit in (("web", "100Mi", "500m"), ("db", "300Mi", "1"), ("hog", "600Mi", "1")):
    cluster.apply(POD.replace("NAME", name).replace("MEMORY", memory).replace("LIMIT", limit))
cluster.advance(3)
pending = story("affinity-side-effect")
dump = to_yaml([*pending.nodes, *pending.pods])
"""
MADE = {name: f"w.{name}()" for name in WIDGETS} | {
    "CgroupTreeExplorer": "w.CgroupTreeExplorer(cluster)",
    "CgroupWatch": "w.CgroupWatch(cluster)",
    "NodeBar": "w.NodeBar(cluster)",
    "Timeline": "w.Timeline(cluster)",
    "ExplainBoard": "w.ExplainBoard(dump)",
}
WIDTHS = (1440, 1024, 760)
NAMELESS = """() => [...document.querySelectorAll('.kitlib-widget :is(input, select, textarea, button, [role=slider])')]
    .filter(e => e.offsetParent !== null)
    .filter(e => !(e.getAttribute('aria-label') || e.title || e.textContent?.trim()
        || e.closest('label')?.textContent.trim()
        || (e.id && document.querySelector(`label[for="${e.id}"]`)?.textContent.trim())
        || e.closest('[title]')?.title))
    .map(e => e.outerHTML.slice(0, 120))"""
STILL = """() => {
  const looks = window.looksAtLayout, now = [...document.querySelectorAll('.kitlib-widget *')]
      .map(one => one.getBoundingClientRect()).map(box => [box.top, box.right, box.width].map(Math.round)).join();
  looks.same = now === looks.last ? looks.same + 1 : 0;
  looks.last = now;
  return looks.same >= 3;
}"""
CUT = """() => {
  const found = [], scrolls = (node) => /(auto|scroll)/.test(getComputedStyle(node).overflowX);
  for (const widget of document.querySelectorAll('.kitlib-widget[role=group]')) {
    const edge = widget.getBoundingClientRect().right + 1;
    for (const node of widget.querySelectorAll('p, td, th, label, button, select, input, output, summary, li')) {
      const box = node.getBoundingClientRect();
      if (!box.width || box.right <= edge || node.closest('[aria-hidden=true], .kitlib-board-mark')) continue;
      const empty = !node.innerText.trim() && !node.childElementCount; // such a paragraph shows nothing to cut
      if (empty && !node.matches('input, select, button')) continue;
      let above = node.parentElement;
      while (above !== widget && !scrolls(above)) above = above.parentElement;
      if (above === widget)
        found.push(widget.getAttribute('aria-label') + ': ' + node.tagName + ' ' + node.innerText.slice(0, 40)
          + ' ' + Math.round(box.right - edge));
    }
  }
  return found;
}"""

SIDEWAYS = """() => [...document.querySelectorAll('.kitlib-widget table:not(.kitlib-cells)')]
    .filter(one => one.checkVisibility() && one.innerText.trim() && !one.closest('[role=grid]'))
    .filter(one => one.rows[0].cells.length < 6)
    .filter(one => one.getBoundingClientRect().right
        > one.closest('.kitlib-widget[role=group]').getBoundingClientRect().right)
    .map(one => one.innerText.slice(0, 60))"""

WIDE_GRIDS = """() => [...document.querySelectorAll('.kitlib-grid-scroller, .kitlib-chart-body:has(.kitlib-cells)')]
    .filter(one => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
    .map(one => [one.closest('[aria-label]')?.ariaLabel, [...one.querySelectorAll('tr')]])
    .filter(([, lines]) => Math.min(lines.length, lines[0].cells.length) < 7)
    .map(([label]) => label)"""


@pytest.fixture
def all_widgets(open_cells):
    """Open the page with all widgets in a theme; what it asks of the network is in `page.asked`."""

    def opened(dark):
        cells = [START, *MADE.values()]
        page = open_cells(*cells, dark=dark, wait=240, width=WIDTHS[0], height=1000)
        page.wait_for_function(
            "n => document.querySelectorAll('.kitlib-widget[role=group]').length >= n", arg=len(MADE), timeout=60_000
        )
        return page

    return opened


def axe(page, *places):
    """What axe finds serious or critical by WCAG 2.2 AA inside the widgets, or what `places` selects."""
    import axe_core_python

    script = Path(axe_core_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(script)
    found = page.evaluate(
        """async (include) => (await axe.run({include}, {resultTypes: ['violations'],
            runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})).violations""",
        [[place] for place in places or (".kitlib-widget",)],
    )
    return [
        f"{one['impact']} {one['id']} x {len(one['nodes'])}: {one['nodes'][0]['html'][:160]} "
        f"{one['nodes'][0].get('failureSummary', '')[:240]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def settle(page):
    """Wait until no part of a widget has moved between four looks: widgets draw anew after a change of width."""
    page.evaluate("() => { window.looksAtLayout = {last: '', same: 0}; }")
    page.wait_for_function(STILL, polling=200, timeout=60_000)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_widget_is_accessible_whole_and_silent(all_widgets, artifacts, dark):
    page = all_widgets(dark)
    assert page.evaluate("() => document.body.dataset.jpThemeLight") == str(not dark).lower()
    page.evaluate("() => document.querySelectorAll('.kitlib-widget details').forEach(one => { one.open = true; })")
    page.wait_for_function(
        """n => [...document.querySelectorAll('.kitlib-share')].filter(
            one => one.querySelector('input[aria-label=Python]')?.value
                || one.querySelector('.kitlib-share-said')?.textContent).length >= n""",
        arg=len(MADE),
        timeout=60_000,  # the kernel makes each link when its widget is opened, one after the other
    )
    settle(page)
    problems = [f"no name: {one}" for one in page.evaluate(NAMELESS)]
    boxes = page.locator(".kitlib-widget[role=group]")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 1000})
        settle(page)
        tallest = max(one.bounding_box()["height"] for one in boxes.all())
        page.set_viewport_size(
            {"width": width, "height": int(tallest) + 250}
        )  # else a picture has its part in view alone
        settle(page)
        for place, name in enumerate(MADE):
            boxes.nth(place).screenshot(path=str(artifacts / f"{name}-{'dark' if dark else 'light'}-{width}.png"))
        problems += [f"cut at {width}: {one}" for one in page.evaluate(CUT)]
        problems += [f"read by scrolling sideways at {width}: {one}" for one in page.evaluate(SIDEWAYS)]
        problems += [f"a grid that scrolls sideways at {width}: {one}" for one in page.evaluate(WIDE_GRIDS)]
    page.set_viewport_size({"width": WIDTHS[0], "height": 1000})
    page.evaluate("() => { document.body.style.zoom = 2; }")
    settle(page)
    problems += [f"cut at 200%: {one}" for one in page.evaluate(CUT)]
    page.evaluate("() => { document.body.style.zoom = 1; }")
    problems += axe(page)
    for grid in page.locator("[role=grid]").all():
        cells = grid.locator("[role=gridcell]")
        if cells.count() and grid.locator("[role=gridcell][tabindex='0']").count() != 1:
            problems.append(f"not one tab stop: {grid.get_attribute('aria-label')}")
    pictures = page.locator(".kitlib-widget .kitlib-plot[role=img]:visible, .kitlib-widget canvas.kitlib-canvas").all()
    problems += [
        f"no sentence: {one.inner_html()[:80]}" for one in pictures if len(one.get_attribute("aria-label") or "") < 10
    ]
    own = re.match(r"https?://[^/]+", page.url).group(0)
    urls = page.evaluate("() => performance.getEntriesByType('resource').map(one => one.name)")
    problems += [
        f"asks {url}" for url in urls if not url.startswith((own, own.replace("http", "ws"), "data:", "blob:"))
    ]
    assert not problems, "\n".join(problems)
