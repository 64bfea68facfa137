"""`kitlib lab`: copy the course into a folder and open it in JupyterLab, Notebook 7 or Voilà on its start page."""

from __future__ import annotations

import argparse
from typing import Any

from kitlib.commands.arguments import file_name, port


def add(commands: Any) -> None:
    made = commands.add_parser(
        "lab",
        help="open the course in JupyterLab or Notebook 7",
        description="Copy the notebooks and labs into FOLDER (files that you have changed are kept) and open "
        "JupyterLab there, or Notebook 7. Notebooks use real nodes where a container engine answers, the simulated "
        "kernel elsewhere.",
    )
    made.add_argument(
        "folder",
        type=file_name,
        nargs="?",
        default="kitlib-course",
        help="your course folder (default: kitlib-course), or a shared link to open",
    )
    made.add_argument(
        "--nodes",
        choices=("auto", "docker", "kubernetes", "simulated"),
        default="auto",
        help="kind of nodes that the notebooks use",
    )
    made.add_argument(
        "--app",
        choices=("lab", "notebook", "voila"),
        default="lab",
        help="JupyterLab (default), Notebook 7, or Voilà (pages without code)",
    )
    made.add_argument("--no-browser", action="store_true", help="do not open a browser")
    made.add_argument("--port", type=port, help="port of the server (default: 8888, or the next free port)")
    made.add_argument("--lab-seed", metavar="N", help="variant of every lab (default: a separate one for each learner)")
    made.add_argument("--copy-only", action="store_true", help="create the course folder, and do not start a server")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import os

    from kitlib.lab import launch
    from kitlib.lab.share import state_in
    from kitlib.lab.variant import check_seed

    link = options.folder if "://" in options.folder or options.folder.startswith("#") else ""
    if link:
        state_in(link)
        options.folder = "kitlib-course"
    if options.lab_seed is not None:
        os.environ["KITLIB_LAB_SEED"] = str(check_seed(options.lab_seed, "--lab-seed"))
    if options.copy_only:
        copied = launch.make_course_folder(options.folder)
        counts = f"{len(copied.added)} new, {len(copied.updated)} updated, {len(copied.kept)} kept as you changed them"
        print(f"{copied.folder}: {counts}")
        return 0
    launch.launch(
        options.folder, options.app, nodes=options.nodes, browser=not options.no_browser, port=options.port, link=link
    )
    return 0
