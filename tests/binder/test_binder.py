"""Binder's files: pins are exact and complete, and the steps that repo2docker makes of them give a room that works."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import venvs
from tests.binder.build_file import USER_ID, USER_NAME, Machine, instructions

ROOT = Path(__file__).parents[2]
BINDER = ROOT / "binder"
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([A-Za-z0-9.+!]+)$")


def pins() -> dict[str, str]:
    found = {}
    for line in (BINDER / "requirements.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            match = PIN.match(line.strip())
            assert match, f"not pinned: {line}"
            found[match[1].lower().replace("_", "-").replace(".", "-")] = match[2]
    return found


def needed() -> list[tuple[str, str]]:
    """(name, least version) of what the kit itself and its notebooks need, and of the build back end."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = data["project"]
    listed = [
        *project["dependencies"],
        *project["optional-dependencies"]["notebook"],
        *data["build-system"]["requires"],
    ]
    made = []
    for text in listed:
        name, _, least = text.partition(">=")
        made.append((name.strip().lower().replace("_", "-"), least.strip()))
    return made


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def test_every_requirement_is_pinned_exactly_and_once() -> None:
    lines = [x for x in (BINDER / "requirements.txt").read_text().splitlines() if x.strip() and not x.startswith("#")]
    assert len(pins()) == len(lines)


@pytest.mark.parametrize(("name", "least"), needed())
def test_what_the_notebooks_need_is_pinned_in_a_version_that_will_do(name: str, least: str) -> None:
    assert name in pins()
    assert version(pins()[name]) >= version(least)


def test_the_server_that_binder_starts_is_pinned_beside_the_jupyterlab_that_it_must_fit() -> None:
    """`notebook` 7.N needs jupyterlab 4.N; repo2docker's base environment brings one of its own otherwise."""
    assert version(pins()["notebook"])[1] == version(pins()["jupyterlab"])[1]


def test_no_container_engine_is_asked_for() -> None:
    assert not {"docker", "kubernetes", "playwright"} & set(pins())
    assert "KITLIB_NODES=simulated" in (BINDER / "start").read_text()


@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_a_script_is_executable_and_reads_as_bash(name: str) -> None:
    path = BINDER / name
    assert os.access(path, os.X_OK)
    assert path.read_text().startswith("#!/bin/bash\n")
    subprocess.run(["bash", "-n", str(path)], check=True)


def test_the_python_is_one_that_the_kit_supports() -> None:
    assert (BINDER / "runtime.txt").read_text().strip() == "python-3.11"


RUN = """
import json, sys, time
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
began = time.perf_counter()
nbclient.NotebookClient(notebook, timeout=120).execute()
streams = [o["text"] for c in notebook.cells if c.cell_type == "code" for o in c.outputs if o.get("name") == "stderr"]
print(json.dumps({"seconds": time.perf_counter() - began, "stderr": streams}))
"""


def test_no_package_of_ubuntu_is_asked_for() -> None:
    """Debian, on which the steps are tried, has others; each would be listed here with the release that has it."""
    assert not (BINDER / "apt.txt").exists()


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Yield a folder outside of pytest's own that an ordinary user may enter, and the checkout's tracked files."""
    with tempfile.TemporaryDirectory(prefix="kitlib-binder-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            source, target = ROOT / name, place / "checkout" / name
            if source.is_file() and not name.startswith("tests/"):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable  # root's may be closed
        yield Machine(place / "root", place / "checkout", python)


def build_file(checkout: Path, folder: Path) -> str:
    """Return the build file that repo2docker would give to the engine."""
    python = venvs.make(folder / "repo2docker")
    venvs.install(python, "jupyter-repo2docker")
    options = ["--no-build", "--debug", "--user-id", str(USER_ID), "--user-name", USER_NAME]
    command = [python, "-m", "repo2docker", *options, "."]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stderr + done.stdout


@pytest.mark.notebooks
def test_the_steps_that_repo2docker_prints_make_an_environment_that_runs_the_notebooks(
    machine: Machine, tmp_path: Path
) -> None:
    """Run, as Binder does, the printed steps as the user that they name, then notebooks under `start`, as that user."""
    text = build_file(machine.source, tmp_path)
    assert "Building conda environment for python=3.11" in text
    steps = instructions(text)
    assert steps[0] == ("FROM", "docker.io/library/buildpack-deps:24.04", False), "another Ubuntu: look at what is said"
    assert not [step for step in steps if step[2] and "apt-get" in step[1]]
    machine.build(text)
    assert {user for user, _ in machine.ran} == {USER_NAME}
    assert sum("pip install" in command or "postBuild" in command for _, command in machine.ran) >= 2
    start = machine.environment["R2D_ENTRYPOINT"]
    assert machine.run(f"{start} jupyter notebook --version").startswith("7.")  # the image's command
    client = json.loads(machine.run(f"{start} kubectl version --client -o json"))
    assert client["clientVersion"]["minor"] == "36"
    script = Path(machine.environment["REPO_DIR"]) / "run.py"
    script.write_text(RUN)
    seconds = {}
    for name in ("01-a-pod-becomes-cgroup-files", "09-drivers-and-cgroup-versions", "12-the-schedulers-pipeline"):
        said = machine.run(f"KITLIB_PROGRESS=$HOME {start} python run.py notebooks/{name}.ipynb", timeout=180)
        answer = json.loads(said.splitlines()[-1])
        assert not answer["stderr"]
        seconds[name] = round(answer["seconds"], 1)
    print(seconds)
