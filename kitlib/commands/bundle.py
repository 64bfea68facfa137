"""`kitlib bundle`: one archive with wheels, course and node image, for a room without internet."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    made = commands.add_parser(
        "bundle",
        help="make one archive for a room without internet",
        description="Collect the kit, the packages it needs, the course and (if given) the node image into one "
        "archive. There: unpack it and run python3 install.py. It fits this machine's platform and Python version.",
    )
    made.add_argument("output", type=Path, help="the archive: NAME.tar.gz or NAME.tar")
    made.add_argument("--image", type=Path, help="a node image saved with kitlib image save")
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.lab.bundle import make_bundle

    made = make_bundle(options.output, image=options.image)
    image = "with the node image" if made.image else "without a node image"
    print(f"{made.path}: {made.wheels} wheels, {made.bytes / 2**20:.0f} MiB, {image}")
    return 0
