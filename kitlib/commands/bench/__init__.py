"""`kitlib bench`: the speed of the kit on this machine, in comparable figures.

Imported by the command line alone. Face: `add`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kitlib.commands.arguments import whole
from kitlib.commands.bench.figures import Figure

RUNS = 3
MEASURED = ("enforcement", "apply", "scheduler", "load", "http", "minutes", "scale", "explain", "sweep")


def add(commands: Any) -> None:
    made = commands.add_parser(
        "bench",
        help="measure how fast the kit is here",
        description="Measure on one core; the median of several runs is printed. enforcement: pods turned into desired "
        "cgroup configurations, and whole trees. apply: objects through API server, controllers and hollow nodes. "
        "scheduler: the workloads of the scheduler benchmark, pods per second. load: a manifest file, and the plain "
        "YAML reader as the reference. http: lists and watches over HTTPS, and the work behind them as the "
        "reference. minutes: a simulated node's time. scale: pods of ten ReplicaSets on 5,000 hollow nodes, and "
        "5,000 of them as the reference. explain: a pending pod of a dump of 5,000 nodes, and of one in which no two "
        "pods are alike, in a process of its own. "
        "sweep: scenarios in one process and in two, which must find the same (not on one core).",
    )
    made.add_argument("what", choices=MEASURED, help="benchmark to run")
    made.add_argument("--pods", type=whole(1), help="number of pods (enforcement: 10000, scale: 100000, …)")
    made.add_argument(
        "--nodes", type=whole(1), action="append", help="number of nodes for the benchmark scheduler; can be repeated"
    )
    made.add_argument(
        "--workload",
        action="append",
        help="workload for the benchmark scheduler: basic, spread, antiaffinity, preempt, mixed or unlike",
    )
    made.add_argument("--points", type=whole(1), help="number of scenarios for the benchmark sweep (default: 10000)")
    made.add_argument("--runs", type=whole(1), default=RUNS, help=f"number of runs (default: {RUNS})")
    made.add_argument("--json", action="store_true", help="print the results as JSON")
    made.add_argument(
        "--compare",
        metavar="REV",
        help="compare with this Git revision: run both in turn and print the ratio of their speeds",
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.api.errors import KitError

    belongs = {"--workload": "scheduler", "--nodes": "scheduler", "--points": "sweep"}
    for option, what in belongs.items():
        if options.what != what and getattr(options, option[2:]) is not None:
            raise KitError(f"{option} can be used only with kitlib bench {what}, not with {options.what}")
    if options.compare:
        return _compare(options)
    figures = _measures()[options.what](options)
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        for figure in figures:
            print(_line(figure), flush=True)
    return 0


def _measures() -> dict[str, Callable[[argparse.Namespace], list[Figure]]]:
    from kitlib.commands.bench import http, parts, scale

    known = (
        parts.enforcement,
        parts.apply,
        parts.scheduler,
        parts.load,
        parts.minutes,
        parts.sweep,
        http.http,
        scale.scale,
        scale.explain,
    )
    return {one.__name__: one for one in known}


def _line(figure: Figure) -> str:
    text = f"{figure['what']:<58} {figure['seconds']:9.3f} s {figure['per_second']:12.0f} {figure['unit']}/s"
    return text + (f" {figure['ratio']:6.2f} times the reference" if "ratio" in figure else "")


def _compare(options: argparse.Namespace) -> int:
    """Measure both revisions in turn, each in its own process, and print median, minimum and maximum of the ratios."""
    root = Path(__file__).parents[3]
    asked = ["--pods", str(options.pods)] if options.pods else []
    for size in options.nodes or ():
        asked += ["--nodes", str(size)]
    each: list[list[str]] = [[]]
    if options.what == "scheduler":
        from kitlib.study import bench

        each = [["--workload", name] for name in options.workload or bench.WORKLOADS]
    with tempfile.TemporaryDirectory() as place:
        other = Path(place) / "other"
        _git(root, "worktree", "add", "--detach", "--quiet", str(other), options.compare)
        try:
            for more in each:
                arguments = [options.what, "--json", "--runs", "1", *asked, *more]
                pairs = [
                    (_figures(root, arguments), _figures(other, arguments, missing={}))
                    for _ in range(max(1, options.runs))
                ]
                print_ratios(pairs, options.compare)
        finally:
            _git(root, "worktree", "remove", "--force", str(other))
    return 0


def print_ratios(pairs: list[tuple[dict[str, float], dict[str, float]]], revision: str) -> None:
    for what in pairs[0][0]:
        ratios = sorted(theirs[what] / ours[what] for ours, theirs in pairs if what in theirs)
        if not ratios:
            print(f"{what:<58} is not measured by {revision}", flush=True)
            continue
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        print(f"{what:<58} {statistics.median(ratios):6.2f} times as fast as {revision} ({spread})", flush=True)


def _git(root: Path, *arguments: str) -> None:
    from kitlib.api.errors import KitError

    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise KitError(f"kitlib bench --compare: git {arguments[0]} {arguments[-1]} failed: {done.stderr.strip()}")


def _figures(tree: Path, arguments: list[str], missing: dict[str, float] | None = None) -> dict[str, float]:
    """Return figure -> seconds from a checkout's `kitlib bench`; if that fails, `missing` unless it is None."""
    from kitlib.api.errors import KitError

    command = [sys.executable, "-m", "kitlib.cli", "bench", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    if done.returncode and missing is not None:
        return missing
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise KitError(
            f"kitlib bench --compare: kitlib bench in {tree.name} ended with exit code {done.returncode}: {last}"
        )
    return {figure["what"]: figure["seconds"] for figure in json.loads(done.stdout)}
