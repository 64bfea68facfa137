"""`kitlib report`: a page about a cluster: waiting pods and their causes, requests, limits, budgets, quotas, risks."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from kitlib.commands.dump_options import add_dump_options, read_dump, redactor


def add(commands: Any) -> None:
    made = commands.add_parser(
        "report",
        help="write one page about a cluster: what waits and why, requests, limits, budgets, quotas, risks",
        description="Read what kubectl printed (see kitlib explain) and write one page, HTML without scripts or "
        "Markdown: what waits by stage and owner, requests against capacity, use where PodMetrics were read, limits, "
        "budgets that block drains, quotas near their end, and findings by severity with the way out. Exit code 1: a "
        "finding has at least the severity of --fail-on; 2: bad input.",
    )
    add_dump_options(made)
    made.add_argument(
        "-o", "--output", metavar="FILE", help="file to write, FILE.html or FILE.md (default: print Markdown)"
    )
    made.add_argument("--json", action="store_true", help="print the report as JSON")
    made.add_argument(
        "--fail-on",
        choices=("high", "medium", "low"),
        default="",
        help="exit with code 1 if a finding has at least this severity",
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.advisor.report import as_data, report
    from kitlib.api.errors import KitError
    from kitlib.views.report_page import as_html, as_markdown

    target = Path(options.output) if options.output else None
    if target is not None and target.suffix not in (".html", ".md"):
        raise KitError(f"--output {target}: the file name must end with .html or .md")
    dump = read_dump(options)
    found = report(dump)
    hide = redactor(options, dump)
    if target is not None:
        page = as_html(found, hide) if target.suffix == ".html" else as_markdown(found, hide)
        target.write_text(page, encoding="utf-8")
    if options.json:
        print(hide(json.dumps(as_data(found), indent=2, ensure_ascii=False)))
    elif target is None:
        print(as_markdown(found, hide), end="")
    else:
        print(hide(found.summary))
    return found.exit_code(options.fail_on)
