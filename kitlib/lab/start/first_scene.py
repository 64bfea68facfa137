"""The first scene of the start page, drawn by the page's own script while Python loads; it keeps the guess.

Without a server, Python takes half a minute to load in the browser. JupyterLab's page contains the scene's data and
the start page's script, so that the scene is visible within a second. The real page takes over the guess and replaces
it.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

from kitlib.lab.launch import START
from kitlib.lab.progress import Progress
from kitlib.lab.start.page import HOW, course_of, scene_of
from kitlib.widgets._parts.page import script, style, text

PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
"""Files that every start of Pyodide requests."""
_MARK = "</body>"
KERNEL_PLUGIN = "@jupyterlite/pyodide-kernel-extension:kernel"
"""JupyterLite's plugin whose settings contain the location of Pyodide."""


def first_scene() -> dict[str, Any]:
    """Return the data of the start page for a reader without progress, used before a kernel answers."""
    with tempfile.TemporaryDirectory() as nothing:
        progress = Progress(nothing)
        kernel = {"real": False, "title": "Simulated kernel", "how": HOW["simulated"], "get": ""}
        return {"scene": scene_of(progress), "course": course_of(progress), "kernel": kernel}


def first_page() -> str:
    """Return the HTML of the first scene: the kit's style, a layer over JupyterLab, and the script that fills it."""
    source = script("start.js", STYLE=text("start.css")) + script("first.js", STATE=first_scene(), START=START)
    return (
        f"<style>{style()}{text('first.css')}</style>"
        '<div id="kitlib-first" hidden></div>'
        f'<script type="module">{source.replace("</", "<" + chr(92) + "/")}</script>'
    )


def early(site: Path) -> str:
    """Return the HTML that requests at once the files that Python's start needs and JupyterLab requests only later.

    The page reads the location of Pyodide from the site's settings, since these may be edited after the build; the
    kit's wheel is in the site.
    """
    found = sorted((site / "pypi").glob("kitlib-*.whl"))
    hashes = [
        hashlib.sha256(path.read_bytes()).hexdigest() for path in found
    ]  # piplite's address has the digest too, so the browser loads the wheel once
    wheels = [f"../pypi/{path.name}?sha256={digest}" for path, digest in zip(found, hashes, strict=True)]
    return f"<script>{script('early.js', WHEELS=wheels, NAMES=PYODIDE, PLUGIN=KERNEL_PLUGIN)}</script>"


def put_first_scene(site: Path) -> None:
    """Write the scene and the early requests into JupyterLab's page."""
    page = site / "lab" / "index.html"
    head, mark, tail = page.read_text(encoding="utf-8").replace("<head>", f"<head>{early(site)}", 1).rpartition(_MARK)
    page.write_text(f"{head}{first_page()}{mark}{tail}", encoding="utf-8")
