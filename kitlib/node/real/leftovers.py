"""The images that a build leaves on the engine when its process is killed: layers that are finished, without a name.

Each stage of the kit's Dockerfiles begins with labels, among them the process that builds, so that every layer names
its owner and no two builds share one. A layer is removed when its owner has ended; the layers of a build that runs in
another process, on another machine or in another pid namespace stay.

Source: moby builder/dockerfile: each instruction commits an image, which stays without a name if the build ends early.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from kitlib.node.real.container import OWNER, owner, runs_here

LABEL = "dev.kitlib.image"
_STAGE = re.compile(rb"^FROM .*\n(?!FROM )", re.MULTILINE)
"""The first line of a stage that has instructions; one without any makes no layer."""
_NAMELESS_FOR = timedelta(days=1)
"""The age at which a nameless image of an earlier version is removed: those name no owner."""


def labelled(dockerfile: bytes, name: str) -> bytes:
    """Return a Dockerfile in which each stage begins with the labels of the image and of its owner, this process."""
    labels = f'LABEL {LABEL}="{name}" {OWNER}="{owner()}"\n'.encode()
    return _STAGE.sub(lambda found: found[0] + labels, dockerfile)


def remove_unfinished(client: Any, of: Callable[[str], bool] = lambda held: runs_here(held) is False) -> list[str]:
    """Remove nameless images of the kit, and return their ids.

    Args:
        client: client of the engine.
        of: returns whether the images of an owner are to be removed; by default those of ended processes of this
            machine.
    """
    removed = []
    for found in client.api.images(filters={"dangling": True, "label": LABEL}):
        held = (found.get("Labels") or {}).get(OWNER, "")
        if of(held) if held else _is_old(found.get("Created")):
            with suppress(Exception):  # a container uses it, or another process removes it too
                client.api.remove_image(found["Id"])
                removed.append(str(found["Id"]))
    return removed


def _is_old(created: Any) -> bool:
    """Return whether an image of a version that wrote no owner can no longer be part of a running build."""
    return isinstance(created, int) and datetime.now(UTC) - datetime.fromtimestamp(created, UTC) > _NAMELESS_FOR
