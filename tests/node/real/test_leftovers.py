"""The finished layers of a killed build are removed, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import pytest

from kitlib.node.real import image, leftovers
from kitlib.node.real.container import OWNER, owner
from kitlib.node.real.leftovers import LABEL, labelled, remove_unfinished


class Client:
    """An engine with nameless images.

    Args:
        images: id -> labels and seconds since 1970 of the image's creation.
        used: ids of images that a container uses.
    """

    def __init__(self, images: dict[str, tuple[dict[str, str] | None, int]], used: tuple[str, ...] = ()) -> None:
        self.api, self._images, self._used = self, images, used

    def images(self, *, filters: dict[str, Any]) -> list[dict[str, Any]]:
        assert filters == {"dangling": True, "label": LABEL}
        return [{"Id": one, "Labels": labels, "Created": at} for one, (labels, at) in self._images.items()]

    def remove_image(self, identity: str) -> None:
        if identity in self._used:
            raise OSError("the image is used")
        del self._images[identity]


@pytest.fixture
def ended() -> str:
    """The owner's name of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return f"{owner().rpartition(':')[0]}:{process.pid}"


def test_only_layers_of_ended_processes_of_this_machine_are_removed(ended: str) -> None:
    now = int(time.time())
    images: dict[str, tuple[dict[str, str] | None, int]] = {
        "ended": ({OWNER: ended}, now),
        "used": ({OWNER: ended}, now),
        "mine": ({OWNER: owner()}, now),
        "parent's": ({OWNER: f"{owner().rpartition(':')[0]}:{os.getppid()}"}, now),
        "elsewhere": ({OWNER: "other/4026531836:1"}, now),
        "0.1.0, today": (None, now - 3600),
        "0.1.0": ({LABEL: "kitlib-node:1"}, now - 90_000),
    }
    assert remove_unfinished(Client(images, ("used",))) == ["ended", "0.1.0"]
    assert images.keys() == {"used", "mine", "parent's", "elsewhere", "0.1.0, today"}


@pytest.mark.parametrize("systemd", [False, True], ids=["Dockerfile", "Dockerfile.systemd"])
def test_the_first_instruction_of_each_stage_names_image_and_owner(systemd: bool) -> None:
    lines = labelled(image.dockerfile(systemd=systemd), "kitlib-node:1").decode().splitlines()
    stages = [i for i, line in enumerate(lines) if line.startswith("FROM ")]
    labels = f'LABEL {LABEL}="kitlib-node:1" {OWNER}="{owner()}"'
    # a stage that only names an image has no layer of its own, and gets none
    assert [lines[i + 1] for i in stages if not lines[i + 1].startswith("FROM ")] == [labels] * 2
    assert lines.count(labels) == 2
    assert [line for line in lines if line != labels] == image.dockerfile(systemd=systemd).decode().splitlines()
    assert leftovers.LABEL in labels
