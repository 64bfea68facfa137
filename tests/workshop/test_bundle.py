"""`kitlib bundle`: the archive installs and runs where no package index can be reached."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.lab.bundle import INSTALL, make_bundle, save_image
from kitlib.node.real import engine, image

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.workshop

NOWHERE = {
    "PIP_NO_INDEX": "1",
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "ALL_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "NO_PROXY": "",
}
"""Every way to an index ends at a port where nobody listens."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    image = folder / "saved.tar"
    image.write_bytes(b"not an image")
    made = make_bundle(folder / "course.tar", image=image)
    assert made.wheels > 80 and made.image and made.bytes == made.path.stat().st_size
    with tarfile.open(made.path) as archive:
        archive.extractall(folder, filter="data")
    made.path.unlink()
    return folder / "kitlib-course"


@pytest.fixture(scope="module")
def installed(unpacked: Path) -> tuple[Path, str]:
    """The environment that install.py made, and what it said."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR")
    environment = {name: value for name, value in os.environ.items() if name in kept} | NOWHERE
    command = [sys.executable, "-I", str(unpacked / "install.py"), str(unpacked / "env")]
    done = subprocess.run(command, cwd=unpacked, env=environment, capture_output=True, text=True, timeout=560)
    assert done.returncode == 0, done.stdout + done.stderr
    return unpacked / "env" / "bin", done.stdout + done.stderr


def run(place: Path, *command: str) -> str:
    environment = {"PATH": f"{place}:{os.environ['PATH']}", "HOME": str(place.parent), **NOWHERE}
    done = subprocess.run(command, cwd=place.parent, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_worked_example_runs_from_it(installed: tuple[Path, str]) -> None:
    out = run(installed[0], str(installed[0] / "kitlib"), "demo", "--controller", "cpu")
    assert "cpu.shares  1546" in out and "each shows what was desired" in out


def test_the_course_and_jupyterlab_are_there(installed: tuple[Path, str], unpacked: Path) -> None:
    assert len(list((unpacked / "course" / "notebooks").glob("*.ipynb"))) >= 12
    labs = {path.parent.name for path in (ROOT / "labs").glob("*/lab.ipynb")}
    assert labs and {path.parent.name for path in (unpacked / "course" / "labs").glob("*/lab.ipynb")} == labs
    assert not list((unpacked / "course" / "labs").glob("*/solution"))
    assert run(installed[0], str(installed[0] / "python"), "-m", "jupyterlab", "--version")
    lab = "from kitlib.lab import Lab; print(Lab('01-make-it-guaranteed').check())"
    assert "This time 0 of 3 points" in run(installed[0], str(installed[0] / "python"), "-I", "-c", lab)


def test_an_image_that_cannot_be_loaded_does_not_stop_the_installation(installed: tuple[Path, str]) -> None:
    assert "The node image was not loaded (see above); the simulated kernel works without it." in installed[1]
    assert "Installed. Start: " in installed[1]


def test_the_image_of_this_machines_engine_goes_along_and_is_loaded_there(tmp_path: Path) -> None:
    """Where an engine answers; else the bundle is made without an image, and says why."""
    file, why = save_image(tmp_path)
    if file is None:
        assert why and not list(tmp_path.iterdir())
        return
    with tarfile.open(file) as saved:
        assert "manifest.json" in saved.getnames()
    client = engine.connect()
    try:
        assert any(name.startswith("kitlib-") for name in image.load(client, file))
    finally:
        client.close()


def test_another_python_is_told_at_once(unpacked: Path) -> None:
    copy = unpacked / "other.py"
    copy.write_text(INSTALL)
    kept = (unpacked / "python.txt").read_text()
    try:
        (unpacked / "python.txt").write_text("3.99 Linux x86_64\n")
        done = subprocess.run([sys.executable, str(copy)], capture_output=True, text=True, timeout=60)
    finally:
        (unpacked / "python.txt").write_text(kept)
    assert done.returncode == 1 and "this bundle is for Python 3.99" in done.stderr


def test_an_image_that_is_not_there_is_named_before_anything_is_collected(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=r"nodes.tar: no such image; make one with kitlib image save"):
        make_bundle(tmp_path / "course.tar", image=tmp_path / "nodes.tar")
