"""A workshop in a box: the files with which a trainer gives thirty people a notebook each, written into a folder.

`write(folder)` writes a JupyterHub configuration with limits for each learner, the learners' image, the instructor's
guide and the kit's own wheel. The files are ordinary files of this package (`files/`), which a trainer may read and
change; only the requested numbers are generated.

Imported by commands.
Face: `write`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kitlib.api.errors import KitError
from kitlib.workshop import roster

FILES = Path(__file__).parent / "files"
EXECUTABLE = ("start-learner",)
PYTHON = "3.11"
"""Python version of the learners' image."""


RESERVE = 2
"""The number of servers and seats beyond those of the learners: the trainer, and a learner who comes back."""
_BOUNDS = (
    ("learners", 1, 100_000),
    ("memory_mb", 300, 10**7),
    ("cpus", 0.1, 1024),
    ("processes", 60, 4_194_304),  # the kernel's PID_MAX_LIMIT
)


@dataclass(frozen=True)
class Limits:
    """The resource limits of one learner.

    Attributes:
        learners: maximum number of running servers.
        memory_mb: memory of server, kernels and checks together, in MB (10^6 bytes).
        cpus: maximum number of CPUs.
        processes: maximum number of processes and threads.
    """

    learners: int = 30
    memory_mb: int = 600
    cpus: float = 1.0
    processes: int = 200

    def __post_init__(self) -> None:
        for name, least, most in _BOUNDS:
            if not least <= getattr(self, name) <= most:
                raise KitError(f"{name}: must be at least {least} and at most {most}, got {getattr(self, name)}")


@dataclass(frozen=True)
class Written:
    """The result of `write`.

    Attributes:
        folder: the folder of the recipe.
        files: names of the written files.
        kept: names of existing files that differ; they were not changed.
    """

    folder: Path
    files: tuple[str, ...]
    kept: tuple[str, ...] = ()


def guide() -> str:
    """Return the instructor's guide as Markdown."""
    return (FILES / "guide.md").read_text(encoding="utf-8")


def write(
    folder: str | Path,
    limits: Limits | None = None,
    *,
    wheel: bool = True,
    wheels: bool = False,
    people: Sequence[roster.Person] = (),
) -> Written:
    """Write the recipe into `folder`; a file that the trainer has changed is kept.

    Args:
        folder: the folder of the recipe, created if missing.
        limits: limits in the configuration; None = the defaults of `Limits`.
        wheel: whether to add the kit's wheel, from which the learners' image is built.
        wheels: whether to add all other wheels of the image too, so that the build needs no index.
        people: the roster; () = every name may log in.

    Raises:
        KitError: the folder cannot be written, or a wheel cannot be built or downloaded.
    """
    texts = {}
    for source in sorted(p for p in FILES.iterdir() if p.is_file()):
        text = source.read_text(encoding="utf-8")
        is_configuration = source.name == "jupyterhub_config.py"
        texts[source.name] = with_limits(text, limits or Limits()) if is_configuration else text
    if people:
        texts[roster.FILE] = roster.to_csv(people)
    return write_files(folder, texts, wheel=wheel, wheels=wheels)


def write_files(
    folder: str | Path, texts: Mapping[str, str], *, wheel: bool, wheels: bool, extras: str = "notebook"
) -> Written:
    """Write a recipe's files and wheels into `folder`; a file that the trainer has changed is kept.

    Args:
        folder: the folder of the recipe, created if missing.
        texts: file name -> content.
        wheel: whether to add the kit's wheel.
        wheels: whether to add all other wheels of the image.
        extras: extras of the kit in the learners' image.

    Raises:
        KitError: the folder cannot be written, or a wheel cannot be built or downloaded.
    """
    from kitlib.lab.bundle import own_wheel
    from kitlib.lab.files import write_whole

    target, done, kept = Path(folder).expanduser(), [], []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, text in sorted(texts.items()):
            there = target / name
            if there.exists() and there.read_text(encoding="utf-8") != text:
                kept.append(name)
                continue
            write_whole(there, text)
            there.chmod(0o755 if name in EXECUTABLE else 0o644)
            done.append(name)
        if wheel:
            for old in target.glob("kitlib-*.whl"):
                old.unlink()
            kit = own_wheel(target)
            done.append(kit.name)
            if wheels:
                done.append(f"wheels ({_fetch_wheels(target / 'wheels', kit, extras, texts['Dockerfile'])})")
    except OSError as error:
        raise KitError(f"workshop folder {target}: {error.strerror or error}") from error
    return Written(target, tuple(done), tuple(kept))


def _fetch_wheels(folder: Path, kit: Path, extras: str, image: str) -> int:
    """Download the wheels of the learners' image, except the kit's own, for its Python; return their number."""
    from kitlib.lab.bundle import run_pip

    found = re.search(r"^ARG JUPYTERHUB=(\S+)", image, re.MULTILINE)
    assert found is not None
    shutil.rmtree(folder, ignore_errors=True)
    chosen = ("--only-binary=:all:", "--python-version", PYTHON, "--dest", str(folder))
    run_pip("download", *chosen, "pip", f"jupyterhub=={found[1]}", f"{kit}[{extras}]")
    for own in folder.glob("kitlib-*.whl"):
        own.unlink()
    return len(list(folder.glob("*.whl")))


def with_limits(text: str, limits: Limits) -> str:
    """Return the configuration with these numbers in its first lines.

    Raises:
        KitError: the line of a number is missing.
    """
    values = {
        "LEARNERS": limits.learners,
        "MEMORY_MB": limits.memory_mb,
        "CPUS": limits.cpus,
        "PROCESSES": limits.processes,
    }
    for name, value in values.items():
        text, found = re.subn(rf"^{name} = \S+", f"{name} = {value}", text, count=1, flags=re.MULTILINE)
        if not found:
            raise KitError(f"jupyterhub_config.py: must have a line that begins with {name} =")
    return text
