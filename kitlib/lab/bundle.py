"""`kitlib bundle`: one archive for a room without internet: wheels of the kit and its dependencies, course, image.

The archive holds `install.py`, which needs nothing but Python: it makes a virtual environment from the wheels alone (no
index is used) and prints how to start. Packages are resolved for the first patch release of each Python version
(3.11.0), since a package may require a later one than the machines in the room have. For other platforms and versions
than this machine's uv resolves: pip evaluates markers such as `sys_platform == "win32"` for its own machine only.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kitlib.api.errors import KitError
from kitlib.lab.files import replacing
from kitlib.lab.launch import make_course_folder

EXTRAS = ("notebook", "docker")
THIS_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"

INSTALL = '''"""Install the course from this folder: python3 install.py [FOLDER]. No network is used."""

import platform
import subprocess
import sys
import venv
from pathlib import Path

here = Path(__file__).resolve().parent
target = Path(sys.argv[1] if len(sys.argv) > 1 else here / "kitlib-venv").resolve()
made_for = [tuple(line.split()) for line in (here / "python.txt").read_text().splitlines()]
this = (".".join(map(str, sys.version_info[:2])), platform.system(), platform.machine().lower())
if this not in made_for:
    sys.exit(f"this bundle is for Python {'; '.join(' on '.join((v, f'{s} {m}')) for v, s, m in made_for)}; "
             f"this is {sys.version.split()[0]} on {this[1]} {this[2]}")
try:
    import ensurepip
except ImportError:
    sys.exit("this Python cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv")
try:
    venv.create(target, with_pip=True)
except (OSError, subprocess.CalledProcessError) as error:
    sys.exit(f"{target}: the virtual environment cannot be made: {error}")
scripts = target / ("Scripts" if sys.platform == "win32" else "bin")
pip = [str(scripts / "python"), "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check"]
done = subprocess.run([*pip, "--find-links", str(here / "wheels"), "kitlib[EXTRAS]"], stderr=subprocess.PIPE, text=True)
if done.returncode:
    said = [line for line in done.stderr.splitlines() if line.strip()] or ["pip gave no reason"]
    sys.exit(f"{target}: the packages were not installed: {said[-1]}")
image = here / "node-image.tar"
if image.exists():
    loaded = subprocess.run([str(scripts / "kitlib"), "image", "load", str(image)])
    if loaded.returncode:
        print("The node image was not loaded (see above); the simulated kernel works without it.")
print(f"Installed. Start: {scripts / 'kitlib'} lab {here / 'course'}")
'''


@dataclass(frozen=True)
class Platform:
    """A kind of machine for which wheels are collected.

    Attributes:
        system: the name of Python's `platform.system()`.
        machine: the name of Python's `platform.machine()`, in lower case.
        tags: the platform tags of wheels that it can use, the preferred one first.
        uv: the name of uv's `--python-platform`.
    """

    system: str
    machine: str
    tags: tuple[str, ...]
    uv: str


def _linux(machine: str) -> Platform:
    tags = ("manylinux_2_28", "manylinux_2_17", "manylinux2014", "manylinux_2_12", "manylinux2010", "manylinux_2_5")
    return Platform(
        "Linux", machine, tuple(f"{tag}_{machine}" for tag in (*tags, "manylinux1")), f"{machine}-manylinux_2_28"
    )


def _mac(machine: str) -> Platform:
    releases = (13, 12, 11)  # a wheel for a later release does not install on an earlier one
    tags = tuple(f"macosx_{release}_0_{kind}" for release in releases for kind in (machine, "universal2"))
    older = ("macosx_10_15_x86_64", "macosx_10_12_x86_64", "macosx_10_9_x86_64", "macosx_10_9_universal2")
    name = "aarch64" if machine == "arm64" else machine
    return Platform("Darwin", machine, tags + (older if machine == "x86_64" else older[-1:]), f"{name}-apple-darwin")


PLATFORMS = {
    "linux-x86_64": _linux("x86_64"),
    "linux-aarch64": _linux("aarch64"),
    "windows-x86_64": Platform("Windows", "amd64", ("win_amd64",), "x86_64-pc-windows-msvc"),
    "macos-arm64": _mac("arm64"),
    "macos-x86_64": _mac("x86_64"),
}
"""Name for `kitlib bundle --platform` -> platform."""


@dataclass(frozen=True)
class Bundle:
    """The archive that was written.

    Attributes:
        path: the archive.
        wheels: the number of wheels in it.
        bytes: its size in bytes.
        image: whether it contains the node image.
    """

    path: Path
    wheels: int
    bytes: int
    image: bool


def make_bundle(
    output: str | Path,
    *,
    image: str | Path | None = None,
    extras: tuple[str, ...] = EXTRAS,
    pythons: Sequence[str] = (),
    platforms: Sequence[str] = (),
) -> Bundle:
    """Write the archive; if a step fails, no file remains.

    Args:
        output: path of the archive, `course.tar.gz` or `course.tar`.
        image: a saved node image (`kitlib image save`), which is added unchanged; None = no image.
        extras: the extras of the kit to collect packages for.
        pythons: Python versions such as `3.11`; empty = this one.
        platforms: names of `PLATFORMS`; empty = this machine's.

    Raises:
        KitError: a package cannot be downloaded, the image is not there, the archive cannot be written.
    """
    target = Path(output)
    if not target.name.endswith((".tar.gz", ".tgz", ".tar")):
        raise KitError(f"{target}: the file name must end with .tar.gz, .tgz or .tar")
    targets = _targets(pythons, platforms)
    if image is not None:
        _check_image(Path(image))
    try:
        with tempfile.TemporaryDirectory(prefix="kitlib-bundle-") as temporary:
            root = Path(temporary) / "kitlib-course"
            count = _collect(root, extras, targets)
            if image is not None:
                shutil.copyfile(image, root / "node-image.tar")
            packed = target.suffix != ".tar"
            with replacing(target) as unfinished, tarfile.open(unfinished, "w:gz" if packed else "w") as archive:
                archive.add(root, arcname=root.name)
    except OSError as error:
        raise KitError(f"{target}: {error.strerror or error}") from error
    return Bundle(target, count, target.stat().st_size, image is not None)


def _check_image(image: Path) -> None:
    """Refuse what no engine would load, before packages are collected for minutes.

    Raises:
        KitError: the file is missing, or is not an archive as `docker save` writes it (the OCI image layout, or
            manifest.json).
    """
    if not image.is_file():
        raise KitError(f"{image}: no such node image; create it with kitlib image save")
    try:
        with tarfile.open(image) as archive:
            names = {name.removeprefix("./") for name in archive.getnames()}
    except (OSError, tarfile.TarError):
        names = set()
    if not names & {"manifest.json", "index.json"}:
        raise KitError(f"{image}: not a node image; create it with kitlib image save")


def _this_platform() -> str:
    """Return the name of this machine's platform; "" where wheels for it are not listed in `PLATFORMS`."""
    here = (platform.system(), platform.machine().lower())
    return next((name for name, one in PLATFORMS.items() if (one.system, one.machine) == here), "")


