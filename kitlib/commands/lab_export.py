"""`kitlib lab-export FOLDER`: the labs as assignments of nbgrader."""

from __future__ import annotations

import argparse
from typing import Any

from kitlib.commands.arguments import path


def add(commands: Any) -> None:
    made = commands.add_parser(
        "lab-export",
        help="write the labs as nbgrader assignments",
        description="Write source/LAB/LAB.ipynb with a graded cell for each task into FOLDER, an nbgrader course: then "
        "nbgrader generate_assignment LAB there. The kit must be installed where nbgrader grades. The cells write what "
        "was done to progress.jsonl beside the notebook; kitlib lab-report FOLDER/submitted --recheck replays it.",
    )
    made.add_argument("folder", type=path, help="folder of the nbgrader course")
    made.add_argument("labs", nargs="*", help="names of the labs (default: all)")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.lab.nbgrader import export

    written = export(options.folder, tuple(options.labs))
    print(f"{options.folder}: {len(written)} assignments in source")
    return 0
