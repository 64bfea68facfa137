"""`kitlib bundle`: one archive with wheels, course and node image, for a room without internet."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from kitlib.commands.arguments import file_named, path


def add(commands: Any) -> None:
    made = commands.add_parser(
        "bundle",
        help="make one archive for a room without internet",
        description="Collect the kit, the packages it needs, the course and the node image into one archive; the image "
        "where a container engine answers that has it. There: unpack it and run python3 install.py. It fits this "
        "machine's platform and every patch release of its Python version, or those that are listed.",
    )
    made.add_argument(
        "output", type=file_named(".tar.gz", ".tgz", ".tar"), help="archive to write: NAME.tar.gz or NAME.tar"
    )
    image = made.add_mutually_exclusive_group()
    image.add_argument("--image", type=path, help="node image that was saved with kitlib image save")
    image.add_argument("--no-image", action="store_true", help="do not include the node image")
    made.add_argument(
        "--python",
        nargs="+",
        default=[],
        metavar="VERSION",
        help="Python versions, for example 3.11 3.13 (default: the current one)",
    )
    made.add_argument(
        "--platform",
        nargs="+",
        default=[],
        metavar="NAME",
        help="linux-x86_64, linux-aarch64, windows-x86_64, macos-arm64 or macos-x86_64 (default: this machine's)",
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.lab.bundle import make_bundle, save_image

    with tempfile.TemporaryDirectory(prefix="kitlib-image-") as temporary:
        image, why = options.image, "left out"
        if image is None and not options.no_image:
            image, why = save_image(Path(temporary))
        made = make_bundle(options.output, image=image, pythons=options.python, platforms=options.platform)
    said = "with the node image" if made.image else f"without a node image ({why})"
    print(f"{made.path}: {made.wheels} wheels, {made.bytes / 2**20:.0f} MiB, {said}")
    return 0
