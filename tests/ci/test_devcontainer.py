"""The dev container's configuration names what exists; its script makes environment and course."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".devcontainer"
CONFIGURATION = json.loads((FOLDER / "devcontainer.json").read_text())
PIP = '#!/bin/bash\n[ "$2" != pip ] || printf "%s\\n" "$@" >pip.txt\n'
KITLIB = '#!/bin/bash\nprintf "%s\\n" "$@" >kitlib.txt\n'


def test_it_has_an_engine_of_its_own_for_real_nodes() -> None:
    assert any("docker-in-docker" in name for name in CONFIGURATION["features"])


def test_it_opens_the_start_page_of_the_course() -> None:
    (opened,) = CONFIGURATION["customizations"]["codespaces"]["openFiles"]
    folder, name = opened.split("/", 1)
    assert folder == "kitlib-course" and (ROOT / name).is_file()


@pytest.mark.skipif(os.name != "posix", reason="the script is for bash")
def test_its_script_installs_the_checkout_and_copies_the_course(tmp_path: Path) -> None:
    (tmp_path / ".devcontainer").mkdir()
    script = tmp_path / CONFIGURATION["onCreateCommand"]
    shutil.copy(ROOT / CONFIGURATION["onCreateCommand"], script)
    place = tmp_path / ".venv" / "bin"
    place.mkdir(parents=True)
    for name, text in (("python", PIP), ("kitlib", KITLIB)):
        (place / name).write_text(text)
        (place / name).chmod(0o755)
    subprocess.run([script], check=True, timeout=20)
    assert (tmp_path / "pip.txt").read_text().splitlines()[-2:] == ["-e", ".[notebook,docker]"]
    assert (tmp_path / "kitlib.txt").read_text().splitlines() == ["lab", "--copy-only"]
