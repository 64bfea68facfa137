"""`kitlib whatif`: what would happen to a cluster's pods, tried on a copy of it."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kitlib.advisor.dump import Dump
    from kitlib.advisor.what_if import WhatIf


def add(commands: Any) -> None:
    made = commands.add_parser(
        "whatif",
        help="say what would happen to a cluster's pods, without touching it",
        description="Read what kubectl printed (see kitlib explain), carry questions out on a copy, and say which pods "
        "move, wait, are preempted or lost: drain NODE, lose NODE, lose LABEL=VALUE, add NODE [COUNT] (nodes like it), "
        "scale KIND/NAME N, apply FILE, upgrade RELEASE, resize POD cpu=AMOUNT. Several in sequence are parted by "
        '"then": kitlib whatif drain node-1 then add node-2 2. Exit code 0: all pods concerned have a node; 1: one '
        "waits or is lost, something was refused, or a release changes something; 2: bad input; 3: uncertain.",
    )
    made.add_argument("question", nargs="+", help='words of the questions, parted by "then"')
    made.add_argument("-f", "--file", action="append", help="what kubectl printed (default: standard input)")
    made.add_argument("--live", action="store_true", help="read the cluster of your kubeconfig instead (only lists)")
    made.add_argument("--context", default="", help="of the kubeconfig; reads that cluster as --live does")
    made.add_argument("--kubeconfig", default="", help="its path, with --live (default: $KUBECONFIG, ~/.kube/config)")
    made.add_argument("--release", help="the release whose behaviour is followed (default: the newest)")
    made.add_argument("--force", action="store_true", help="of drain: pods without a controller go too")
    made.add_argument("--delete-emptydir-data", action="store_true", help="of drain: pods with an emptyDir go too")
    made.add_argument("--redact", action="store_true", help="replace the names of nodes, pods and labels")
    made.add_argument("--json", action="store_true", help="print the answer as JSON")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.advisor.dump import Dump
    from kitlib.advisor.live_cluster import read_cluster
    from kitlib.advisor.redact import Redactor
    from kitlib.advisor.what_if import what_if
    from kitlib.api.errors import KitError

    if (options.live or options.context) and options.file:
        raise KitError("--live and --file exclude each other")
    if options.live or options.context:
        dump = read_cluster(options.kubeconfig, context=options.context, release=options.release)
    else:
        dump = Dump.read(*(options.file or [sys.stdin]), release=options.release)
    questions = [part.strip() for part in " ".join(options.question).split(" then ")]
    found = what_if(dump, questions, force=options.force, delete_emptydir_data=options.delete_emptydir_data)
    hide = Redactor(dump.objects).text if options.redact else str
    print(hide(json.dumps(_data(found), indent=2, ensure_ascii=False) if options.json else _text(dump, found)))
    return found.exit_code


def _data(found: WhatIf) -> dict[str, Any]:
    return {
        "questions": list(found.questions),
        "sentence": found.sentence,
        "effects": [asdict(one) for one in found.effects],
        "refused": list(found.refused),
        "changes": list(found.changes),
        "notModelled": [asdict(gap) for gap in found.gaps],
    }


def _text(dump: Dump, found: WhatIf) -> str:
    lines = [found.sentence]
    rows = [("POD", "BECOMES", "FROM", "TO", "WHY")]
    rows += [(one.pod, one.kind, one.before or "-", one.after or "-", one.why) for one in found.effects]
    if len(rows) > 1:
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        cells = ["  ".join([*(row[i].ljust(widths[i]) for i in range(4)), row[4]]).rstrip() for row in rows]
        lines += ["", *cells]
    if found.changes:
        lines += ["", *found.changes]
    if found.gaps:
        lines += ["", f"Not taken into account: {'; '.join(map(str, found.gaps))}."]
    if dump.unknown_release_text:
        lines += ["", f"A newer release: {dump.unknown_release_text}."]
    return "\n".join(lines)
