"""The start page before Python is there: its first scene, drawn by the page's own script, with the guess kept.

In the browser-only room Python takes half a minute to load. The page that JupyterLab is loaded into holds the scene's
data and the start page's script, so that there is something to look at and to guess within a second; the real page
takes the guess over when it comes, and the still one goes away.
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
"""Files that every start of Pyodide asks for."""
_MARK = "</body>"
KERNEL_PLUGIN = "@jupyterlite/pyodide-kernel-extension:kernel"
"""JupyterLite's plugin whose settings name the place of Pyodide."""


def first_scene() -> dict[str, Any]:
    """Return what the start page shows before a kernel answers, for a reader who has no progress."""
    with tempfile.TemporaryDirectory() as nothing:
        progress = Progress(nothing)
        kernel = {"real": False, "title": "Simulated kernel", "how": HOW["simulated"], "get": ""}
        return {"scene": scene_of(progress), "course": course_of(progress), "kernel": kernel}


def first_page() -> str:
    """Return the HTML that shows it: the kit's style, a layer over JupyterLab, and the script that fills it."""
    source = script("start.js", STYLE=text("start.css")) + script("first.js", STATE=first_scene(), START=START)
    return (
        f"<style>{style()}{text('first.css')}</style>"
        '<div id="kitlib-first" hidden></div>'
        f'<script type="module">{source.replace("</", "<" + chr(92) + "/")}</script>'
    )


def early(site: Path) -> str:
    """Return the HTML that asks at once for what Python's start needs and JupyterLab asks for only later.

    The site's settings name the place of Pyodide, and may be edited after the site was built, so that the page reads
    them; the kit's wheel is in the site.
    """
    found = sorted((site / "pypi").glob("kitlib-*.whl"))
    hashes = [
        hashlib.sha256(path.read_bytes()).hexdigest() for path in found
    ]  # piplite asks with it: one address, one load
    wheels = [f"../pypi/{path.name}?sha256={digest}" for path, digest in zip(found, hashes, strict=True)]
    return f"<script>{script('early.js', WHEELS=wheels, NAMES=PYODIDE, PLUGIN=KERNEL_PLUGIN)}</script>"


def put_first_scene(site: Path) -> None:
    """Write the scene and the early requests into the page of JupyterLab."""
    page = site / "lab" / "index.html"
    head, mark, tail = page.read_text(encoding="utf-8").replace("<head>", f"<head>{early(site)}", 1).rpartition(_MARK)
    page.write_text(f"{head}{first_page()}{mark}{tail}", encoding="utf-8")
