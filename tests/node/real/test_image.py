"""What the image of a node is told to load exists in the kit."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kitlib.node.real import image


def test_the_modules_that_the_image_loads_are_there() -> None:
    loaded = re.search(rb"for agent in ([^;]*);", image.dockerfile())
    assert loaded is not None
    names = loaded[1].decode().split()
    assert len(names) == 2 and all(importlib.util.find_spec(name) for name in names)


def test_the_image_carries_every_module_that_its_agents_load() -> None:
    carried = {name for name, _ in image.sources()}
    for package in (
        *("api", "apiserver/admission", "apiserver/store", "apiserver/validation", "cel", "controllers"),
        *("kubelet", "node/real", "scheduler", "cluster/control_plane/container"),
    ):
        assert any(name.startswith(f"kitlib/{package}/") for name in carried), package


class Engine:
    """Answers /images/load as an engine does."""

    def __init__(self, *said: dict[str, Any], by_id: dict[str, list[str]] | None = None) -> None:
        self.api = SimpleNamespace(load_image=lambda source: iter(said), timeout=1)
        self.images = SimpleNamespace(get=lambda one: SimpleNamespace(tags=(by_id or {})[one]))


NAMES = ["localhost/kitlib-base:latest", "localhost/kitlib-node-systemd:1", "localhost/kitlib-node:1"]


@pytest.mark.parametrize(
    "there",
    [
        Engine(*({"stream": f"Loaded image: {name}\n"} for name in NAMES)),  # Docker
        Engine({"stream": f"Loaded image: {','.join(NAMES)}\n"}),  # Podman 4
        Engine({"status": "Loading layer"}, {"stream": f"Loaded image(s): {', '.join(NAMES)}"}),  # Podman 3
        Engine({"stream": "Loaded image ID: sha256:1\n"}, by_id={"sha256:1": NAMES}),
    ],
    ids=["a line each", "commas", "older", "by its ID"],
)
def test_all_images_of_a_file_are_named_whatever_way_the_engine_tells_them(there: Engine, tmp_path: Path) -> None:
    file = tmp_path / "nodes.tar"
    file.write_bytes(b"")
    assert image.load(there, file) == NAMES


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ([{"errorDetail": {"message": "no space left"}, "error": "no"}], r"does not take it: no space left$"),
        ([{"error": "bad archive"}], r"does not take it: bad archive$"),
        ([{"stream": "Loaded image: redis:7\n"}], r"holds redis:7, none of the kit's$"),
        ([], r"holds no image, none of the kit's$"),
    ],
)
def test_a_file_that_brings_no_image_of_the_kit_is_refused(
    said: list[dict[str, Any]], problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "nodes.tar"
    file.write_bytes(b"")
    with pytest.raises(image.ImageError, match=problem):
        image.load(Engine(*said), file)
