"""What the image of a node is told to load exists in the kit."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kitlib.node.real import image
from tests.rooms import KITLIB

ROOT = KITLIB.parent


def test_the_modules_that_the_image_loads_are_there() -> None:
    loaded = re.search(rb"for agent in ([^;]*);", image.dockerfile())
    assert loaded is not None
    names = loaded[1].decode().split()
    assert len(names) == 2 and all(importlib.util.find_spec(name) for name in names)


@pytest.mark.thorough
def test_the_image_carries_every_module_that_its_agents_load() -> None:
    carried = {name for name, _ in image.sources()}
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in sorted(KITLIB.rglob("*.py"))}
    known = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    waiting = ["kitlib.node.real.agent", "kitlib.cluster.control_plane.container.agent"]
    loaded = set(waiting)
    while waiting:
        for name in named(known[waiting.pop()]) & known.keys() - loaded:
            if not name.startswith(
                "kitlib.apiserver.http"
            ):  # the owner of a control plane serves it, not the container
                loaded.add(name)
                waiting.append(name)
    assert len(loaded) > 400
    assert not [name for name in sorted(loaded) if known[name].relative_to(ROOT).as_posix() not in carried]


def named(path: Path) -> set[str]:
    """Return the modules that a module imports, at its top or later, or the names in a text."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update((node.module, *(f"{node.module}.{alias.name}" for alias in node.names)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("kitlib."):
            found.add(node.value.partition(":")[0])
    return found


def test_the_image_carries_data_files_and_nothing_of_the_web_server() -> None:
    carried = {name for name, _ in image.sources()}
    packages = {path for package in image.PACKAGES for path in (KITLIB / package).rglob("*") if path.is_file()}
    expected = {path.relative_to(ROOT).as_posix() for path in packages if "__pycache__" not in path.parts}
    assert {name for name in expected - carried if not name.startswith("kitlib/apiserver/http/")} == set()
    assert not [name for name in carried if name.startswith("kitlib/apiserver/http/")]


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


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (
            f"The command '/bin/sh -c set -e; {'do; ' * 300}fi' returned a non-zero code: 1",
            "returned a non-zero code: 1",
        ),
        (f'error building at STEP "RUN set -e; {"do; " * 300}fi": exit status 1', '": exit status 1'),
    ],
    ids=["Docker", "Podman"],
)
def test_a_failed_build_tells_what_the_command_said_and_not_the_whole_command(
    end: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image.reaper, "start", lambda: None)
    said = [{"stream": "no crun\n"}, {"stream": "Removing intermediate container 1a\n"}, {"error": end}]
    api = SimpleNamespace(build=lambda **_: iter(said), images=lambda **_: [])
    with pytest.raises(image.ImageError) as failed:
        image._run_build(SimpleNamespace(api=api), b"", "kitlib-node", lambda text: None)
    told = str(failed.value)
    assert told.startswith("image kitlib-node: no crun / ") and told.endswith(words)
    assert "do; " * 20 not in told
