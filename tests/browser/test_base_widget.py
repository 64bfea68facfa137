"""The base of all widgets in a real JupyterLab: the keyboard changes the picture, bad input shows a sentence."""

CODE = """
import ipywidgets as ipw
from kitlib.charts import spread_map
from kitlib.widgets._parts.base import KitWidget, labelled

class Probe(KitWidget):
    title = "probe"
    def __init__(self):
        self.pods = labelled(ipw.IntSlider(value=1, min=0, max=9), "pods on the first node")
        self.pods.observe(self.refresh, "value")
        super().__init__([self.pods])
        self.refresh()
    def chart(self):
        if self.pods.value == 9:
            raise ValueError("spec.replicas: Invalid value: 9: must be less than 9")
        return spread_map(["zone1"], [["a", "b"]], [[self.pods.value, 1]])

probe = Probe()
probe
"""


def test_a_slider_moved_by_keyboard_changes_picture_sentence_and_table(open_cells):
    page = open_cells(CODE)
    page.wait_for_selector(".kitlib-cells")
    assert "Matching pods: zone1 2." in page.locator(".kitlib-widget [role=status]").inner_text()
    handle = page.locator("[role=slider]").first
    handle.focus()
    handle.press("ArrowRight")
    page.wait_for_function(
        "() => document.querySelector('.kitlib-widget [role=status]').innerText.includes('zone1 3.')"
    )
    assert page.locator(".kitlib-cells tbody td").first.get_attribute("data-value") == "2"


def test_bad_input_is_said_beside_the_control_and_the_last_picture_stays(open_cells):
    page = open_cells(CODE)
    handle = page.locator("[role=slider]").first
    handle.focus()
    handle.press("End")
    page.wait_for_selector(".kitlib-widget [role=alert]")
    assert "must be less than 9" in page.locator(".kitlib-widget [role=alert]").inner_text()
    assert "zone1 2." in page.locator(".kitlib-widget [role=status]").inner_text()
    assert "Traceback" not in page.content()


def test_what_is_behind_a_rejected_value_is_dimmed_until_the_value_is_right_again(open_cells):
    page = open_cells(CODE)
    handle = page.locator("[role=slider]").first
    handle.focus()
    handle.press("End")
    page.wait_for_selector(".kitlib-chart.kitlib-stale, .kitlib-stale .kitlib-chart")
    handle.press("Home")
    page.wait_for_function("() => !document.querySelector('.kitlib-stale')")


def test_a_picture_is_there_with_its_cell_while_the_kernel_is_busy_with_the_next(open_cells):
    """As after "Run All Cells" in a notebook on real nodes, where cells take their time."""
    seen = "new MutationObserver(() => window.seen ||= !!document.querySelector('.kitlib-cells td') && Date.now())"
    watch = f"{seen}.observe(document.body, {{subtree: true, childList: true}})"
    script = f"from IPython.display import Javascript\nJavascript({watch!r})"
    busy = "import time\nstarted = time.time() * 1000\ntime.sleep(6)\nprint(int(time.time() * 1000))"
    page = open_cells(script, CODE, busy)
    ended = int(page.locator(".jp-OutputArea-output pre").last.inner_text())
    assert page.evaluate("() => window.seen") < ended
