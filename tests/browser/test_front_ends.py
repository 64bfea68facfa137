"""Where else a notebook of the kit may be open: Notebook 7, VS Code, and a page that is no Jupyter at all (Voilà)."""

import pytest

from kitlib.widgets import WIDGETS

STATUS = ".kitlib-widget .kitlib-sentence [role=status]"
TAKES_A_CLUSTER = ("CgroupTreeExplorer", "CgroupWatch", "Timeline")
OUTSIDE_JUPYTER = pytest.mark.parametrize("front", ["voila", "vscode"])
ELSEWHERE = pytest.mark.parametrize("front", ["notebook", "voila", "vscode"])


def says(page, words, place=0):
    """Wait until the sentence of a widget of the page has these words."""
    page.wait_for_function(
        "([where, i, words]) => document.querySelectorAll(where)[i]?.innerText.includes(words)",
        arg=[STATUS, place, words],
        timeout=90_000,
    )


@ELSEWHERE
def test_sliders_lists_and_buttons_are_driven_by_keyboard(open_cells, front):
    page = open_cells(
        'from kitlib.widgets import SpreadExplorer\nw = SpreadExplorer("affinity-and-skew", release="1.23")\nw'
    )
    page.wait_for_selector("[data-press=zone2]")
    says(page, "In 1.23 it stays pending")
    handle = page.get_by_role("slider", name="release").first
    handle.focus()
    handle.press("ArrowRight")
    says(page, "1.24 puts it on worker4")
    handle.press("ArrowUp")
    says(page, "1.25 puts it on worker4")
    page.get_by_text("The constraint's fields").first.click()
    policy = page.get_by_label("nodeAffinityPolicy", exact=True).first
    policy.focus()
    policy.press("ArrowDown")
    says(page, "does not look at nodeAffinityPolicy")
    button = page.get_by_role("button", name="Place the next pod")
    button.focus()
    button.press("Enter")
    says(page, "The constraint allows zone1, zone2")


@pytest.mark.parametrize("front", ["lab", "notebook"])
def test_keys_that_a_widget_gets_do_nothing_to_the_notebook_and_jupyter_keeps_its_own(open_cells, front):
    page = open_cells("from kitlib.widgets import SpreadExplorer\nSpreadExplorer(zones=2, nodes=2)", "'the second'")
    page.wait_for_selector(STATUS)
    page.get_by_role("button", name="Place the next pod").focus()
    page.keyboard.type("ddbxa")  # command mode would delete, cut and insert cells
    page.wait_for_timeout(500)
    assert page.locator(".jp-CodeCell").count() == 2
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector(".jp-InputArea-prompt:has-text('[3]')")


@ELSEWHERE
def test_a_field_and_its_text_follow_each_other_and_a_problem_stands_beside_the_field(open_cells, front):
    page = open_cells("from kitlib.widgets import PodBuilder\nbuilder = PodBuilder()\nbuilder")
    page.wait_for_selector(".kitlib-drawn rect")
    box = page.locator(".kitlib-widget").first
    box.get_by_label("cpu request", exact=True).fill("1")
    box.get_by_label("memory request", exact=True).fill("256Mi")
    says(page, "QoS class Guaranteed")
    assert "cpu: '1'" in box.locator("textarea").input_value()
    box.get_by_label("memory request", exact=True).fill("2Gi")
    page.wait_for_selector(".kitlib-field [role=alert]")
    page.wait_for_selector(".kitlib-field input[aria-invalid=true][aria-describedby]")
    assert "Traceback" not in page.content()


@OUTSIDE_JUPYTER
def test_a_watch_goes_on_drawing_by_itself(open_cells, front):
    page = open_cells(
        "from kitlib.cluster import Cluster\nfrom kitlib.widgets import CgroupWatch\n"
        "cluster = Cluster.simulated(1)\ncluster.apply({'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a'},"
        " 'spec': {'containers': [{'name': 'c', 'image': 'x'}]}})\nwatch = CgroupWatch(cluster, start=True)\nwatch"
    )
    more = "least => +document.querySelector('canvas.kitlib-canvas')?.dataset.samples > least"
    page.wait_for_function(more, arg=3)
    page.wait_for_function(more, arg=15)


@ELSEWHERE
def test_a_table_that_waits_is_filled_by_the_guess(open_cells, front):
    page = open_cells(
        "import os, tempfile\nos.environ['KITLIB_PROGRESS'] = tempfile.mkdtemp()\n"
        "from kitlib.lab import Lesson, table\nlesson = Lesson('fronts', 'simulated')\n"
        "lesson.ask('q', 'Which class?', choices=['Guaranteed', 'Burstable'])",
        "table({'answer': 'forty-one'})",
        "lesson.print('forty-one')",
    )
    held = page.get_by_text("This is shown when you have answered the question above.")
    held.nth(1).wait_for()
    assert page.locator("td, pre", has_text="forty-one").count() == 0
    page.get_by_label("Burstable").check()
    page.locator("td", has_text="forty-one").first.wait_for()
    page.locator("pre", has_text="forty-one").first.wait_for()
    assert held.count() == 0


PICTURES = ".kitlib-plot, .kitlib-board, canvas.kitlib-canvas, .kitlib-grid, .kit-tree, table"


@OUTSIDE_JUPYTER
def test_every_widget_of_the_kit_is_shown_with_its_sentence_and_its_picture(open_cells, front, artifacts):
    made = {name: f"{name}(cluster)" if name in TAKES_A_CLUSTER else f"{name}()" for name in WIDGETS}
    cells = [f"from kitlib.widgets import {name}\n{code}" for name, code in made.items()]
    start = "from kitlib.cluster import Cluster\ncluster = Cluster.simulated(1)"
    page = open_cells(start, *cells, wait=240, height=9000)
    page.wait_for_function(
        "([where, n]) => [...document.querySelectorAll(where)].filter(e => e.innerText.trim()).length >= n",
        arg=[STATUS, len(made)],
        timeout=240_000,
    )
    page.wait_for_function(  # a picture's script comes with its model, after the sentence
        """([pictures, n]) => [...document.querySelectorAll('.kitlib-widget[role=group]')]
            .filter(one => one.querySelector(pictures)).length >= n""",
        arg=[PICTURES + ", svg", len(made)],
        timeout=240_000,
    )
    shown = page.locator(".kitlib-widget[role=group]")
    assert shown.count() == len(made)
    getattr(page, "page", page).screenshot(path=str(artifacts / f"{front}-every-widget.png"))
