"""How fast widgets are while a cell computes, at their first picture, and over a minute; collected nightly only."""

import json
import statistics

import pytest
from test_all_widgets import MADE, START
from test_widget_speed import LIMIT, PLAIN, SLIDERS, load, moved, moved_plain, told

PICTURES = ".kitlib-plot, .kitlib-board, canvas.kitlib-canvas, .kitlib-grid, .kit-tree"
COMPUTING = """
end = time.monotonic() + 300
try:
    while time.monotonic() < end:
        sum(number * number for number in range(10_000))
except KeyboardInterrupt:
    print("interrupted")
"""
FIRST_PICTURE = 4000
"""Milliseconds from running a cell to its widget's picture on an idle machine; times the load of a busy one."""


@pytest.mark.parametrize("name", list(SLIDERS))
def test_speed_from_slider_to_figure_while_a_cell_computes(open_cells, name):
    """JupyterLab gives widgets' messages a thread of the kernel; it shares the interpreter with the cell."""
    code, label = SLIDERS[name]
    page = open_cells(PLAIN, code, "import time", own_page=True)
    page.wait_for_selector(".kitlib-widget :is(.kitlib-bar, .kitlib-cells td, .kitlib-drawn rect, .kitlib-column)")
    last = page.locator(".jp-CodeCell").nth(2)
    last.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.insert_text(COMPUTING)
    page.keyboard.press("Control+Enter")
    last.locator(".jp-InputPrompt", has_text="*").wait_for()
    taken, plain = moved(page, label), moved_plain(page)
    assert "*" in last.locator(".jp-InputPrompt").inner_text(), "the cell had ended before"
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    last.locator(".jp-OutputArea", has_text="interrupted").wait_for()
    assert told(f"{name}, slider to figure while a cell computes", taken, plain) < LIMIT


def test_speed_from_running_a_cell_to_its_picture(open_cells):
    """One cell a widget, run one after the other by hand."""
    page = open_cells(START)
    found = {}
    for number, (name, made) in enumerate(MADE.items(), start=1):
        page.keyboard.press("Escape")
        page.keyboard.press("b")
        page.keyboard.press("Enter")
        page.keyboard.type(made)
        page.evaluate(
            """() => document.addEventListener('keydown',
                (event) => { if (event.ctrlKey && event.key === 'Enter') window.began = performance.now(); }, true)"""
        )
        page.keyboard.press("Control+Enter")
        taken = page.wait_for_function(
            """([n, pictures]) => { const all = [...document.querySelectorAll('.kitlib-widget[role=group]')]
                .filter((one) => one.querySelector(pictures)?.clientHeight > 4);
                return all.length >= n && performance.now() - window.began; }""",
            arg=[number, PICTURES],
            polling="raf",
            timeout=90_000,
        ).json_value()
        found[name] = round(taken)
    print(f"\nrun to picture, ms (load {load():.1f} a core): {json.dumps(found)}")
    assert max(found.values()) < FIRST_PICTURE * max(1.0, load()), found


def test_speed_of_twenty_series_at_ten_a_second(open_cells):
    code = """
import json, os, time
from kitlib.cluster import Cluster
from kitlib.widgets import CgroupWatch
POD = '''
apiVersion: v1
kind: Pod
metadata: {name: NAME, annotations: {kitlib.dev/workload.app: "10s cpu=0.1; 10s cpu=0.3; 10s cpu=0.1; cpu=0.2"}}
spec:
  containers: [{name: app, image: x, resources: {requests: {cpu: 100m}, limits: {cpu: 500m, memory: 100Mi}}}]
'''
cluster = Cluster.simulated(1, cpus=8, memory="16Gi")
for i in range(20):
    cluster.apply(POD.replace("NAME", f"pod-{i:02}"))
watch, looks = CgroupWatch(cluster, metric="cpu"), []
def rss():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
def look():
    looks.append((round(time.monotonic(), 2), watch.live.sent, watch.live.behind, rss()))
watch.ticker(look, 1.0).start()
watch.play.value = True
watch
"""
    page = open_cells(code, "print('ready')")
    page.wait_for_function("() => Number(document.querySelector('canvas.kitlib-canvas')?.dataset.samples) > 20")
    heap = "() => { window.gc?.(); return performance.memory.usedJSHeapSize }"
    page.wait_for_timeout(5_000)
    before = page.evaluate(heap)
    page.wait_for_timeout(60_000)
    after = page.evaluate(heap)
    page.locator(".kitlib-widget").get_by_role("button", name="Pause").click()
    page.locator(".jp-CodeCell").nth(1).locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("print(json.dumps([looks, watch._beat.beats, watch._beat.missed]))")
    page.keyboard.press("Shift+Enter")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.jp-OutputArea-output pre')].some(p => p.innerText.startsWith('[[['))"
    )
    text = next(t for t in page.locator(".jp-OutputArea-output pre").all_inner_texts() if t.startswith("[[["))
    looks, beats, missed = json.loads(text)
    looks = looks[5:]
    seconds, sent = looks[-1][0] - looks[0][0], looks[-1][1] - looks[0][1]
    third = len(looks) // 3
    early, late = [behind for _, _, behind, _ in looks[:third]], [behind for _, _, behind, _ in looks[-third:]]
    grown = looks[-1][3] - looks[0][3]
    print(
        f"\n20 series for {seconds:.0f} s: {sent / seconds:.2f} readings a second, {missed} of {beats} left out; "
        f"readings that the page is behind: {statistics.mean(early):.1f} in the first third, "
        f"{statistics.mean(late):.1f} in the last; memory of the kernel {grown / 2**20:+.1f} MiB, "
        f"of the page {(after - before) / 2**20:+.1f} MiB"
    )
    assert sent / seconds > 9
    assert statistics.mean(late) < statistics.mean(early) + 5
    assert grown < 30 * 2**20 and after - before < 30 * 2**20