def _targets(pythons: Sequence[str], platforms: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of Python version and platform; the platform "" is this machine's, whatever it is.

    Raises:
        KitError: a version or platform is invalid; the message names it.
    """
    for version in pythons:
        if not re.fullmatch(r"3\.(1[1-9]|[2-9]\d)", version):
            raise KitError(f"--python {version}: 3.11 or a later version is expected, without the patch release")
    for name in platforms:
        if name not in PLATFORMS:
            raise KitError(f"--platform {name}: valid values: {', '.join(PLATFORMS)}")
    this = _this_platform()
    wanted = dict.fromkeys("" if name == this else name for name in platforms or [this])
    return [(version, name) for version in dict.fromkeys(pythons or [THIS_PYTHON]) for name in wanted]


def _collect(root: Path, extras: tuple[str, ...], targets: Sequence[tuple[str, str]]) -> int:
    """Put wheels, course and installer into a folder; return the number of wheels."""
    wheels = root / "wheels"
    wheels.mkdir(parents=True)
    kit = own_wheel(wheels)
    lines = []
    for version, name in targets:
        found = PLATFORMS.get(name)
        if version == THIS_PYTHON and found is None:
            _download(wheels, version, f"{kit}[{','.join(extras)}]")
        else:
            found = found or PLATFORMS.get(_this_platform())
            if found is None:
                raise KitError(
                    f"--python {version}: without --platform, this machine can bundle only Python {THIS_PYTHON}; valid "
                    f"platforms: {', '.join(PLATFORMS)}"
                )
            pins = root / "pins.txt"
            pins.write_text("".join(f"{pin}\n" for pin in _resolve(kit, extras, version, found)), encoding="utf-8")
            tags = [word for tag in found.tags for word in ("--platform", tag)]
            _download(wheels, version, "--no-deps", "--implementation", "cp", *tags, "--requirement", str(pins))
            pins.unlink()
        system, machine = (found.system, found.machine) if found else (platform.system(), platform.machine().lower())
        lines.append(f"{version} {system} {machine}\n")
    make_course_folder(root / "course")
    (root / "install.py").write_text(INSTALL.replace("EXTRAS", ",".join(extras)), encoding="utf-8")
    (root / "python.txt").write_text("".join(lines), encoding="utf-8")
    return len(list(wheels.glob("*.whl")))


def _download(wheels: Path, version: str, *words: str) -> None:
    """Download wheels that the first patch release of a Python version accepts."""
    run_pip(
        *("download", "--dest", str(wheels), "--only-binary=:all:", "--python-version", f"{version}.0"),
        *("--find-links", str(wheels)),
        *words,
    )


def _resolve(kit: Path, extras: tuple[str, ...], version: str, found: Platform) -> list[str]:
    """Return the pinned packages of the kit on another platform or Python version.

    Raises:
        KitError: uv is not installed, or finds no versions that fit together.
    """
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        raise KitError("uv is required to bundle packages for another platform or Python version; run pip install uv")
    command = [
        *(uv, "pip", "compile", "-", "-q", "--no-header", "--no-annotate", "--only-binary", ":all:"),
        *("--python-version", f"{version}.0", "--python-platform", found.uv, "--find-links", str(kit.parent)),
    ]
    asked = f"kitlib[{','.join(extras)}] @ {kit.resolve().as_uri()}\n"
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["no reason is given"]
        raise KitError(f"uv pip compile failed for Python {version} on {found.system} {found.machine}: {said[-1]}")
    return [line for line in done.stdout.splitlines() if line.strip() and not line.startswith(("kitlib", "#"))]


def save_image(folder: Path) -> tuple[Path | None, str]:
    """Save the node image of this machine's engine into `folder`.

    Returns:
        The file and the engine, or None and the reason.
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
    """Build the kit's own wheel from the checkout, or repack the installed files. Raises: KitError."""
    checkout = Path(__file__).resolve().parents[2]
    if is_checkout(checkout):
        run_pip("wheel", "--no-deps", "--wheel-dir", str(folder), str(checkout))
        return next(folder.glob("kitlib-*.whl"))
    return _packed_again(folder)


def is_checkout(folder: Path) -> bool:
    """Return whether the folder has the kit's own project file; some packages install theirs into site-packages."""
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8")).get("project")
    except (OSError, ValueError):
        return False
    return isinstance(project, dict) and project.get("name") == "kitlib"


def _packed_again(folder: Path) -> Path:
    """Repack the installed files: a wheel is a zip archive of them with their RECORD, which the installation keeps."""
    installed = importlib.metadata.distribution("kitlib")
    wheel = folder / f"kitlib-{installed.version}-py3-none-any.whl"
    left_out = ("INSTALLER", "REQUESTED", "direct_url.json", "RECORD")
    entries = [f for f in installed.files or () if f.parts[0] != ".." and "__pycache__" not in f.parts]
    kept = [f for f in entries if f.name not in left_out]
    if not kept:
        raise KitError("the installation of kitlib has no list of its files; install kitlib with pip")
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
    """Run this Python's pip without output. Raises: KitError, with the last lines of pip's output."""
    command = [sys.executable, "-m", "pip", *arguments, "-q", "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
        errors = [line.strip() for line in said if line.strip().lower().startswith("error:")]
        raise KitError(f"pip {arguments[0]} failed: {(errors or said)[-1]}")
