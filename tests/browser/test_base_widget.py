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
    page.wait_for_selector(".js-plotly-plot .heatmaplayer")
    assert "Matching pods: zone1 2." in page.locator(".kitlib-widget [role=status]").inner_text()
    handle = page.locator("[role=slider]").first
    handle.focus()
    handle.press("ArrowRight")
    page.wait_for_function(
        "() => document.querySelector('.kitlib-widget [role=status]').innerText.includes('zone1 3.')"
    )
    shown = page.evaluate("() => document.querySelector('.js-plotly-plot').data[0].z[0][0]")
    assert shown == 2


def test_bad_input_is_said_beside_the_control_and_the_last_picture_stays(open_cells):
    page = open_cells(CODE)
    handle = page.locator("[role=slider]").first
    handle.focus()
    handle.press("End")
    page.wait_for_selector(".kitlib-widget [role=alert]")
    assert "must be less than 9" in page.locator(".kitlib-widget [role=alert]").inner_text()
    assert "zone1 2." in page.locator(".kitlib-widget [role=status]").inner_text()
    assert "Traceback" not in page.content()


def test_a_picture_whose_kernel_is_busy_says_so_and_is_drawn_when_it_answers(open_cells):
    """As after "Run All Cells" in a notebook on real nodes, where cells take their time."""
    seen = "new MutationObserver(() => window.late ||= document.body.innerText.includes('The kernel is busy'))"
    watch = f"window.kitlibPlotly = undefined; {seen}.observe(document.body, {{subtree: true, childList: true}})"
    script = f"from IPython.display import Javascript\nJavascript({watch!r})"
    page = open_cells(script, CODE, "import time\ntime.sleep(9)")
    page.wait_for_selector(".js-plotly-plot .heatmaplayer")
    assert page.evaluate("() => window.late")
    assert "The kernel is busy" not in page.locator(".kitlib-widget").inner_text()
