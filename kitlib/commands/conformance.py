"""`kitlib conformance FILE…`: replay cases that real Kubernetes computed, and report differences."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from kitlib.commands.arguments import whole


def add(commands: Any) -> None:
    made = commands.add_parser(
        "conformance",
        help="replay cases computed by real Kubernetes and compare every field",
        description="Replay files of cases (JSON Lines, plain or .gz) that were computed by real Kubernetes code, and "
        "compare every output field. Exit code 0: all passed; 1: a case failed; 2: a file could not be read.",
    )
    made.add_argument(
        "files", nargs="+", metavar="FILE", help="file of cases; the file name determines the kind of the cases"
    )
    made.add_argument("--kind", default="", help="kind of all files, if the file names do not state it")
    made.add_argument("--no-batches", action="store_true", help="schedule identical pods one by one, not in batches")
    made.add_argument("--every", type=whole(1), default=1, metavar="N", help="check only every Nth case (default: 1)")
    made.add_argument(
        "--differences",
        type=whole(0),
        default=5,
        metavar="N",
        help="number of differences to show for each file (default: 5)",
    )
    made.add_argument("--json", action="store_true", help="print the results as JSON")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if not options.no_batches:
        return _run(options)
    from kitlib.scheduler.incremental.batch import no_batches

    with no_batches():
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    from kitlib.api.errors import KitError
    from kitlib.conformance import runner

    results: list[dict[str, Any]] = []
    worst = 0
    for file in options.files:
        try:
            result = runner.run_file(file, options.kind, options.every)
        except KitError as error:
            results.append({"file": file, "error": str(error)})
            worst = 2
            if not options.json:
                sys.stderr.write(f"kitlib: {error}\n")
            continue
        results.append(result.to_dict())
        worst = max(worst, int(result.failed > 0))
        if not options.json:
            print(result, flush=True)
            for difference in result.differences[: options.differences]:
                print(f"  {difference}")
            left = len(result.differences) - options.differences
            if left > 0:
                print(f"  and {left} more differences")
    if options.json:
        print(json.dumps(results, indent=2, ensure_ascii=False))
    return worst
