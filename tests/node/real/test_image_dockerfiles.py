"""The images' recipes name modules that exist."""

from __future__ import annotations

import importlib.util
import re

import pytest

from kitlib.node.real import image


@pytest.mark.parametrize("systemd", [False, True], ids=["Dockerfile", "Dockerfile.systemd"])
def test_every_module_that_a_recipe_imports_exists(systemd: bool) -> None:
    named = re.findall(r"\bkitlib(?:\.[a-z_]+)+", image.dockerfile(systemd=systemd).decode())
    missing = [name for name in named if importlib.util.find_spec(name) is None]
    assert named
    assert not missing
