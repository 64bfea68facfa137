"""`kitlib site`: a static JupyterLite site with the course, the kit's wheel and the widgets' front ends."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin

import pytest

from kitlib.advisor import first_kill as kill
from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.lab import share, site
from kitlib.lab.bundle import own_wheel
from kitlib.lab.site_server import site_server
from kitlib.widgets import WIDGETS
from tests import venvs

ROOT = Path(__file__).parents[2]


def test_a_notebook_for_the_browser_names_the_browsers_kernel_and_is_else_the_same() -> None:
    path = ROOT / "notebooks" / "01-a-pod-becomes-cgroup-files.ipynb"
    before = json.loads(path.read_text())
    made = site.for_the_browser(before)
    assert made["cells"] == before["cells"], "no cell above the title"
    assert made["metadata"]["kernelspec"]["name"] == "python"


def test_what_is_missing_or_in_the_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "NEEDS", ("no_such_package",))
    with pytest.raises(KitError, match=r"no-such-package is not installed: pip install 'kitlib\[site\]'"):
        site.build_site(tmp_path / "site")
    monkeypatch.setattr(site, "NEEDS", ())
    (tmp_path / "mine").write_text("")
    with pytest.raises(KitError, match="the folder exists and is not a site"):
        site.build_site(tmp_path)
    with pytest.raises(KitError, match=r"pyodide.tar.bz2: no such file; it must be a Pyodide distribution"):
        site.build_site(tmp_path / "site", pyodide=tmp_path / "pyodide.tar.bz2")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """The environment, the site that its `kitlib site` built (twice: in its own place), and what it said."""
    folder = tmp_path_factory.mktemp("site")
    place = Path(os.environ.get("KITLIB_SITE_ENVIRONMENT") or folder / "venv")
    python, wheel = venvs.make(place), own_wheel(folder)
    venvs.install(python, f"{wheel}[site]")
    venvs.install(python, str(wheel), again=True)
    for _ in range(2):
        said = run(str(place / "bin" / "kitlib"), "site", str(folder / "public"))
    return place, folder / "public", said


def run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=560)
    assert done.returncode == 0, f"{command}\n{done.stdout[-1000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.workshop
def test_the_site_holds_course_kit_and_front_ends(built: tuple[Path, Path, str]) -> None:
    _, folder, said = built
    labs = list((ROOT / "labs").glob("*/lab.ipynb"))
    assert f"{len(list((ROOT / 'notebooks').glob('*.ipynb'))) + len(labs)} notebooks" in said
    for room in ("notebooks", "labs"):
        assert {p.name for p in (folder / "files" / room).iterdir()} == {
            p.name for p in (ROOT / room).iterdir() if not p.name.startswith((".", "__"))
        }
    assert not list(folder.rglob("solution"))
    listed = json.loads((folder / "pypi" / "all.json").read_text())
    assert {"kitlib", *(name.replace("_", "-") for name in site.WHEELS)} <= {n.replace("_", "-") for n in listed}
    extensions = {p.parent.name for p in (folder / "extensions").rglob("package.json")}
    assert {"pyodide-kernel-extension", "jupyterlab-manager", "anywidget", "kitlib"} <= extensions
    options = json.loads((folder / "jupyter-lite.json").read_text())["jupyter-config-data"]
    assert (options["kitlibStart"], options["kitlibSite"]) == ("00-start-here.ipynb", "yes")
    front = (folder / "index.html").read_text()
    assert "lab/index.html?path=notebooks/00-start-here.ipynb" in front and "location.hash" in front
    assert "<table>" in (folder / "docs" / "course.html").read_text()


@pytest.mark.workshop
def test_the_site_has_pages_about_the_public_interface(built: tuple[Path, Path, str]) -> None:
    _, folder, said = built
    page = (folder / "api" / "kitlib" / "kubelet" / "cm" / "conversions.html").read_text()
    assert "milli_cpu_to_shares" in page and "MilliCPUToShares" in page
    pages = sorted((folder / "api").rglob("*.html"))
    assert len(pages) > 150
    assert f"{len(pages)} pages about modules" in said


FROM_PYPI = (
    "asttokens decorator executing ipython jedi matplotlib-inline micropip parso prompt-toolkit pure-eval pygments "
    "rich six stack-data traitlets wcwidth typing-extensions"
)
"""Of Pyodide's distribution: what JupyterLite's kernel starts with. PyPI has the same versions."""
MSGSPEC = "0.22.0"
IN_THE_PAGE = """
import json, piplite
await piplite.install("kitlib", deps=False)
import msgspec, yaml
from pyodide.http import open_url
names = {"__name__": "pure_rooms"}
exec(open_url("ADDRESS/static/pure_rooms.py").read(), names)
print("FOUND", json.dumps([names["kubelet"](), names["oom"](1), names["oom"](2)]), "END")
"""


NUMPY = os.environ.get("KITLIB_PYODIDE_NUMPY")
"""A wheel of numpy for Pyodide (a file), or None: only Pyodide's own servers have one, which the gate does not ask."""


