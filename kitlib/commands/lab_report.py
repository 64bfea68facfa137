"""`kitlib lab-report FOLDER`: the instructor's table of learners and labs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from kitlib.commands.arguments import file_named, whole


def add(commands: Any) -> None:
    made = commands.add_parser(
        "lab-report",
        help="make a table of learners and labs from their progress files",
        description="Read the progress files in FOLDER (NAME.jsonl or NAME/progress.jsonl) and print a table as CSV, "
        "or write it to a file: .csv, or .html for a page.",
    )
    made.add_argument("folder", help="where the progress files are")
    made.add_argument("-o", "--output", type=file_named(".csv", ".html"), help="write to this file: .csv or .html")
    made.add_argument("--recheck", action="store_true", help="replay every check here; count what that confirms")
    made.add_argument(
        "--workers", type=whole(0), metavar="N", help="processes (default: as many as there are processors)"
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.api.errors import KitError
    from kitlib.lab import report
    from kitlib.lab.files import write_whole

    shown = options.recheck and sys.stderr.isatty()
    rows = report.read_learners(options.folder, recheck=options.recheck, workers=options.workers, progress=shown)
    if not options.recheck:
        print("kitlib lab-report: points are what the learners' files claim; --recheck replays them", file=sys.stderr)
    if options.output is None:
        print(report.to_csv(rows), end="")
        return 0
    text = report.to_html(rows) if options.output.suffix == ".html" else report.to_csv(rows)
    try:
        write_whole(options.output, text)
    except OSError as error:
        raise KitError(f"{options.output}: {error.strerror or error}") from error
    print(f"{options.output}: {len(rows)} learners")
    return 0
