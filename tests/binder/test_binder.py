"""Binder's files: all pins are exact, everything the notebooks need is pinned, and the environment they make works."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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


@pytest.mark.notebooks
def test_the_environment_is_built_from_the_files_and_runs_the_notebooks(tmp_path: Path) -> None:
    """As repo2docker does: the pins, then postBuild, then notebooks under `start`; in a clean folder."""
    environment = tmp_path / "venv"
    checkout = tmp_path / "checkout"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_file() and not name.startswith("tests/"):
            target = checkout / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
            target.chmod(source.stat().st_mode)
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    quiet = {
        **os.environ,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_COMPILE": "1",  # what is used is compiled when it is imported
        "PYTHONPATH": "",
        "PATH": f"{environment}/bin:{os.environ['PATH']}",
    }
    subprocess.run(
        [str(environment / "bin/pip"), "install", "-q", "-r", str(checkout / "binder/requirements.txt")],
        check=True,
        env=quiet,
        timeout=420,
    )
    subprocess.run([str(checkout / "binder/postBuild")], cwd=checkout, check=True, env=quiet, timeout=120)
    seconds = {}
    for name in ("01-a-pod-becomes-cgroup-files", "09-drivers-and-cgroup-versions", "12-the-schedulers-pipeline"):
        done = subprocess.run(
            [str(checkout / "binder/start"), "python", "-c", RUN, str(checkout / f"notebooks/{name}.ipynb")],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=180,
            env={**quiet, "KITLIB_PROGRESS": str(tmp_path)},
        )
        assert done.returncode == 0, done.stderr[-3000:]
        answer = json.loads(done.stdout.splitlines()[-1])
        assert not answer["stderr"]
        seconds[name] = round(answer["seconds"], 1)
    print(seconds)
    assert seconds["01-a-pod-becomes-cgroup-files"] < 10
