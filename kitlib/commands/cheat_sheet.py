"""`kitlib cheat-sheet`: the map and cheat sheet as one page to print."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kitlib.commands.arguments import file_named


def add(commands: Any) -> None:
    made = commands.add_parser(
        "cheat-sheet",
        help="write the map and cheat sheet, one page to print",
        description="Field, file, who enforces it, what you see: one A4 page, its values computed now.",
    )
    made.add_argument(
        "-o", "--output", type=file_named(".html"), default=Path("cheat-sheet.html"), help="path of the page to write"
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.api.errors import KitError
    from kitlib.lab.cheat_sheet import page
    from kitlib.lab.files import write_whole

    try:
        write_whole(options.output, page())
    except OSError as error:
        raise KitError(f"{options.output}: {error.strerror or error}") from error
    print(f"{options.output}: print it from a browser, A4 landscape")
    return 0
