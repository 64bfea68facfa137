"""`kitlib site`: the course as a static JupyterLite site. Python runs in the reader's browser, the server has files.

The site opens on the start page. The notebooks use JupyterLite's kernel; the kit's extension loads the kit from a
wheel inside the site before their first cell, with a progress bar, and shows an error if Python cannot be loaded. The
reference pages are under `docs/`, pages about the public interface under `api/`. The widgets' packages are in the site
too; numpy, msgspec, pandas and PyYAML come from Pyodide's own distribution: from its servers, or from the site itself
if a distribution is given. Without numpy, everything except the scheduler works. A browser has no processes: labs are
checked in the notebook's own process there, so their points are for the learner alone.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kitlib.api.errors import KitError
from kitlib.lab.api_pages import build_api_pages
from kitlib.lab.bundle import own_wheel, run_pip
from kitlib.lab.cheat_sheet import page
from kitlib.lab.launch import JUPYTER, START, make_course_folder
from kitlib.lab.pages import pages, rendered, title_of
from kitlib.lab.server import START_OPTION
from kitlib.lab.start.first_scene import KERNEL_PLUGIN, put_first_scene

NEEDS = ("jupyterlite_core", "jupyterlite_pyodide_kernel", "jupyter_server", "pdoc")
WHEELS = (
    *("comm", "ipywidgets", "jupyterlab_widgets", "anywidget", "psygnal", "plotly", "narwhals"),
    *("rich", "markdown-it-py", "mdurl", "pygments"),
)
"""Pure Python packages that Pyodide's distribution lacks; they are added to the site."""
PYTHON = "3.14"
"""Python version of the Pyodide that JupyterLite's kernel uses."""
KERNEL = {"kernelspec": {"display_name": "Python (Pyodide)", "language": "python", "name": "python"}}


@dataclass(frozen=True)
class Site:
    """The site that was built.

    Attributes:
        folder: the folder to put on a web server.
        notebooks: number of notebooks.
        api_pages: number of pages about modules in its folder `api`.
        bytes: total size of the files in bytes.
    """

    folder: Path
    notebooks: int
    api_pages: int
    bytes: int


def build_site(folder: str | Path, *, pyodide: str | Path | None = None) -> Site:
    """Build the site in a new `folder`.

    Args:
        folder: a path that does not exist, or a site that this function built.
        pyodide: a Pyodide distribution (.tar.bz2) to include, so that readers need no other server; None = not
            included.

    Raises:
        KitError: JupyterLite is not installed, `folder` holds something else, or the build fails.
    """
    missing = [name for name in NEEDS if find_spec(name) is None]
    if missing:
        raise KitError(f"{missing[0].replace('_', '-')} is not installed: pip install 'kitlib[site]'")
    target = Path(folder).expanduser().resolve()
    if target.exists() and not (target / "jupyter-lite.json").exists() and any(target.iterdir()):
        raise KitError(f"{target}: the folder exists and is not a site; choose another folder")
    if pyodide is not None and not Path(pyodide).is_file():
        raise KitError(f"{pyodide}: no such file; it must be a Pyodide distribution (.tar.bz2)")
    with tempfile.TemporaryDirectory(prefix="kitlib-site-") as temporary:
        work = Path(temporary)
        make_course_folder(work / "course")
        (work / "course" / ".kitlib-course.json").unlink()
        notebooks = sorted((work / "course").rglob("*.ipynb"))
        for path in notebooks:
            text = json.dumps(
                for_the_browser(json.loads(path.read_text(encoding="utf-8"))), indent=1, ensure_ascii=False
            )
            path.write_text(text + "\n", encoding="utf-8")
        _settings(work)
        (work / "pypi").mkdir()
        own_wheel(work / "pypi")
        pure = ("--only-binary=:all:", "--platform", "any", "--python-version", PYTHON, "--implementation", "py")
        run_pip("download", "--no-deps", *pure, "--abi", "none", "--dest", str(work / "pypi"), *WHEELS)
        command = [
            "--lite-dir",
            temporary,
            "--contents",
            "course",
            "--output-dir",
            str(work / "site"),
            "--no-sourcemaps",
        ]
        if not (Path(sys.prefix) / "share" / "jupyter" / "labextensions" / "kitlib").is_dir():
            command += [f"--FederatedExtensionAddon.extra_labextensions_path={JUPYTER / 'share' / 'labextensions'}"]
        if pyodide is not None:
            command += ["--pyodide", str(Path(pyodide).resolve())]
        done = subprocess.run(
            [sys.executable, "-m", "jupyterlite_core", "build", *command], cwd=work, capture_output=True, text=True
        )
        if done.returncode or not (work / "site" / "jupyter-lite.json").exists():
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["it said nothing"]
            raise KitError(f"jupyter lite build failed: {last[0]}")
        (work / "site" / "cheat-sheet.html").write_text(page(), encoding="utf-8")
        modules = build_api_pages(work / "site" / "api")
        _front(work / "site")
        put_first_scene(work / "site")
        try:
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(work / "site", target)
        except OSError as error:
            raise KitError(f"{target}: {error.strerror or error}") from error
    return Site(target, len(notebooks), modules, sum(p.stat().st_size for p in target.rglob("*") if p.is_file()))


