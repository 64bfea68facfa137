"""A notebook that is closed leaves nothing of its widgets in the page, and is whole when it is opened again."""

import re

import fronts

CELLS = (
    "from kitlib.widgets import OomArena, PodBuilder\nOomArena()",
    "PodBuilder()",
    "from kitlib.cluster import Cluster\nfrom kitlib.widgets import CgroupWatch\nCgroupWatch(Cluster.simulated(1))",
)
SEEN = """() => { window.seen = [...document.querySelectorAll('.kitlib-widget, .kitlib-widget *')]
    .filter((one) => !/^jp-|SLOT/i.test(one.tagName)).map((one) => new WeakRef(one)); return window.seen.length; }"""
KEPT = """() => window.seen.map((one) => one.deref()).filter(Boolean).map((one) => one.tagName + '.' + one.className)"""


def test_the_page_keeps_nothing_of_the_widgets_of_a_closed_notebook(open_cells):
    page = open_cells(*CELLS, own_page=True)
    page.locator(".kitlib-widget[role=group]").nth(len(CELLS) - 1).wait_for()
    assert page.evaluate(SEEN) > 100
    name = page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path")
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    assert fronts.close_all(page)
    devtools = page.context.new_cdp_session(page)
    left = []
    for _ in range(20):  # what is free is collected in several turns
        devtools.send("HeapProfiler.collectGarbage")
        left = page.evaluate(KEPT)
        if not left:
            break
    assert not left, (len(left), left[:10])
    fronts.open_in_lab(page, name)  # its kernel still has the widgets
    page.get_by_role("group", name=re.compile("^Pod builder$", re.I)).get_by_role("slider").first.wait_for()
    page.wait_for_selector(".kitlib-drawn rect")
