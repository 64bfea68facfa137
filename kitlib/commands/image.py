"""`kitlib image`: build the image of real nodes, or transfer it to a room without internet.

kitlib image build                      on Debian, which is fetched once
kitlib image build --base my/debian     on an image that is there
kitlib image build --root root.tar      on a root file system (debootstrap, docker export), without any network
kitlib image build --systemd            the larger image, for nodes with --cgroup-driver=systemd
kitlib image save nodes.tar             write it to a file, and elsewhere:
kitlib image load nodes.tar
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from kitlib.commands.arguments import file_named


def add(commands: Any) -> None:
    made = commands.add_parser(
        "image",
        help="build, save or load the image of real nodes",
        description="The image that real nodes run: Debian with crun and the kit's own library; built on this machine.",
    )
    does = made.add_subparsers(title="what to do", metavar="ACTION", required=True)
    building = does.add_parser("build", help="build it; its packages are fetched only the first time")
    given = building.add_mutually_exclusive_group()
    given.add_argument("--base", default="", metavar="IMAGE", help="base image (default: debian:bookworm-slim)")
    given.add_argument("--root", metavar="PATH", help="root file system to build from: a tar archive or a directory")
    building.add_argument(
        "--systemd", action="store_true", help="build the larger image for nodes with the systemd cgroup driver"
    )
    building.add_argument("--quiet", action="store_true", help="do not show the output of the engine")
    building.set_defaults(run=build)
    saving = does.add_parser("save", help="write it to a file")
    saving.add_argument("file", type=file_named(".tar"), help="path of the image archive, NAME.tar")
    saving.set_defaults(run=save)
    loading = does.add_parser("load", help="read it from such a file")
    loading.add_argument("file", help="path of an archive that kitlib image save wrote")
    loading.set_defaults(run=load)


def build(options: argparse.Namespace) -> int:
    from kitlib.node.real import engine, image

    began = time.monotonic()
    client = engine.connect()
    try:
        name = image.build(
            client,
            base=options.base,
            root=options.root,
            systemd=options.systemd,
            tell=(lambda text: None) if options.quiet else lambda text: _say(f"  {text}"),
        )
        size = client.images.get(name).attrs["Size"]
    finally:
        client.close()
    print(f"{name}: {size / 1e6:.0f} MB, built in {time.monotonic() - began:.1f} s")
    return 0


def save(options: argparse.Namespace) -> int:
    from kitlib.node.real import engine, image

    client = engine.connect()
    try:
        size = image.save(client, options.file)
    finally:
        client.close()
    print(f"{options.file}: {size / 1e6:.0f} MB; elsewhere: kitlib image load {options.file}")
    return 0


def load(options: argparse.Namespace) -> int:
    from kitlib.node.real import engine, image

    client = engine.connect()
    try:
        names = image.load(client, options.file)
    finally:
        client.close()
    print(
        "\n".join(
            [
                f"loaded {len(names)} image{'s' if len(names) > 1 else ''} from {options.file}:",
                *(f"  {name}" for name in names),
            ]
        )
    )
    return 0


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
