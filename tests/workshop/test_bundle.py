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
    (folder / "manifest.json").write_text("[]")  # looks like an image; no engine loads it
    with tarfile.open(image, "w") as archive:
        archive.add(folder / "manifest.json", "manifest.json")
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
    assert "cpu.weight  59" in out and "each shows what was desired" in out


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


def test_the_wheels_install_on_every_patch_release(unpacked: Path) -> None:
    """pip takes no package that asks for a later patch release than the first one."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}.0"
    wheels = unpacked / "wheels"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-index", "--find-links", str(wheels)]
    command += ["--only-binary=:all:", "--python-version", version, "--dest", str(unpacked / "again")]
    done = subprocess.run([*command, "kitlib[notebook,docker]"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"pythons": ["3.11.7"]}, "--python 3.11.7: 3.11 or a later version is expected, without the patch release"),
        ({"pythons": ["3.9"]}, "--python 3.9: 3.11 or a later version"),
        ({"platforms": ["beos"]}, "--platform beos: valid values: linux-x86_64, linux-aarch64"),
    ],
)
def test_a_target_that_cannot_be_is_named(tmp_path: Path, words: dict[str, list[str]], says: str) -> None:
    with pytest.raises(KitError, match=says):
        make_bundle(tmp_path / "course.tar", **words)


def test_a_bundle_for_another_platform_holds_its_own_packages(tmp_path: Path) -> None:
    made = make_bundle(tmp_path / "course.tar", pythons=["3.13"], platforms=["windows-x86_64"], extras=("notebook",))
    with tarfile.open(made.path) as archive:
        names = [Path(name).name for name in archive.getnames()]
        listed = archive.extractfile("kitlib-course/python.txt")
        assert listed is not None and listed.read() == b"3.13 Windows amd64\n"
    assert any(name.startswith("numpy-") and name.endswith("cp313-cp313-win_amd64.whl") for name in names)
    assert any(name.startswith("pywinpty-") for name in names)  # asked for on Windows only


def test_another_python_is_told_at_once(unpacked: Path) -> None:
    copy = unpacked / "other.py"
    copy.write_text(INSTALL)
    kept = (unpacked / "python.txt").read_text()
    try:
        (unpacked / "python.txt").write_text("3.99 Linux x86_64\n")
        done = subprocess.run([sys.executable, str(copy)], capture_output=True, text=True, timeout=60)
    finally:
        (unpacked / "python.txt").write_text(kept)
    assert done.returncode == 1 and "this bundle is for Python 3.99 on Linux x86_64; this is 3." in done.stderr


def test_an_image_that_is_not_there_is_named_before_anything_is_collected(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=r"nodes.tar: no such node image; create it with kitlib image save"):
        make_bundle(tmp_path / "course.tar", image=tmp_path / "nodes.tar")
