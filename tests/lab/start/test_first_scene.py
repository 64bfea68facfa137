"""The start page before Python is there: what it shows is what the real one shows, and JupyterLab's page holds it."""

import json
import re

from kitlib.advisor import first_kill as kill
from kitlib.lab.launch import START
from kitlib.lab.start.first_scene import PYODIDE, first_page, first_scene, put_first_scene
from kitlib.lab.start.page import make_page
from kitlib.widgets._parts.start_page import StartPage


def site_of(folder):
    (folder / "lab").mkdir()
    (folder / "pypi").mkdir()
    (folder / "lab" / "index.html").write_text("<html><head><title>x</title></head><body><p>lab</p></body></html>")
    (folder / "pypi" / "kitlib-1.0-py3-none-any.whl").write_text("")
    return folder


def test_the_still_scene_is_the_one_that_python_shows(tmp_path, monkeypatch):
    monkeypatch.setenv("KITLIB_PROGRESS", str(tmp_path))
    page = make_page("simulated")
    still = first_scene()
    assert still["scene"] == page.scene and still["course"] == page.course
    assert [pod["name"] for pod in still["scene"]["pods"]] == [pod.name for pod in kill.PODS]


def test_a_readers_progress_is_not_built_into_a_site(tmp_path, monkeypatch):
    from kitlib.lab.progress import Progress

    monkeypatch.setenv("KITLIB_PROGRESS", str(tmp_path))
    Progress().record("exercise", "01-a-pod-becomes-cgroup-files", "x", 1, 1)
    assert {card["state"] for card in first_scene()["course"]["cards"]} == {"new"}


def test_the_page_of_jupyterlab_holds_the_scene_and_asks_for_python_at_once(tmp_path):
    put_first_scene(site_of(tmp_path))
    html = (tmp_path / "lab" / "index.html").read_text()
    head = html.partition("</head>")[0]
    assert "../pypi/kitlib-1.0-py3-none-any.whl?sha256=e3b0c442" in head and all(name in head for name in PYODIDE)
    assert head.index("<script>") < head.index("<title>")  # before anything of JupyterLab
    assert html.index("<p>lab</p>") < html.index('id="kitlib-first"') < html.index("</body>")
    assert html.count("</script>") == 2 and json.dumps(START) in html  # nothing in a script ends it
    assert "Whom does the kernel kill?" in html


def test_the_scene_needs_nothing_from_elsewhere():
    page = first_page()
    assert len(page) < 120_000 and "src=" not in page.replace("src=${", "") and "import(" not in page


def test_the_page_shows_progress_only_while_the_reader_waits():
    page = StartPage({"run": lambda: seen.append(page.progress) or report("2 of 4 pods run.", 0.4)})
    seen: list[dict[str, object]] = []

    def report(text: str, part: float) -> None:
        page.progress = {"text": text, "part": part}
        seen.append(page.progress)

    page._heard(page, {"kind": "run"}, None)
    assert seen == [{}, {"text": "2 of 4 pods run.", "part": 0.4}] and page.progress == {}


def test_the_start_page_brings_every_token_that_it_uses() -> None:
    """No widget and no lesson has brought the style sheet of the tokens on a first visit."""
    used = set(re.findall(r"var\((--kit-[\w-]+)", str(StartPage._esm)))
    assert used and used <= set(re.findall(r"(--kit-[\w-]+):", str(StartPage._esm)))
