"""`kitlib lab` as a newcomer meets it: the start page shows itself, and leads to the first kill explained.

One server for JupyterLab and one for Notebook 7, each started by the command itself. Every address that the page asks
for is recorded: nothing leaves the machine.
"""

from __future__ import annotations

import contextlib
import re

import fronts
import pytest
from test_all_widgets import axe
from visits import Visit, kitlib_lab

WORDS_PER_MINUTE = 180
"""A careful reader of a text that is not in their own language."""

FILLS = (
    "() => [...document.querySelectorAll('.kitlib-start svg :is(.pod rect, .runs)')]"
    ".map((shape) => getComputedStyle(shape).fill)"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Return a function: "lab", "notebook" or "voila" -> (address, what the command printed); started once."""
    with contextlib.ExitStack() as running:
        started = {}

        def served(app):
            if app not in started:
                folder = tmp_path_factory.mktemp(app)
                started[app] = running.enter_context(kitlib_lab(folder, app)), folder / "server.log"
            return started[app]

        yield served


@pytest.fixture
def visit(browser, served):
    """Return a function: an app -> a page of it on which the start page has shown itself."""
    visits = []

    def visit(app="lab", routes=(), **settings):
        made = Visit(browser, served(app)[0], **settings)
        visits.append(made)
        for pattern in routes:
            made.page.route(pattern, routes[pattern])
        made.enter()
        return made

    yield visit
    for made in visits:
        made.page.close()


def test_from_the_command_to_the_first_kill_explained_in_two_minutes_and_three_clicks(visit, served, artifacts):
    made = visit()
    page = made.page
    assert not page.locator(".jp-InputArea-editor:visible").count(), "no code is visible"
    assert not page.locator(".jp-toast-button, .Toastify__toast").count(), "no popup asks for anything"
    assert "killed" not in made.read().replace("expect to be killed", ""), "no spoiler"
    page.screenshot(path=str(artifacts / "start-page-1440.png"))
    assert "rgb(0, 0, 0)" not in page.evaluate(FILLS), "pods and periods are in colour before anything else was opened"
    made.click("^db")
    made.click("Let db grow")
    page.wait_for_selector(".kitlib-start .verdict")
    text = made.read()
    assert "cache is killed" in text and "oom_score_adj" in text
    page.wait_for_timeout(1200)  # the motion, for the picture alone
    page.screenshot(path=str(artifacts / "start-page-killed.png"))
    (artifacts / "start-page-words.txt").write_text(f"{len(text.split())} words, {made.clicks} clicks\n")
    assert made.clicks <= 3
    assert len(text.split()) / WORDS_PER_MINUTE <= 2
    assert not made.outside() and not made.errors, (made.outside(), made.errors)
    said = [line for line in served("lab")[1].read_text().splitlines() if "kitlib: open http" in line]
    assert len(said) == 1, "one line with the address"


def test_one_slider_throttles_by_keyboard_and_the_map_leads_to_the_first_notebook(visit, artifacts):
    made = visit(color_scheme="dark")
    page = made.page
    slider = page.get_by_label("CPU limit in milli-CPU")
    slider.focus()
    slider.press("ArrowLeft")
    page.get_by_text("Limit 400m: quota 40000 µs in every 100 ms.").wait_for()
    for _ in range(16):
        slider.press("ArrowRight")
    page.get_by_text("0 of 10 periods throttled").wait_for()
    for width in (1440, 1024, 760):
        page.set_viewport_size({"width": width, "height": 1000})
        page.screenshot(path=str(artifacts / f"start-page-dark-{width}.png"))
        cut = page.evaluate(
            "() => [...document.querySelectorAll('.kitlib-start *')].filter(e => e.clientWidth &&"
            " e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible').length"
        )
        assert not cut, f"{cut} texts are cut at {width}"
    assert page.locator(".kitlib-start a.card").count() >= 32
    parts = page.locator(".kitlib-start h3").all_inner_texts()
    courses = ["Ninety minutes", "On the node", "The scheduler", "Day two and devices"]
    assert parts == [*courses, "Older articles", "All of it together"]
    page.set_viewport_size({"width": 1440, "height": 4200})
    page.locator(".kitlib-start h3").first.scroll_into_view_if_needed()
    page.screenshot(path=str(artifacts / "start-page-map.png"))
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.get_by_role("link", name=re.compile("^(Begin|Continue): ")).click()
    page.wait_for_selector(".jp-NotebookPanel:not(.kitlib-start-notebook) .jp-Cell")
    assert "01-a-pod-becomes-cgroup-files" in page.url
    assert not made.outside() and not made.errors, (made.outside(), made.errors)


def test_launcher_side_bar_status_bar_and_help_menu_know_the_cluster_and_the_pages(visit, artifacts):
    made = visit()
    page = made.page
    page.locator(".jp-SideBar [data-id=kitlib-panel]").click()
    panel = page.get_by_role("region", name="Cluster and progress")
    page.get_by_text("Kubernetes: simulated kernel").first.wait_for()
    made.click("^log")
    made.click("Let db grow")
    panel.get_by_text("OOMKilled", exact=True).first.wait_for()
    assert {"default/cache", "default/db"} <= set(panel.locator("li span").all_inner_texts())
    page.keyboard.press("Control+Shift+L")
    page.locator(".jp-LauncherCard:visible", has_text="New cluster").first.click()
    panel.get_by_text("node-3").first.wait_for()
    panel.get_by_text("default/web", exact=True).wait_for()
    page.screenshot(path=str(artifacts / "side-bar.png"))
    page.get_by_role("menuitem", name="Help").click()
    page.get_by_role("menuitem", name="kitlib: Limits").click()
    page.get_by_role("heading", name="Limits").first.wait_for()
    assert not made.outside() and not made.errors, (made.outside(), made.errors)


def test_voila_shows_the_page_without_code_and_leads_to_a_notebook_without_code(visit, artifacts):
    made = visit("voila")
    page = made.page
    made.click("^cache")
    made.click("Let db grow")
    page.get_by_text("Right: cache is killed.").wait_for()
    for width in (1440, 760):
        page.set_viewport_size({"width": width, "height": 1000})
        page.screenshot(path=str(artifacts / f"start-page-voila-{width}.png"))
        assert page.evaluate("() => document.scrollingElement.scrollWidth") <= width
    assert page.locator(".jp-InputArea-editor").count() == 0
    address = page.get_by_role("link", name=re.compile("^(Begin|Continue): ")).get_attribute("href")
    assert address == "/voila/render/notebooks/01-a-pod-becomes-cgroup-files.ipynb"
    assert not made.outside() and not made.errors, (made.outside(), made.errors)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_voila_follows_the_theme_that_the_system_prefers_and_changes_with_it(visit, artifacts, dark):
    page = visit("voila", color_scheme="dark" if dark else "light").page
    colours = """() => ["background-color", "color"].map((name) =>
        getComputedStyle(document.body).getPropertyValue(name).match(/\\d+/g).slice(0, 3)
        .reduce((sum, part) => sum + Number(part), 0) / 765)"""

    def is_dark():
        ground, words = page.evaluate(colours)
        assert abs(ground - words) > 0.5, (ground, words)
        return ground < words

    assert page.evaluate("() => document.body.dataset.jpThemeLight") == str(not dark).lower()
    assert is_dark() == dark
    page.screenshot(path=str(artifacts / f"start-page-voila-{'dark' if dark else 'light'}.png"))
    page.emulate_media(color_scheme="light" if dark else "dark")
    page.wait_for_function("dark => document.body.dataset.jpThemeLight === String(dark)", arg=dark)
    assert is_dark() != dark


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_start_page_and_the_side_bar_are_accessible(visit, artifacts, dark):
    made = visit(color_scheme="dark" if dark else "light")
    page = made.page
    page.locator(".jp-SideBar [data-id=kitlib-panel]").click()
    page.get_by_role("region", name="Cluster and progress").wait_for()
    assert page.evaluate("() => document.body.dataset.jpThemeLight") == str(not dark).lower()
    made.click("^db")
    made.click("Let db grow")
    page.wait_for_selector(".kitlib-start .verdict")
    page.wait_for_timeout(1500)  # motion ends, for the contrast that axe computes
    page.screenshot(path=str(artifacts / f"start-page-axe-{'dark' if dark else 'light'}.png"))
    found = axe(page, ".kitlib-start", "#kitlib-panel")
    assert not found, "\n".join(found)


def in_palette(page, name):
    """A command's line in the palette, which closes when a page that is still loading takes the focus."""
    from playwright.sync_api import TimeoutError as TooLate

    box = page.locator(".lm-CommandPalette-input, .jp-CommandPalette input").first
    item = page.locator(".lm-CommandPalette-item", has_text=name).first
    for _ in range(20):
        if not box.is_visible():
            page.keyboard.press("Control+Shift+C")
        with contextlib.suppress(TooLate):
            box.fill(name, timeout=3000)
            item.wait_for(timeout=3000)
            return item
    raise AssertionError(f"the palette does not show {name!r}")


def test_the_start_page_does_not_come_to_the_front_again_over_what_was_opened_meanwhile(visit):
    first = visit().page
    with first.expect_request(lambda one: "/lab/api/workspaces/" in one.url and one.method == "PUT"):
        first.keyboard.press("Control+b")  # the layout is kept: the next page restores the start page itself
    first.close()
    asked, held, opened, folder = [], [], [], re.compile(r"/api/contents(/notebooks)?\?(?=.*content=1)")

    def slow(route):
        if not asked or opened:  # JupyterLab does not start without the first
            route.continue_()
        else:
            held.append(route)
        asked.append(route)

    made = visit(routes={folder: slow})
    page = made.page
    assert not page.locator(".kitlib-start-notebook .jp-Cell.jp-mod-active:visible").count(), "it takes no focus late"
    for _ in range(200):  # until the file browser asks for its folder
        if held:
            break
        page.wait_for_timeout(100)
    assert held, "the file browser is still loading"
    page.keyboard.press("Control+Shift+L")
    launcher = page.locator(".jp-LauncherCard", has_text="New cluster").first
    launcher.wait_for()
    opened.append(launcher)
    for route in held:
        route.continue_()
    page.wait_for_selector(".jp-FileBrowser:not(.jp-mod-restoring)", state="attached")
    page.wait_for_selector(".jp-DirListing-item", state="attached")
    assert launcher.is_visible()
    assert not made.outside() and not made.errors, (made.outside(), made.errors)


def test_the_palette_has_the_kits_commands_and_opens_a_new_cluster(visit):
    made = visit()
    page = made.page
    for name in ("Start here", "Open a lab", "New cluster", "Explain a pending pod", "New scenario"):
        in_palette(page, name)
    in_palette(page, "New scenario").click()
    page.wait_for_selector(".kitlib-widget .kitlib-board-box", timeout=90_000)
    assert not made.outside(), made.outside()


def test_notebook_7_opens_the_same_page_and_its_first_notebook_runs_from_top_to_bottom(visit, artifacts):
    made = visit("notebook")
    page = made.page
    page.get_by_role("link", name=re.compile("^Begin: 01")).click()
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell h1:has-text('01')")
    assert "/notebooks/notebooks/01-a-pod-becomes-cgroup-files.ipynb" in page.url
    fronts.run_all(page, 1)
    page.wait_for_function("() => document.querySelectorAll('.kitlib-lesson').length === 2", timeout=180_000)
    assert "The simulated kernel (chosen by hand)" in page.locator(".kitlib-lesson").first.text_content()
    assert page.locator(".kitlib-verdict").count() >= 3
    assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
    assert page.locator("[data-mime-type='application/vnd.jupyter.error']").count() == 0
    page.screenshot(path=str(artifacts / "notebook-7-first-notebook.png"))
    assert not made.outside(), made.outside()


def test_a_learner_solves_a_lab_with_a_hint_and_goes_on_to_the_next(visit, artifacts):
    made = visit()
    page = made.page
    page.locator(".kitlib-start a.card", has_text="Make this pod Guaranteed").click()
    lab = page.locator(".jp-NotebookPanel:not(.kitlib-start-notebook)")
    title = lab.get_by_role("heading", name=re.compile("^Lab 01"))
    title.wait_for()
    page.screenshot(path=str(artifacts / "lab-page.png"))
    lab.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").wait_for()
    title.click()  # a code cell may stand below the window, where JupyterLab keeps it hidden
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    bench = lab.get_by_role("group", name=re.compile("^Workbench"))
    editor = bench.locator("textarea")
    editor.wait_for()
    lab.locator(".kitlib-graded").first.wait_for()
    lab.get_by_label("Burstable", exact=True).first.check()
    lab.get_by_text("You predicted Burstable; observed: Burstable. Right.").wait_for()
    manifest = editor.input_value()
    editor.fill(manifest.replace("      requests:", "     requests:"))
    bench.get_by_role("button", name="Apply").click()
    bench.get_by_role("alert").wait_for()
    page.screenshot(path=str(artifacts / "lab-refused.png"))
    bench.get_by_role("button", name=re.compile("^Hint: guaranteed")).click()
    bench.get_by_text("Hint 1 of").wait_for()
    whole = "{cpu: 500m, memory: 256Mi}"
    amounts = f"resources:\n      requests: {whole}\n      limits: {whole}"
    editor.fill(re.sub(r"resources:\n.*\n.*", amounts, manifest).rstrip() + f"\n    {amounts}\n")
    bench.get_by_role("button", name="Apply").click()
    bench.get_by_text("Applied.").wait_for()
    bench.get_by_role("button", name="Check").click()
    bench.get_by_text("Solved.").wait_for()
    page.screenshot(path=str(artifacts / "lab-solved.png"))
    lab.get_by_role("link", name=re.compile("Lab 02")).first.click()
    page.get_by_role("heading", name=re.compile("^Lab 02")).wait_for()
    assert not made.outside() and not made.errors, (made.outside(), made.errors)
