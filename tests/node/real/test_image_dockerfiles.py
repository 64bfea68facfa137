"""The images' recipes name modules that exist, and end without a program that a node needs."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest

from kitlib.node.real import image


@pytest.mark.parametrize("systemd", [False, True], ids=["Dockerfile", "Dockerfile.systemd"])
def test_every_module_that_a_recipe_imports_exists(systemd: bool) -> None:
    named = re.findall(r"\bkitlib(?:\.[a-z_]+)+", image.dockerfile(systemd=systemd).decode())
    missing = [name for name in named if importlib.util.find_spec(name) is None]
    assert named
    assert not missing


PROGRAMS = ("python3", "stress-ng", "ps", "dbus-daemon")


@pytest.mark.parametrize("systemd", [False, True], ids=["Dockerfile", "Dockerfile.systemd"])
@pytest.mark.parametrize("installs", [True, False])
def test_a_root_without_crun_gets_it_or_is_no_base(tmp_path: Path, systemd: bool, installs: bool) -> None:
    """A root may list a package as installed and lack its program: apt-get then succeeds and does nothing."""
    recipe = image.dockerfile(systemd=systemd).decode().replace("\\\n", "")
    (script,) = re.findall(r"^RUN (.*lacking.*)$", recipe, re.MULTILINE)
    script = script.replace("/lib/systemd/systemd:", "ps:").replace("/var/lib/apt/lists/*", "lists")
    script = script.replace("/etc/machine-id", "machine-id")
    apt = 'echo "$@" >>asked' + ("; : >crun; chmod 755 crun" if installs else "")
    for name, lines in {**dict.fromkeys((*PROGRAMS, "rm", "chmod"), 'exec /bin/${0##*/} "$@"'), "apt-get": apt}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{lines}\n")
        (tmp_path / name).chmod(0o755)
    ended = subprocess.run(
        ["/bin/sh", "-c", script], cwd=tmp_path, env={"PATH": os.fspath(tmp_path)}, capture_output=True, text=True
    )
    assert (tmp_path / "asked").read_text().endswith("-q -y install --reinstall --no-install-recommends crun\n")
    assert (ended.returncode == 0, ended.stderr) == (
        installs,
        "" if installs else "installed without their programs: crun\n",
    )
