"""A process that is killed while it builds the image of nodes leaves nothing on the engine.

`KITLIB_NIGHTLY=1` kills twelve whole builds at any moment.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kitlib.node.real import engine as engines
from kitlib.node.real.container import OWNER
from tests.engine.helpers import ROOT, outside

KILLS = 12 if os.environ.get("KITLIB_NIGHTLY") else 0
WITHIN = 10.0
"""Seconds after a kill within which everything is removed."""
SLOW = """
import io, sys, tarfile
from kitlib.node.real import container, engine, image, leftovers, reaper
recipe = b"FROM kitlib-base:latest AS node\\nRUN echo finished >/layer\\nRUN sleep 100\\n"
packed = io.BytesIO()
with tarfile.open(fileobj=packed, mode="w") as archive:
    image._add(archive, "Dockerfile", leftovers.labelled(recipe, "kitlib-killed"))
reaper.start()
print(container.owner(), flush=True)
image._run_build(engine.connect(), packed.getvalue(), "kitlib-killed", lambda text: print(text, flush=True))
"""
WHOLE = """
import sys
from kitlib.node.real import container, engine, image
image.NAME = sys.argv[1]
print(container.owner(), flush=True)
image.build(engine.connect(), base="kitlib-base:latest", tell=lambda text: print(text, flush=True))
"""


@pytest.fixture
def client(engine: str) -> Iterator[Any]:
    made = engines.connect()
    yield made
    made.close()


def begun(script: str, *words: str) -> tuple[subprocess.Popen[str], str]:
    """Start a build in a process of its own, and return it with its owner's name."""
    command = [sys.executable, "-c", script, *words]
    process = subprocess.Popen(command, cwd=ROOT, env=outside(), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def held_of(client: Any, whose: str) -> list[str]:
    """Return the ids of the containers and nameless images that an owner's build has on the engine."""
    label = f"{OWNER}={whose}"
    images = client.api.images(filters={"label": label, "dangling": True})
    return [one["Id"] for one in [*images, *client.api.containers(all=True, filters={"label": label})]]


def gone(client: Any, whose: str) -> list[str]:
    """Wait until nothing of an owner is left, and return what is left after `WITHIN` seconds."""
    end = time.monotonic() + WITHIN
    while (left := held_of(client, whose)) and time.monotonic() < end:
        time.sleep(0.2)
    return left


@pytest.mark.parametrize("kill", range(1 + KILLS))
def test_a_killed_build_leaves_neither_layers_nor_containers(client: Any, kill: int) -> None:
    name = f"kitlib-killed{kill}"
    process, whose = begun(WHOLE, name) if kill else begun(SLOW)
    assert process.stdout is not None
    if kill:
        time.sleep(random.Random(kill).uniform(0, 25))
    else:
        while "sleep 100" not in (line := process.stdout.readline()):
            assert line, "the build has ended"
        assert held_of(client, whose)  # the finished layer
    process.send_signal(signal.SIGKILL)
    process.wait()
    try:
        assert gone(client, whose) == []
    finally:
        for one in client.images.list(name):  # the build was quicker than the signal
            client.images.remove(one.id, force=True)
