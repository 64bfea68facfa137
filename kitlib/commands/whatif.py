"""`kitlib whatif`: the effects of a change on a cluster's pods, tried on a copy of it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from kitlib.commands.arguments import file_name
from kitlib.commands.dump_options import add_dump_options, read_dump, redactor

_OF_KUBELETS = ("pressure", "resize", "vertical")
"""Questions whose answer depends on the kubelets' settings."""


def add(commands: Any) -> None:
    made = commands.add_parser(
        "whatif",
        help="say what would happen to a cluster's pods, without touching it",
        description="Read what kubectl printed (see kitlib explain), carry questions out on a copy, and say which pods "
        "move, wait, are preempted or lost: drain NODE, lose NODE, lose LABEL=VALUE, add NODE [COUNT] (nodes like it), "
        "scale KIND/NAME N, apply FILE, upgrade RELEASE, resize POD [CONTAINER:]cpu=AMOUNT, pressure NODE "
        "memory|disk|inodes|pids, pressure POD memory=AMOUNT (it grows), scale-down (the autoscaler removes nodes), "
        "deschedule, vertical [KIND/NAME] (the vertical autoscaler acts). Several in sequence are parted by "
        '"then": kitlib whatif drain node-1 then add node-2 2. Exit code 0: all pods concerned have a node; 1: one '
        "waits or is lost, something was refused, or a release changes something; 2: bad input; 3: uncertain.",
    )
    made.add_argument("question", nargs="+", help='questions, separated by "then"')
    add_dump_options(made)
    made.add_argument("--force", action="store_true", help="for drain: also evict pods without a controller")
    made.add_argument("--delete-emptydir-data", action="store_true", help="for drain: also evict pods with an emptyDir")
    made.add_argument(
        "--kubelet",
        type=file_name,
        metavar="FILE",
        help="for pressure, resize and vertical: file with the nodes' KubeletConfiguration",
    )
    made.add_argument(
        "--picture", type=file_name, metavar="FILE", help="SVG file for a picture of the nodes before and after"
    )
    made.add_argument("--json", action="store_true", help="print the answer as JSON")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.advisor.what_if import what_if
    from kitlib.advisor.what_if_answer import as_data, in_text
    from kitlib.api.errors import KitError
    from kitlib.kubelet.app.read import read_settings

    dump = read_dump(options)
    questions = [part.strip() for part in " ".join(options.question).split(" then ")]
    if options.kubelet and not any(question.startswith(_OF_KUBELETS) for question in questions):
        raise KitError(f"--kubelet can be used only with the questions {', '.join(_OF_KUBELETS)}")
    settings = read_settings(options.kubelet, release=dump.release) if options.kubelet else None
    flags = {"force": options.force, "delete_emptydir_data": options.delete_emptydir_data}
    found = what_if(dump, questions, settings=settings, **flags)
    hide = redactor(options, dump)
    if options.picture:
        from kitlib.charts.what_if import nodes_before_and_after

        Path(options.picture).write_text(nodes_before_and_after(found, hide), encoding="utf-8")
    print(hide(json.dumps(as_data(found), indent=2, ensure_ascii=False) if options.json else in_text(dump, found)))
    return found.exit_code
