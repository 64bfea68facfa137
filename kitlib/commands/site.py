"""`kitlib site FOLDER`: the course as a static JupyterLite site."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kitlib.commands.arguments import path, port


def add(commands: Any) -> None:
    made = commands.add_parser(
        "site",
        help="build the course as a static site",
        description="Build a JupyterLite site in FOLDER, for any web server: Python runs in the reader's browser, on "
        "the simulated kernel. Needs pip install 'kitlib[site]'.",
    )
    made.add_argument("folder", type=path, nargs="?", help="folder for the site; an existing site is replaced")
    made.add_argument(
        "--badge",
        action="store_true",
        help="print the Binder badge of the checkout in this folder instead of creating a site",
    )
    made.add_argument(
        "--pyodide", type=path, metavar="FILE", help="Pyodide distribution (.tar.bz2) to include in the site"
    )
    made.add_argument("--serve", action="store_true", help="serve the site in FOLDER on this machine")
    made.add_argument("--port", type=port, default=8000, help="port for --serve (default: 8000)")
    made.add_argument(
        "--prefix",
        metavar="PATH",
        default="/",
        help="path of the site for --serve, for example /kitlib/ as on GitHub Pages (default: /)",
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.badge:
        from kitlib.lab.badge import binder_badge

        print(binder_badge(Path.cwd()))
        return 0
    if options.folder is None:
        from kitlib.api.errors import KitError

        raise KitError("FOLDER is required: kitlib site FOLDER")
    if options.serve:
        return _serve(options)
    if options.prefix != "/":
        from kitlib.api.errors import KitError

        raise KitError("--prefix requires --serve; a site works below any path without it")
    from kitlib.lab.site import build_site, python_from

    made = build_site(options.folder, pyodide=options.pyodide)
    size = f"{made.bytes / 2**20:.0f} MiB"
    print(f"{made.folder}: {made.notebooks} notebooks, {made.api_pages} pages about modules in api/, {size}")
    needed = python_from(made.folder)
    if needed:
        print(f"Readers need the network for Python, from {needed}; --pyodide FILE puts it into the site")
    print(f"Look at it: kitlib site {made.folder} --serve")
    return 0


def _serve(options: argparse.Namespace) -> int:
    from kitlib.lab.site_server import site_server

    with site_server(options.folder, options.port, options.prefix) as server:
        print(f"{options.folder}: http://127.0.0.1:{server.server_address[1]}{options.prefix} until Ctrl-C", flush=True)
        server.serve_forever()
    return 0
