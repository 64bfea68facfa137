"""`kitlib site FOLDER`: the course as a static JupyterLite site."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    made = commands.add_parser(
        "site",
        help="build the course as a static site",
        description="Build a JupyterLite site in FOLDER, for any web server: Python runs in the reader's browser, on "
        "the simulated kernel. Needs pip install 'kitlib[site]'.",
    )
    made.add_argument("folder", type=Path, nargs="?", help="the site; made new")
    made.add_argument(
        "--badge", action="store_true", help="print Binder's badge for the checkout in this folder instead"
    )
    made.add_argument("--pyodide", type=Path, metavar="FILE", help="a Pyodide distribution (.tar.bz2) to put in")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.badge:
        from kitlib.lab.badge import binder_badge

        print(binder_badge(Path.cwd()))
        return 0
    if options.folder is None:
        from kitlib.api.errors import KitError

        raise KitError("site: which folder? kitlib site FOLDER")
    from kitlib.lab.site import build_site

    made = build_site(options.folder, pyodide=options.pyodide)
    size = f"{made.bytes / 2**20:.0f} MiB"
    print(f"{made.folder}: {made.notebooks} notebooks, {made.api_pages} pages about modules in api/, {size}")
    print(f"Look at it: python3 -m http.server --directory {made.folder}")
    return 0
