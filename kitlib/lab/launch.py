"""`kitlib lab`: a folder with the course, opened on its start page in JupyterLab, Notebook 7 or Voilà.

The package contains the notebooks. They are copied into the learner's folder. A file that the learner has changed is
never overwritten: a newer version is written beside it as `NAME.new.ipynb`.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from kitlib.api.errors import KitError
from kitlib.api.file_format import check_format
from kitlib.lab import kubectl
from kitlib.lab.files import copy_whole, write_whole
from kitlib.lab.moved import plain
from kitlib.lab.pages import pages

COURSE_KINDS = ("notebooks", "labs")
START = "00-start-here.ipynb"
"""The notebook that shows the start page."""


@dataclass(frozen=True)
class App:
    """A program that opens notebooks.

    Attributes:
        title: its name.
        module: module that is run with `python -m`.
        page: option that sets the first page.
        at: prefix of a notebook's path in the program's addresses.
        install: package that installs the program.
        package: module that must be installed; "" = `module` itself.
    """

    title: str
    module: str
    page: str
    at: str
    install: str
    package: str = ""


APPS = {
    "lab": App("JupyterLab", "jupyterlab", "LabApp.default_url", "/lab/tree/", "pip install 'kitlib[notebook,docker]'"),
    "notebook": App(
        "Notebook 7",
        "notebook",
        "JupyterNotebookApp.default_url",
        "/notebooks/",
        "pip install 'kitlib[notebook,docker]' notebook",
    ),
    "voila": App(
        "Voilà",
        "jupyter_server",
        "ServerApp.default_url",
        "/voila/render/",
        "pip install 'kitlib[notebook,docker]' voila",
        "voila",
    ),
}
JUPYTER = Path(__file__).with_name("jupyter")
"""Settings and the extension of JupyterLab and Notebook 7, in the folders that Jupyter searches."""
_RECORD = ".kitlib-course.json"
_FORMAT = 1
_LEFT_OUT = {"__pycache__", ".ipynb_checkpoints", "solution"}


@dataclass
class Copied:
    """The result of `make_course_folder`.

    Attributes:
        folder: the course folder.
        added: new files.
        updated: files that were replaced by the package's version, because the learner had not changed them.
        kept: files that the learner has changed; the package's version is beside each as `NAME.new.EXT`.
    """

    folder: Path
    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def course_source(kind: str) -> Path:
    """Return the package's folder `notebooks` or `labs`: inside the wheel, or beside the package in a checkout.

    Raises:
        KitError: neither exists.
    """
    package = Path(__file__).resolve().parents[1]
    for place in (package / f"_{kind}", package.parent / kind):
        if place.is_dir():
            return place
    raise KitError(f"this installation of kitlib does not contain the {kind} of the course")


def in_order(kind: str) -> list[Path]:
    """Return the notebooks' files or the labs' folders of the course, in its order.

    Raises:
        KitError: the course is not installed.
    """
    source = course_source(kind)
    if kind == "notebooks":
        return sorted(source.glob("*.ipynb"))
    return sorted(path.parent for path in source.glob("*/lab.toml"))


def in_course(kind: str, name: str) -> Path:
    """Return a notebook's file or a lab's folder, by its name with or without its number, or by the number alone.

    Raises:
        KitError: the course has none of that name.
    """
    places = {place.stem: place for place in in_order(kind)}
    for known, place in places.items():
        number, _, bare = known.partition("-")
        if name in (known, plain(known), bare, number):
            return place
    raise KitError(f"no {kind.removesuffix('s')} {name[:80]!r}; valid values: {', '.join(places)}")


def make_course_folder(folder: str | Path) -> Copied:
    """Copy the course into `folder` and keep the files that the learner has changed there.

    Raises:
        KitError: the folder cannot be written.
    """
    target = Path(folder).expanduser()
    done = Copied(target)
    record_file = target / _RECORD
    try:
        target.mkdir(parents=True, exist_ok=True)
        record = recorded(record_file)
        for kind in COURSE_KINDS:
            source = course_source(kind)
            for file in sorted(p for p in source.rglob("*") if p.is_file()):
                below = file.relative_to(source)
                if not _LEFT_OUT.intersection(below.parts):
                    _bring(file, target, f"{kind}/{below.as_posix()}", record, done)
        (target / "docs").mkdir(exist_ok=True)
        for name, text in pages().items():
            write_whole(target / "docs" / f"{name}.md", text)
        write_whole(record_file, json.dumps({"format": _FORMAT, "files": record}, indent=1, sort_keys=True))
    except OSError as error:
        raise KitError(f"course folder {target}: {error.strerror or error}") from error
    return done


def recorded(file: Path) -> dict[str, str]:
    """Return the digests of the files that were copied before; kitlib 0.1 wrote them without a format."""
    if not file.exists():
        return {}
    read = json.loads(file.read_text())
    check_format(read, _FORMAT, str(file))
    return dict(read.get("files", {}) if "format" in read else read)


def _bring(file: Path, target: Path, name: str, record: dict[str, str], done: Copied) -> None:
    there, new = target / name, _digest(file)
    if not there.exists():
        done.added.append(name)
    elif _digest(there) == new:
        record[name] = new
        return
    elif _digest(there) == record.get(name) or Path(name).name == START:
        done.updated.append(name)
    else:
        done.kept.append(name)
        there = there.with_name(f"{there.stem}.new{there.suffix}")
        copy_whole(file, there)
        return
    there.parent.mkdir(parents=True, exist_ok=True)
    copy_whole(file, there)
    record[name] = new


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def first_notebook(folder: Path) -> Path | None:
    """Return the notebook that is opened, the first by name; None without notebooks."""
    return next(iter(sorted((folder / "notebooks").glob("*.ipynb"))), None)


def jupyter_command(
    folder: Path, app: str = "lab", *, browser: bool = True, port: int | None = None, first: Path | None = None
) -> list[str]:
    """Return the command line that opens JupyterLab, or another of `APPS`, in `folder` on `first` or its start page."""
    program = APPS[app]
    command = [sys.executable, "-m", program.module, f"--ServerApp.root_dir={folder}"]
    command += [f"--{name}.log_level=ERROR" for name in sorted({"LabApp", "ServerApp", program.page.partition(".")[0]})]
    first = first or first_notebook(folder)
    if first is not None:
        command.append(f"--{program.page}={program.at}{quote(first.relative_to(folder).as_posix())}")
    if not browser:
        command.append("--no-browser")
    if port is not None:
        command.append(f"--ServerApp.port={port}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return command


def jupyter_environment(environment: Mapping[str, str], nodes: str = "auto") -> dict[str, str]:
    """Return the server's environment: the kit's settings and its extension precede the existing ones."""

    def before(name: str, folder: Path) -> str:
        return os.pathsep.join(filter(None, (str(folder), environment.get(name, ""))))

    return {
        **environment,
        "KITLIB_NODES": nodes,
        "JUPYTER_CONFIG_PATH": before("JUPYTER_CONFIG_PATH", JUPYTER / "config"),
        "JUPYTER_PATH": before("JUPYTER_PATH", JUPYTER / "share"),
    }


def shared_notebook(folder: Path, link: str) -> Path:
    """Write a notebook into the course folder that opens the scenario of a shared link, and return its path.

    Raises:
        KitError: the link is invalid, or the folder cannot be written.
    """
    from kitlib.lab.share import line_of, state_in

    state = state_in(link)
    path = folder / "shared" / f"scenario-{hashlib.sha256(state.encode()).hexdigest()[:10]}.ipynb"
    cell: dict[str, object] = {"cell_type": "code", "id": "shared", "metadata": {}}
    cell |= {"execution_count": None, "outputs": []}
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    cells = [{**cell, "source": line_of(state).replace("; ", "\n")}]
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(notebook, indent=1))
    except OSError as error:
        raise KitError(f"{path}: {error.strerror or error}") from error
    return path


def launch(
    folder: str | Path,
    app: str = "lab",
    *,
    nodes: str = "auto",
    browser: bool = True,
    port: int | None = None,
    link: str = "",
) -> None:
    """Create the course folder and replace this process by JupyterLab, Notebook 7 or Voilà (code hidden).

    Args:
        folder: the learner's course folder.
        app: one of `APPS`.
        nodes: "auto", "docker", "kubernetes" or "simulated": the kernel that `Lesson` uses in the notebooks.
        browser: whether to open a browser.
        port: the server's port; None = Jupyter's own choice.
        link: a shared scenario to open instead of the start page; "" = none.

    Raises:
        KitError: the program is not installed, or the folder cannot be written.
    """
    import importlib.util

    if port is not None and not 1 <= port <= 65535:
        raise KitError(f"port: must be a number from 1 to 65535, got {port!r}")
    program = APPS[app]
    if importlib.util.find_spec(program.package or program.module) is None:
        raise KitError(f"{program.title} is not installed: {program.install}")
    copied = make_course_folder(folder)
    whole = copied.folder.resolve()
    first = shared_notebook(whole, link) if link else None
    command = jupyter_command(whole, app, browser=browser, port=port, first=first)
    served = kubectl.environment(whole)
    os.execve(command[0], command, {**jupyter_environment(os.environ, nodes), **served})
