"""What the image of a node is told to load exists in the kit."""

from __future__ import annotations

import importlib.util
import re

from kitlib.node.real import image


def test_the_modules_that_the_image_loads_are_there() -> None:
    loaded = re.search(rb"for agent in ([^;]*);", image.dockerfile())
    assert loaded is not None
    names = loaded[1].decode().split()
    assert len(names) == 2 and all(importlib.util.find_spec(name) for name in names)


def test_the_image_carries_every_module_that_its_agents_load() -> None:
    carried = {name for name, _ in image.sources()}
    for package in ("api", "kubelet", "node/real", "scheduler", "cluster/control_plane/container"):
        assert any(name.startswith(f"kitlib/{package}/") for name in carried), package
