"""`kitlib bundle`: one archive for a room without internet: wheels of the kit and what it needs, the course, the image.

The archive holds `install.py`, which needs nothing but Python: it makes a virtual environment from the wheels alone (no
index is asked) and says how to start. Wheels are those of this machine's platform and Python version; another platform
needs a bundle made there.
"""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

from kitlib.api.errors import KitError
from kitlib.lab.files import replacing
from kitlib.lab.launch import make_course_folder

EXTRAS = ("notebook", "docker")

INSTALL = '''"""Install the course from this folder: python3 install.py [FOLDER]. No network is used."""

import subprocess
import sys
import venv
from pathlib import Path

here = Path(__file__).resolve().parent
target = Path(sys.argv[1] if len(sys.argv) > 1 else here / "kitlib-venv").resolve()
made_with = (here / "python.txt").read_text().split()
if [*map(str, sys.version_info[:2])] != made_with[0].split("."):
    sys.exit(f"this bundle is for Python {made_with[0]}; this is {sys.version.split()[0]}")
venv.create(target, with_pip=True)
scripts = target / ("Scripts" if sys.platform == "win32" else "bin")
pip = [str(scripts / "python"), "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check"]
subprocess.run([*pip, "--find-links", str(here / "wheels"), "kitlib[EXTRAS]"], check=True)
image = here / "node-image.tar"
if image.exists():
    loaded = subprocess.run([str(scripts / "kitlib"), "image", "load", str(image)])
    if loaded.returncode:
        print("The node image was not loaded (see above); the simulated kernel works without it.")
print(f"Installed. Start: {scripts / 'kitlib'} lab {here / 'course'}")
'''


@dataclass(frozen=True)
class Bundle:
    """What was written.

    Attributes:
        path: the archive.
        wheels: how many are in it.
        bytes: its size.
        image: whether the node image is in it.
    """

    path: Path
    wheels: int
    bytes: int
    image: bool


def make_bundle(output: str | Path, *, image: str | Path | None = None, extras: tuple[str, ...] = EXTRAS) -> Bundle:
    """Write the archive; nothing is left behind where something fails.

    Args:
        output: `course.tar.gz` or `course.tar`.
        image: a saved node image (`kitlib image save`), put in as it is.
        extras: of the kit, whose packages are collected.

    Raises:
        KitError: a package cannot be downloaded, the image is not there, the archive cannot be written.
    """
    target = Path(output)
    if not target.name.endswith((".tar.gz", ".tgz", ".tar")):
        raise KitError(f"{target}: a name ending in .tar.gz, .tgz or .tar is expected")
    if image is not None and not Path(image).is_file():
        raise KitError(f"{image}: no such image; make one with kitlib image save")
    try:
        with tempfile.TemporaryDirectory(prefix="kitlib-bundle-") as temporary:
            root = Path(temporary) / "kitlib-course"
            count = _collect(root, extras)
            if image is not None:
                shutil.copyfile(image, root / "node-image.tar")
            packed = target.suffix != ".tar"
            with replacing(target) as unfinished, tarfile.open(unfinished, "w:gz" if packed else "w") as archive:
                archive.add(root, arcname=root.name)
    except OSError as error:
        raise KitError(f"{target}: {error.strerror or error}") from error
    return Bundle(target, count, target.stat().st_size, image is not None)


def _collect(root: Path, extras: tuple[str, ...]) -> int:
    """Put wheels, course and installer into a folder; how many wheels."""
    wheels = root / "wheels"
    wheels.mkdir(parents=True)
    kit = own_wheel(wheels)
    run_pip("download", "--dest", str(wheels), "--only-binary=:all:", f"{kit}[{','.join(extras)}]")
    make_course_folder(root / "course")
    (root / "install.py").write_text(INSTALL.replace("EXTRAS", ",".join(extras)), encoding="utf-8")
    version = f"{sys.version_info[0]}.{sys.version_info[1]} {platform.system()} {platform.machine()}\n"
    (root / "python.txt").write_text(version)
    return len(list(wheels.glob("*.whl")))


def save_image(folder: Path) -> tuple[Path | None, str]:
    """The node image of this machine's engine, saved into `folder`.

    Returns:
        The file and the engine, or None and why there is none.
    """
    from kitlib.cluster import engine_answers
    from kitlib.node.real import engine, image

    answers, why = engine_answers()
    if not answers:
        return None, why
    client = engine.connect()
    try:
        file = folder / "node-image.tar"
        image.save(client, file)
    finally:
        client.close()
    return file, why


def own_wheel(folder: Path) -> Path:
    """The kit's own wheel: built from the checkout, or packed again from what is installed. Raises: KitError."""
    checkout = Path(__file__).resolve().parents[2]
    if is_checkout(checkout):
        run_pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(checkout))
        return next(folder.glob("kitlib-*.whl"))
    return _packed_again(folder)


def is_checkout(folder: Path) -> bool:
    """Whether the kit's own project file stands there; other packages put theirs into site-packages by mistake."""
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8")).get("project")
    except (OSError, ValueError):
        return False
    return isinstance(project, dict) and project.get("name") == "kitlib"


def _packed_again(folder: Path) -> Path:
    """A wheel is a zip of the installed files with their RECORD, which the installation keeps."""
    installed = importlib.metadata.distribution("kitlib")
    wheel = folder / f"kitlib-{installed.version}-py3-none-any.whl"
    left_out = ("INSTALLER", "REQUESTED", "direct_url.json", "RECORD")
    entries = [f for f in installed.files or () if f.parts[0] != ".." and "__pycache__" not in f.parts]
    kept = [f for f in entries if f.name not in left_out]
    if not kept:
        raise KitError("the installed kit has no list of its files: install it with pip")
    record = next((f"{f.parts[0]}/RECORD" for f in kept if f.parts[0].endswith(".dist-info")), "")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        lines = []
        for file in kept:
            archive.write(str(file.locate()), str(file))
            digest = f"{file.hash.mode}={file.hash.value}" if file.hash else ""
            lines.append(f"{file},{digest},{file.size or ''}")
        archive.writestr(record, "\n".join([*lines, f"{record},,", ""]))
    return wheel


def run_pip(*arguments: str) -> None:
    """Run this Python's pip, quietly. Raises: KitError, with its last words."""
    command = [sys.executable, "-m", "pip", *arguments, "-q", "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
        errors = [line.strip() for line in said if line.strip().lower().startswith("error:")]
        raise KitError(f"pip {arguments[0]}: {(errors or said)[-1]}")