def distribution(environment: Path, folder: Path, numpy: str | None = None) -> None:
    """Put Pyodide into a folder as far as npm and PyPI carry it: PyYAML in pure Python, numpy where it is given."""
    python = str(environment / "bin" / "python")
    constants = "from jupyterlite_pyodide_kernel import constants as c; print(c.PYODIDE_VERSION)"
    version = run(python, "-c", constants).strip()
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"private": true}')
    run("npm", "install", "--no-audit", "--no-fund", "--silent", f"pyodide@{version}", cwd=folder)
    for file in (folder / "node_modules" / "pyodide").iterdir():
        file.rename(folder / file.name)
    lock = json.loads((folder / "pyodide-lock.json").read_text())
    packages, tag = lock["packages"], f"pyemscripten_{lock['info']['abi_version']}_wasm32"
    pip = [python, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--python-version", "3.14"]
    run(*pip, *(f"{name}=={packages[name]['version']}" for name in FROM_PYPI.split()), cwd=folder)
    run(*pip, "--platform", tag, "--implementation", "cp", "--abi", "cp314", f"msgspec=={MSGSPEC}", cwd=folder)
    packages["msgspec"] |= {"version": MSGSPEC, "file_name": next(folder.glob("msgspec-*.whl")).name}
    packages["pyyaml"] |= {"file_name": pure_yaml(folder).name}
    if numpy:
        packages["numpy"] |= {"file_name": Path(shutil.copy(numpy, folder)).name}
    for package in packages.values():
        file = folder / package["file_name"]
        if file.exists():
            package["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    (folder / "pyodide-lock.json").write_text(json.dumps(lock))


def pure_yaml(folder: Path) -> Path:
    """A wheel of the Python half of the PyYAML that is installed here."""
    import yaml

    made, info = folder / f"pyyaml-{yaml.__version__}-py3-none-any.whl", f"pyyaml-{yaml.__version__}.dist-info"
    with zipfile.ZipFile(made, "w") as wheel:
        for file in sorted(Path(yaml.__file__).parent.glob("*.py")):
            wheel.write(file, f"yaml/{file.name}")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: PyYAML\nVersion: {yaml.__version__}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return made


@contextmanager
def served(built: tuple[Path, Path, str], public: Path, numpy: str | None = None) -> Iterator[str]:
    """Yield the address of a site with Python inside and a notebook of all widgets, served by `kitlib site --serve`."""
    environment, source, _ = built
    shutil.copytree(source, public)
    distribution(environment, public / "static" / "pyodide", numpy)
    shutil.copy(ROOT / "tests" / "pyodide" / "pure_rooms.py", public / "static")
    settings = json.loads((public / "jupyter-lite.json").read_text())
    options = settings["jupyter-config-data"]
    options["litePluginSettings"][site.KERNEL_PLUGIN]["pyodideUrl"] = "./static/pyodide/pyodide.mjs"
    options["exposeAppInBrowser"] = True
    (public / "jupyter-lite.json").write_text(json.dumps(settings))
    assert site.python_from(public) == ""
    add_notebook(public, WIDGETS_HERE, [SCENE, *(SHOWN.format(call) for call in MADE.values()), "w.QueueTheatre"])
    server = site_server(public, prefix="/kitlib/")  # as GitHub Pages serves a repository's site
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/kitlib"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def address(built: tuple[Path, Path, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a site whose Python has no numpy."""
    with served(built, tmp_path_factory.mktemp("served") / "public") as found:
        yield found


def add_notebook(public: Path, name: str, cells: list[str]) -> None:
    """Put a notebook into a built site, and into its list of files."""
    rest: dict[str, Any] = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    whole = {"cells": [{**rest, "id": f"c{i}", "source": source} for i, source in enumerate(cells)]}
    text = json.dumps({**whole, "metadata": site.KERNEL, "nbformat": 4, "nbformat_minor": 5})
    (public / "files" / "notebooks" / name).write_text(text)
    listed = public / "api" / "contents" / "notebooks" / "all.json"
    folder = json.loads(listed.read_text())
    path = {"name": name, "path": f"notebooks/{name}", "size": len(text)}
    folder["content"].append({**folder["content"][0], **path})
    listed.write_text(json.dumps(folder))


@contextmanager
def chromium(address: str) -> Iterator[Any]:
    """Yield a page of a browser, and fail if the page sent requests to other sites."""
    found = os.environ.get("KITLIB_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if found is None or importlib.util.find_spec("playwright") is None:
        missing = "no chromium on this machine" if found is None else "playwright is not installed"
        if "workshop" in os.environ.get("KITLIB_REQUIRE", "").split(","):
            pytest.fail(missing)
        pytest.skip(missing)
    from playwright import sync_api as playwright

    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        made = browser.new_page(viewport={"width": 1300, "height": 900})
        elsewhere: list[str] = []
        # JupyterLite asks its own service worker by a path from the root, wherever the site is
        inside = (address, urljoin(address, "/api/service-worker-heartbeat"))
        made.on("request", lambda r: None if r.url.startswith(inside) else elsewhere.append(r.url))
        yield made
        browser.close()
    assert not [url for url in elsewhere if not url.startswith(("data:", "blob:"))]


@pytest.fixture
def page(address: str) -> Iterator[Any]:
    with chromium(address) as made:
        yield made


@pytest.mark.workshop
def test_in_a_page_the_kit_computes_the_worked_example_and_kills_a_pod(address: str, page: Any) -> None:
    """The site opens in a real browser: JupyterLite's console, its kernel, the kit's wheel; no server computes."""
    with Cluster.simulated(nodes=[dict(kill.NODE)]) as cluster:
        kill.run(cluster)
        link = share.link(cluster)
    code = quote(IN_THE_PAGE.replace("ADDRESS", address))
    page.goto(f"{address}/repl/index.html?kernel=python&execute=1&code={code}")
    page.wait_for_selector(".jp-OutputArea-output", timeout=180_000)
    page.wait_for_function("() => /END|Error/.test(document.body.innerText)", timeout=120_000)
    shown = "\n".join(o.inner_text() for o in page.query_selector_all(".jp-OutputArea-output"))
    page.goto(f"{address}/")  # the start page shows itself, without numpy too
    page.wait_for_selector(".kitlib-start h1", timeout=180_000)
    page.locator(".kitlib-start button.pod.db").click()
    page.get_by_role("button", name="Let db grow").click()
    page.wait_for_selector(".kitlib-start .verdict", timeout=120_000)
    verdict = page.locator(".kitlib-start .verdict").inner_text()
    page.goto("about:blank")
    page.goto(f"{address}/{link}")
    page.wait_for_selector(".jp-OutputArea-output:has-text('SimulatedCluster')", timeout=180_000)
    assert verdict.endswith("cache is killed.")
    assert "FOUND" in shown, shown[-2000:]
    kubelet, first, second = json.loads(shown.partition("FOUND ")[2].partition(" END")[0])
    assert kubelet["nginx-demo1 cpu.shares"] == "512" and kubelet["differences v1"] == kubelet["differences v2"] == 0
    for oom in (first, second):
        assert oom == {"reason": "OOMKilled", "exit code": 137, "restarts": 2, "kernel log": True}


WIDGETS_HERE = "widgets-here.ipynb"
SHOWN = """
try:
    display({})
except KitError as error:  # the cells behind it are to run too
    print(error)
"""
SCENE = """
import kitlib.widgets as w
from IPython.display import display
from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.lab import Lesson
POD = '''
apiVersion: v1
kind: Pod
metadata: {name: NAME, annotations: {kitlib.dev/workload.app: "cpu=2 memory=100Mi"}}
spec:
  nodeName: node-1
  containers:
  - {name: app, image: x, resources: {requests: {cpu: 250m}, limits: {cpu: 500m, memory: 400Mi}}}
'''
cluster = Cluster.simulated(1, cpus=4, memory="4Gi", scheduler=False)
for name in ("web", "db"):
    cluster.apply(POD.replace("NAME", name))
cluster.advance(3)
Lesson("01")
"""
OF_A_CLUSTER = ("CgroupTreeExplorer", "CgroupWatch", "NodeBar", "Timeline")
MADE = {name: f"w.{name}({'cluster' if name in OF_A_CLUSTER else ''})" for name in WIDGETS}
NEED_NUMPY = {
    *("ExplainBoard", "PreemptionStage", "QueueTheatre", "ReleaseDifference", "ReleaseSwitch", "SchedulerBoard"),
    "SpreadExplorer",
    "WhatIfStage",
}
"""The modules that show the scheduler, which needs numpy; neither PyPI nor npm has it for Pyodide."""
CELLS = """() => [...window.jupyterapp.shell.widgets("main")].find((one) => one.content?.widgets).content.widgets
  .filter((cell) => cell.model.type === "code")
  .map((cell) => ({ ran: cell.model.executionCount, outputs: cell.model.outputs.toJSON() }))"""
RAN = (
    f"() => {{ const cells = ({CELLS})(); return cells.every((cell) => cell.ran)"
    " || cells.some((cell) => cell.outputs.some((one) => one.output_type === 'error')); }"
)
"""All code cells have run, or one has failed, which ends *Run All*."""


def run_all(page: Any, address: str, path: str) -> list[dict[str, Any]]:
    """Open a notebook of the site, press *Run All* at the first moment, and return its code cells when all have run."""
    page.goto(f"{address}/lab/index.html?path={path}")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=180_000)
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    page.wait_for_function(RAN, timeout=480_000)  # Python has to be loaded, on a machine with other work
    found: list[dict[str, Any]] = page.evaluate(CELLS)
    return found


VIEW = "application/vnd.jupyter.widget-view+json"


def texts(cell: dict[str, Any]) -> str:
    """Return what the outputs of a cell say: streams by their text, others by their media types."""
    return "\n".join("".join(one.get("text", "")) or " ".join(one.get("data", ())) for one in cell["outputs"]).strip()


@pytest.mark.workshop
def test_run_all_at_the_first_moment_waits_for_python_and_every_widget_opens(address: str, page: Any) -> None:
    """Pressed before there is a kernel, it was dropped without a word; before the packages, it ended in a traceback."""
    scene, *cells, last = run_all(page, address, f"notebooks/{WIDGETS_HERE}")
    assert not [one for one in scene["outputs"] if one["output_type"] == "error"], scene
    lesson = "".join(scene["outputs"][-1]["data"]["text/html"])
    assert "Python runs in this page" in lesson and "docker" not in lesson, lesson
    said = dict(zip(MADE, map(texts, cells), strict=True))
    assert {name for name, text in said.items() if VIEW in text} == set(MADE) - NEED_NUMPY, said
    lacking = "needs numpy, which could not be loaded here"
    assert {name: said[name] for name in NEED_NUMPY} == {name: f"{name} {lacking}" for name in NEED_NUMPY}
    box, failed = last["outputs"]  # an error of the kit ends its cell, with the box that says what and how to go on
    assert lacking in "".join(box["data"]["text/html"]) and failed["evalue"] == f"QueueTheatre {lacking}"
    page.evaluate("() => document.querySelector('.jp-WindowedPanel-outer').scrollTo(0, 1e6)")
    page.wait_for_selector(".kitlib-widget[role=group][aria-label=Timeline] .kitlib-sentence [role=status]")
    place = page.locator(".kitlib-wait").inner_text()
    assert place.startswith("Not available here: numpy, so the scheduler") and "plotly" not in place


if NUMPY:

    @pytest.fixture(scope="module")
    def whole_address(built: tuple[Path, Path, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
        """Yield the address of a site whose Python has numpy, as Pyodide's own distribution does."""
        with served(built, tmp_path_factory.mktemp("whole") / "public", NUMPY) as found:
            yield found

    @pytest.mark.workshop
    def test_with_numpy_every_widget_opens_in_the_page(whole_address: str) -> None:
        with chromium(whole_address) as page:
            _, *cells, _ = run_all(page, whole_address, f"notebooks/{WIDGETS_HERE}")
            said = dict(zip(MADE, map(texts, cells), strict=True))
            assert {name for name, text in said.items() if VIEW in text} == set(MADE), said

    @pytest.mark.workshop
    @pytest.mark.parametrize("number", ["01", "05", "13"])
    def test_with_numpy_run_all_runs_a_notebook_in_the_page(number: str, whole_address: str) -> None:
        """Notebooks with data frames are not asked: PyPI has no pandas for this Pyodide either."""
        (notebook,) = (ROOT / "notebooks").glob(f"{number}-*.ipynb")
        with chromium(whole_address) as page:
            cells = run_all(page, whole_address, f"notebooks/{notebook.name}")
            assert not [one for cell in cells for one in cell["outputs"] if one["output_type"] == "error"]
