"""The course in VS Code, in a folder that was opened there: kernel without a Jupyter server, VS Code's own colours."""

import json

import pytest
import vscode_front

from kitlib.lab import launch

CELLS = (
    """
from kitlib.lab import Lesson
lesson = Lesson("vscode")
cluster = lesson.cluster()
cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [
    {"name": "c", "image": "x", "resources": {"requests": {"cpu": "500m"}}}]}})
display(lesson, cluster, cluster.node().tree(), cluster.decision("a"))
""",
    """
display(cluster.decision("a").filter_frame())  # before the question, which holds it back
display(lesson.ask("q", "Which class?", choices=["Guaranteed", "Burstable"]), lesson.reveal("q", "Burstable", "so"))
cluster.decision("a").filter_frame()
""",
    "from kitlib.widgets import *\nCgroupTreeExplorer(cluster)",
    "SpreadExplorer()",
    "SchedulerBoard()",
    "PodBuilder()",
)
FAINT = """least => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((one, i) => one * a + under[i] * (1 - a));
  const light = (color) => color.map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, i) => sum + one * [0.2126, 0.7152, 0.0722][i], 0);
  const page = rgba(getComputedStyle(document.body).getPropertyValue("--vscode-editor-background")).slice(0, 3);
  const ground = (node) => {
    if (!node || node === document.documentElement) return page;
    return over(rgba(getComputedStyle(node).backgroundColor), ground(node.parentElement));
  };
  const thin = (node) => {
    if (!node) return 1;
    const { opacity, fillOpacity } = getComputedStyle(node);
    return opacity * (node instanceof SVGTextElement ? fillOpacity : 1) * thin(node.parentElement);
  };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const weigh = (node, color, words) => {
    const behind = ground(node), ink = rgba(color);
    const seen = over([...ink.slice(0, 3), ink[3] * thin(node)], behind);
    const [low, high] = [light(seen), light(behind)].sort((one, other) => one - other);
    const contrast = (high + 0.05) / (low + 0.05);
    const where = node.outerHTML.slice(0, 60);
    if (contrast < least) found.push(`${contrast.toFixed(1)} ${words.trim().slice(0, 40)} in ${where}`);
  };
  for (const field of document.querySelectorAll("input[type=text], input[type=number], textarea, select"))
    if (!field.disabled && field.value && field.offsetWidth) weigh(field, getComputedStyle(field).color, field.value);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement, box = node.getBoundingClientRect();
    if (!text.data.trim() || !node.closest(".output_container") || box.width < 2 || box.height < 2) continue;
    if (node.closest("style, script, option, :disabled, .kitlib-bar")) continue;
    const style = getComputedStyle(node);
    weigh(node, node instanceof SVGElement ? style.fill : style.color, text.data);
  }
  return [found, page];
}"""


@pytest.mark.parametrize("front", ["vscode"])
def test_all_texts_can_be_read_in_every_theme(open_cells, servers, front, artifacts):
    outputs = open_cells(*CELLS, height=5200, wait=180)
    last = "() => document.querySelector(\".kitlib-widget [data-handle='0 cpu limits']\")"
    outputs.wait_for_function(last, timeout=90_000)
    page, (_, folder) = outputs.page, servers(front)
    grounds, faint = set(), {}
    for theme in vscode_front.THEMES:
        vscode_front.choose(folder, theme)
        page.wait_for_timeout(1500)
        found, ground = outputs.evaluate(FAINT, 4.5)
        grounds.add(tuple(ground))
        faint[theme] = found
        page.screenshot(path=str(artifacts / f"vscode-{theme.replace(' ', '-').lower()}.png"))
    outputs.evaluate("document.body.classList.add('white-ground')")
    faint["white ground"], _ = outputs.evaluate(FAINT, 4.5)
    vscode_front.choose(folder, vscode_front.THEMES[0])
    assert len(grounds) >= 3, grounds  # the themes were there
    assert not any(faint.values()), "\n".join(f"{theme}: {one}" for theme, all in faint.items() for one in all)


@pytest.mark.parametrize("front", ["vscode"])
def test_the_start_page_and_the_first_lesson_run_in_the_courses_folder(browser, servers, front, artifacts):
    address, folder = servers(front)
    launch.make_course_folder(folder / "course")
    start = launch.first_notebook(folder / "course")
    lesson = start.with_name("01-a-pod-becomes-cgroup-files.ipynb")
    for path in (start, lesson):
        code_cells = sum(cell["cell_type"] == "code" for cell in json.loads(path.read_text())["cells"])
        page = browser.new_page(viewport={"width": 1400, "height": 9000}, reduced_motion="reduce")
        page.set_default_timeout(60_000)
        vscode_front.open_notebook(page, address, folder / "course", "notebooks", path.name)
        outputs = vscode_front.run_all(page, code_cells, wait=240)
        if path == start:
            outputs.locator(".kitlib-start").first.wait_for()
            assert "Capstone" in outputs.locator("body").inner_text()
        else:
            outputs.wait_for_function("() => document.querySelectorAll('.kitlib-verdict').length >= 3", timeout=240_000)
            assert "The simulated kernel" in outputs.locator(".kitlib-lesson").first.inner_text()
            outputs.wait_for_function("() => document.querySelectorAll('.kitlib-widget[role=group]').length >= 1")
            outputs.locator("h1", has_text="A pod becomes cgroup files").wait_for()
        page.screenshot(path=str(artifacts / f"vscode-{path.stem}.png"))
        page.close()


@pytest.mark.parametrize("front", ["vscode"])
def test_keys_that_a_widget_gets_do_nothing_to_the_notebook(open_cells, front):
    outputs = open_cells("from kitlib.widgets import SpreadExplorer\nSpreadExplorer(zones=2, nodes=2)", "'the second'")
    outputs.locator(".kitlib-board-box[data-box='zone1-1'] header > button").focus()
    outputs.page.keyboard.press("+")
    outputs.locator(".kitlib-board-box[data-box='zone1-1'] .kitlib-board-token").wait_for()
    for key in ("x", "o", "d", "d", "a", "b", "ArrowDown", "Delete"):  # the Jupyter keymap's, of a notebook in focus
        outputs.page.keyboard.press(key)
    outputs.page.wait_for_timeout(1000)
    assert outputs.locator(".kitlib-widget").is_visible()
    assert outputs.page.locator(".monaco-list-row .cell.code").count() == 2