def python_from(site: Path) -> str:
    """Return the host from which readers' browsers load Python; "" if the site includes it."""
    read = json.loads((site / "jupyter-lite.json").read_text(encoding="utf-8"))
    plugins = read["jupyter-config-data"].get("litePluginSettings", {})
    return urlsplit(str(plugins.get(KERNEL_PLUGIN, {}).get("pyodideUrl", ""))).netloc


def for_the_browser(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the notebook for JupyterLite's kernel."""
    return {**notebook, "metadata": {**notebook.get("metadata", {}), **KERNEL}}


def _settings(work: Path) -> None:
    """Write the page's settings: the start notebook, the location of Python, the kit's overrides."""
    from jupyterlite_pyodide_kernel import constants

    kernel = {"pyodideUrl": f"{constants.PYODIDE_CDN_URL}/pyodide.mjs"}
    options = {
        START_OPTION: START,
        "kitlibSite": "yes",
        "appName": "kitlib",
        "litePluginSettings": {KERNEL_PLUGIN: kernel},
    }
    lite = {"jupyter-lite-schema-version": 0, "jupyter-config-data": options}
    (work / "jupyter-lite.json").write_text(json.dumps(lite, indent=1), encoding="utf-8")
    overrides = JUPYTER / "config" / "labconfig" / "default_setting_overrides.json"
    shutil.copy(overrides, work / "overrides.json")


def _front(site: Path) -> None:
    """Write the first page, which opens the start page and keeps the fragment, and the reference pages as HTML."""
    target = f"lab/index.html?path=notebooks/{START}"
    (site / "index.html").write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>kitlib</title>'
        '<meta name="viewport" content="width=device-width">'
        '<script id="jupyter-config-data" type="application/json" data-jupyter-lite-root=".">{}</script>'
        '<script>const shared = location.hash.startsWith("#kitlib=");'
        f'location.replace((shared ? "lab/index.html" : "{target}") + location.hash)</script>'
        "<h1>kitlib</h1><p>How Kubernetes enforces resources, and how its scheduler decides.</p>"
        f'<p><a href="{target}">Start here</a> · <a href="docs/index.html">Reference</a> · '
        '<a href="api/index.html">Modules</a></p></html>\n',
        encoding="utf-8",
    )
    folder = site / "docs"
    folder.mkdir()
    texts = pages()
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(rendered(text), encoding="utf-8")
    listed = "\n".join(f"* [{title_of(text)}]({name}.md)" for name, text in texts.items())
    (folder / "index.html").write_text(rendered(f"# Reference\n\n{listed}\n"), encoding="utf-8")
