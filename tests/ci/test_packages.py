"""The packages of a release: what is in them, what is not, and what an installed wheel does. Run by `.ci/packages`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from kitlib import __version__
from tests import venvs

ROOT = Path(__file__).parents[2]
ADDRESS = "https://github.com/example/kit"
pytestmark = pytest.mark.packages


def build(root: Path, into: Path, *targets: str, repository: str = "") -> None:
    """Build packages of a folder as a release does, without an environment of their own."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(into), *(f"-t{name}" for name in targets)]
    environment = {**os.environ, "GITHUB_REPOSITORY": repository, "GITHUB_SERVER_URL": "https://github.com"}
    environment |= {"GITHUB_REF_NAME": "v1"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder, "sdist", "wheel", repository="example/kit")
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return built / f"kitlib-{__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def unpacked(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive's folder."""
    folder = tmp_path_factory.mktemp("source")
    with tarfile.open(built / f"kitlib-{__version__}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / f"kitlib-{__version__}"


def names(wheel: Path) -> set[str]:
    """Files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def metadata(wheel: Path) -> Message:
    """What a package index shows of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return Parser().parsestr(archive.read(f"kitlib-{__version__}.dist-info/METADATA").decode())


def solutions(paths: set[str]) -> set[str]:
    """Paths of solutions of labs, by their folders' name."""
    return {path for path in paths if "solution" in Path(path).parts}


def test_a_wheel_holds_the_whole_course_and_no_solution_of_a_lab(wheel: Path) -> None:
    inside = names(wheel)
    course = [path for path in (ROOT / "notebooks").rglob("*") if path.suffix in (".ipynb", ".png")]
    notebooks = {f"kitlib/_notebooks/{path.relative_to(ROOT / 'notebooks').as_posix()}" for path in course}
    labs = [path for path in (ROOT / "labs").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    given = {f"kitlib/_labs/{path.relative_to(ROOT / 'labs').as_posix()}" for path in labs}
    assert solutions(given), "the checkout has solutions to leave out"
    assert len(notebooks) > 20 and notebooks | (given - solutions(given)) <= inside
    assert not solutions(inside)


def test_a_wheel_is_typed_and_has_licence_documentation_and_the_extension_of_jupyterlab(wheel: Path) -> None:
    inside = names(wheel)
    pages = {f"kitlib/docs/{path.name}" for path in (ROOT / "kitlib" / "docs").glob("*.md")}
    information = f"kitlib-{__version__}.dist-info"
    extension = f"kitlib-{__version__}.data/data/share/jupyter/labextensions/kitlib/package.json"
    assert pages | {"kitlib/py.typed", f"{information}/licenses/LICENSE", extension} <= inside


def test_a_wheel_has_nothing_of_the_checkouts_own(wheel: Path) -> None:
    top = {name.split("/")[0] for name in names(wheel)}
    assert top == {"kitlib", f"kitlib-{__version__}.dist-info", f"kitlib-{__version__}.data"}
    assert not [name for name in names(wheel) if "__pycache__" in name or name.endswith(".pyc")]


def test_a_source_archive_makes_the_same_wheel_and_holds_no_solution(unpacked: Path, wheel: Path) -> None:
    assert not solutions({path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*")})
    again = unpacked.parent / "again"
    build(unpacked, again, "wheel")
    (other,) = again.glob("*.whl")
    assert names(other) == names(wheel)
    assert metadata(other).items() == metadata(wheel).items()


def test_a_contributors_editable_installation_leads_to_the_checkout(tmp_path: Path) -> None:
    build(ROOT, tmp_path, "wheel:editable")
    (made,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(made) as archive:
        (path,) = [name for name in archive.namelist() if name.endswith(".pth")]
        assert archive.read(path).decode().splitlines() == [str(ROOT)]


def test_an_index_shows_addresses_of_the_repository_that_releases(wheel: Path, tmp_path: Path) -> None:
    shown = metadata(wheel)
    addresses = dict(value.split(", ", 1) for value in shown.get_all("Project-URL", []))
    assert addresses["Source"] == ADDRESS and addresses["Issues"] == f"{ADDRESS}/issues"
    assert shown["License-Expression"] == "MIT" and shown["Author"] and shown["Keywords"]
    text = shown.get_payload()
    assert f"({ADDRESS}/raw/v1/.pictures/first-kill.svg)" in text
    assert f"({ADDRESS}/blob/v1/kitlib/docs/course.md" in text
    assert not [link for link in re.findall(r"\]\(([^)]+)\)", text) if not re.match(r"https?://|#", link)]
    build(ROOT, tmp_path, "wheel")
    assert metadata(tmp_path / wheel.name).get_all("Project-URL") is None


def test_every_classifier_is_one_of_the_index(wheel: Path) -> None:
    from trove_classifiers import classifiers

    given = metadata(wheel).get_all("Classifier", [])
    assert len(given) > 10 and set(given) <= classifiers


def test_a_clean_environment_runs_the_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    python = venvs.make(tmp_path / "venv")
    venvs.install(python, str(wheel))
    kitlib = str(Path(python).with_name("kitlib"))
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR")}
    environment = {**kept, "HOME": str(tmp_path)}

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run(kitlib, "--version") == f"kitlib {__version__}\n"
    assert "kitlib COMMAND --help" in run(kitlib, "--help")
    assert "cpu.max" in run(kitlib, "demo")
    assert run(python, "-I", "-m", "kitlib", "lab", "--copy-only")
    assert len(list((tmp_path / "kitlib-course" / "notebooks").glob("*.ipynb"))) > 20
    assert not list((tmp_path / "kitlib-course").rglob("solution"))
