"""`kitlib lab-report FOLDER`: the instructor's table of learners and labs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from kitlib.commands.arguments import file_named, path, whole


def add(commands: Any) -> None:
    made = commands.add_parser(
        "lab-report",
        help="make a table of learners and labs from their progress files",
        description="Read the progress files in FOLDER (NAME.jsonl or NAME/progress.jsonl, or "
        "NAME/LAB/progress.jsonl, as nbgrader collects them) and print a table as CSV, "
        "or write it to a file: .csv, .json, or .html for a page.",
    )
    made.add_argument("folder", help="folder with the progress files")
    made.add_argument("-o", "--output", type=file_named(".csv", ".html", ".json"), help="file to write")
    made.add_argument(
        "--recheck", action="store_true", help="replay every check on this machine, and count only confirmed points"
    )
    made.add_argument(
        "--workers", type=whole(0), metavar="N", help="number of processes (default: the number of processors)"
    )
    made.add_argument(
        "--key",
        type=path,
        metavar="FILE.pub",
        help="public key of the hub that collected FOLDER; verifies its signature",
    )
    made.add_argument(
        "--feedback",
        type=path,
        metavar="FOLDER",
        help="also write a feedback page for each learner, NAME.html, to this folder",
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.api.errors import KitError
    from kitlib.lab import feedback, report
    from kitlib.lab.files import write_whole

    shown = options.recheck and sys.stderr.isatty()
    rows = report.read_learners(
        options.folder, recheck=options.recheck, workers=options.workers, progress=shown, key=options.key
    )
    if not options.recheck:
        print(f"kitlib lab-report: {report.CLAIMED}", file=sys.stderr)
    if report.names_are_good_faith(rows):
        print(f"kitlib lab-report: {report.GOOD_FAITH}", file=sys.stderr)
    if options.feedback is not None:
        print(f"{options.feedback}: {feedback.write(options.feedback, rows)} pages", file=sys.stderr)
    if options.output is None:
        print(report.to_csv(rows), end="")
        return 0
    forms = {".html": report.to_html, ".json": report.to_json, ".csv": report.to_csv}
    text = forms[options.output.suffix](rows)
    try:
        write_whole(options.output, text)
    except OSError as error:
        raise KitError(f"{options.output}: {error.strerror or error}") from error
    print(f"{options.output}: {len(rows)} learners")
    return 0
