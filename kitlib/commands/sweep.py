"""`kitlib sweep FILE`: a scenario over a grid of parameters and seeds, as a table, a CSV file or a page."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from typing import Any

from kitlib.commands.arguments import file_named, number, path, whole


def add(commands: Any) -> None:
    made = commands.add_parser(
        "sweep",
        help="compute a scenario over a grid of parameters and seeds",
        description="Read a scenario with parameters, a grid and metrics from FILE (YAML or JSON), compute every point "
        "in as many processes as there are processors, and print the means. Exit code 0: all points were computed; 1: "
        "a point ended in an error; 2: the file could not be read.",
    )
    made.add_argument("file", type=path, help="YAML file of the sweep (see kitlib/docs/sweeps.md)")
    made.add_argument(
        "-o",
        "--output",
        type=file_named(".csv", ".html"),
        help="file for all rows: .csv, or .html with the picture",
    )
    made.add_argument(
        "--results", type=path, metavar="FILE", help="append each row to this file; continue from the file if it exists"
    )
    made.add_argument(
        "--retry-errors", action="store_true", help="compute points again if their stored row is an error"
    )
    made.add_argument(
        "--workers",
        type=whole(0),
        metavar="N",
        help="number of processes (default: the number of processors; 0: no separate process)",
    )
    made.add_argument("--client", metavar="ADDRESS", help="address of a Dask scheduler that runs the points")
    made.add_argument(
        "--timeout",
        type=number(0, above=True),
        metavar="SECONDS",
        help="maximum seconds for each point (default: no limit)",
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.api.errors import KitError
    from kitlib.lab.files import write_whole
    from kitlib.study.sweeps.definition import SweepDefinition

    definition = SweepDefinition.read(options.file)
    found = definition.sweep().run(
        workers=options.workers,
        client=options.client,
        file=options.results,
        retry_errors=options.retry_errors,
        timeout=options.timeout,
        progress=sys.stderr.isatty(),
    )
    if options.output is not None:
        text = _csv(found) if options.output.suffix == ".csv" else _page(found, definition)
        try:
            write_whole(options.output, text)
        except OSError as error:
            raise KitError(f"{options.output}: {error.strerror or error}") from error
        print(f"{options.output}: {len(found.rows)} rows")
    else:
        _print_means(found)
    for row in found.errors[:5]:
        print(f"{row.point}: {row.error}", file=sys.stderr)
    print(found, file=sys.stderr)
    return int(bool(found.errors))


def _print_means(found: Any) -> None:
    """Print a line for each point, over all seeds: means of numbers, frequencies of names."""
    from kitlib.lab.tables import table
    from kitlib.study.sweeps.grid import SEED

    by = [name for name in found.parameters if name != SEED]
    lines: dict[Any, dict[str, Any]] = {}
    for column in found.columns:
        values = [row.values.get(column) for row in found.rows if not row.error]
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        measured = found.mean(column, *by) if numbers else found.share(column, *by)
        for place, value in measured.items():
            names = dict(zip(by, place if len(by) != 1 else (place,), strict=True))
            shown = value if numbers else ", ".join(f"{one} {100 * part:.0f}%" for one, part in value.items())
            lines.setdefault(place, names)[column] = shown
    print(table(list(lines.values())))


def _csv(found: Any) -> str:
    out, rows = io.StringIO(), found.table()
    writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _page(found: Any, definition: Any) -> str:
    import html

    import msgspec

    from kitlib.charts import heat_map, share_bars, small_multiples

    wanted, rows = definition.chart, found.table()
    parts: list[str] = []
    if wanted is not None and not wanted.y:
        parts = [share_bars(rows, wanted.x, wanted.value).svg()]
    elif wanted is not None and wanted.panel:
        parts = [small_multiples(rows, wanted.x, wanted.y, wanted.value, wanted.panel).svg()]
    elif wanted is not None:
        parts = [heat_map(rows, wanted.x, wanted.y, wanted.value).svg()]
    head = "".join(f'<th scope="col">{html.escape(str(name))}</th>' for name in rows[0]) if rows else ""
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(_cell(v))}</td>' for v in row.values())}</tr>" for row in rows)
    origin = ", ".join(f"{name} {value}" for name, value in msgspec.to_builtins(found.provenance).items())
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(repr(found))}</title>'
        "<style>body{font:15px system-ui;margin:2em}table{border-collapse:collapse}th,td{border:1px solid #bbb;"
        f"padding:.2em .5em;text-align:left}}</style><h1>{html.escape(repr(found))}</h1>{''.join(parts)}"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p><small>{html.escape(origin)}</small></p>"
        "</html>\n"
    )


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
