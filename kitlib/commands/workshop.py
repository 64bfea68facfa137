"""`kitlib workshop FOLDER`: JupyterHub with limits for each learner, the learners' image, the instructor's guide."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    made = commands.add_parser(
        "workshop",
        help="write a JupyterHub recipe and the instructor's guide",
        description="Write into FOLDER: guide.md for the instructor, jupyterhub_config.py with limits for each "
        "learner, the Dockerfile of the learners' image and the kit's wheel. Files that you have changed are kept.",
    )
    made.add_argument("folder", type=Path, help="where the files go")
    made.add_argument("--learners", type=int, default=30, help="servers at once (default: 30)")
    made.add_argument("--memory", type=int, default=600, metavar="MB", help="for each learner (default: 600)")
    made.add_argument("--cpus", type=float, default=1.0, help="that one learner may use (default: 1)")
    made.add_argument("--processes", type=int, default=200, help="that one learner may have (default: 200)")
    made.add_argument("--no-wheel", action="store_true", help="leave the kit's wheel out")
    made.add_argument(
        "--wheels",
        action="store_true",
        help="put in all wheels of the learners' image: it is then built without an index",
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.workshop import Limits, write

    limits = Limits(options.learners, options.memory, options.cpus, options.processes)
    done = write(options.folder, limits, wheel=not options.no_wheel, wheels=options.wheels)
    print(f"{done.folder}: {', '.join(done.files)}")
    for name in done.kept:
        print(f"{done.folder / name}: kept as you changed it")
    print(f"Begin with {done.folder / 'guide.md'}")
    return 0
