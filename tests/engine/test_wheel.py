"""The wheel in a clean container: Debian's Python, nothing of the checkout, no network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kitlib import __version__
from kitlib.node.real import engine as engines
from kitlib.node.real import image
from tests.engine.helpers import ROOT

COMMANDS = ("--version", "--help", "doctor", "demo", "explain --help", "lab --copy-only")
SCRIPT = """
set -eu
python3 -m venv --without-pip /kit
/kit/bin/python "$(echo /wheels/pip-*.whl)/pip" install -q --no-index --find-links /wheels kitlib
cd /tmp
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kit's wheel, those that it needs, and pip's: Debian's Python comes without one."""
    folder = tmp_path_factory.mktemp("wheels")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), "-t", "wheel"]
    subprocess.run(build, cwd=ROOT, check=True, timeout=300)
    (kit,) = folder.glob("kitlib-*.whl")
    fetch = [sys.executable, "-m", "pip", "download", "-q", "-d", str(folder), "--only-binary=:all:"]
    subprocess.run([*fetch, "--python-version", "3.11", "pip", str(kit)], check=True, timeout=300)
    return folder


def test_the_wheels_commands_run_where_nothing_else_is_installed(engine: str, wheels: Path) -> None:
    client = engines.connect()
    image.ensure(client)
    lines = [f"echo '== {words}'; /kit/bin/kitlib {words} 2>&1" for words in COMMANDS]
    made = client.api.create_container(
        image.base_of(),
        entrypoint=["/bin/bash", "-c", SCRIPT + "\n".join(lines)],
        host_config=client.api.create_host_config(binds=[f"{wheels}:/wheels:ro"], network_mode="none"),
    )["Id"]
    try:
        client.api.start(made)
        code = client.api.wait(made, timeout=300)["StatusCode"]
        said = client.api.logs(made).decode()
    finally:
        client.api.remove_container(made, force=True)
        client.close()
    assert code == 0, said
    answers = dict(zip(COMMANDS, (part.partition("\n")[2] for part in said.split("== ")[1:]), strict=True))
    assert answers["--version"].strip() == f"kitlib {__version__}"
    assert "50000 100000" in answers["demo"]
    assert "not installed" in answers["doctor"], "Jupyter is not there, and doctor says so"
    assert all(answer.strip() for answer in answers.values()), answers
