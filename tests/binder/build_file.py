"""The build file that repo2docker prints, and its steps carried out without a container engine.

The substitutes: this machine's system (Debian in the gate) for the image `buildpack-deps:24.04` (Ubuntu), a
virtual environment of this machine's Python for conda's, a folder for the image's `/home` and `/srv`. Packages of
Ubuntu can therefore not be tried here; the kit asks for none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

OURS = "# Run pre-assemble scripts!"
"""The first line of the steps that depend on the repository's files; the steps before it are the same for everybody."""
USER_ID = 1000
USER_NAME = "jovyan"
_SET = re.compile(r"(\w+)=(\"[^\"]*\"|\S+)")
_USE = re.compile(r"\$\{(\w+)\}")


def instructions(text: str) -> list[tuple[str, str, bool]]:
    """Return (instruction, arguments, whether the repository adds it) of a Dockerfile, without comments."""
    found, ours, whole = [], False, ""
    begin = text.index("FROM ")
    for line in text[begin:].splitlines():
        if line.startswith("#"):
            ours = ours or line.startswith(OURS)
            continue
        whole += line.removesuffix("\\").rstrip() + " "
        if line.endswith("\\") or not whole.strip():
            continue
        name, _, arguments = whole.strip().partition(" ")
        found.append((name, arguments.strip(), ours))
        whole = ""
    return found


@dataclass
class Machine:
    """A folder in which the steps are carried out.

    Attributes:
        root: the folder.
        source: the checkout, which the build file calls `src`.
        python: the program that makes the environment used instead of conda's.
        environment: variables of the build file, with those of this process that pip reads.
        user: whom the steps are run as; "" = the one who runs this.
        ran: the commands that were run, each with its user.
    """

    root: Path
    source: Path
    python: str
    environment: dict[str, str] = field(default_factory=dict)
    user: str = "root"
    ran: list[tuple[str, str]] = field(default_factory=list)

    def build(self, text: str) -> None:
        """Carry out the repository's steps of a build file; of the others, only what sets variables."""
        passed = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "REQUESTS_"))}
        self.environment = {**passed, "PATH": os.environ["PATH"], "NB_USER": USER_NAME, "NB_UID": str(USER_ID)}
        self.environment["PIP_NO_COMPILE"] = "1"
        made = False
        for name, arguments, ours in instructions(text):
            if name == "ENV" or (name == "ARG" and "=" in arguments):
                self._set(arguments)
            elif name == "USER":
                self.user = self._filled(arguments)
            elif ours and not made:
                made = True
                self._base()
            if ours and name == "RUN":
                self.run(self._filled(arguments))
            elif ours and name == "COPY":
                self._copy(arguments)

    def run(self, command: str, *, timeout: float = 420) -> str:
        """Run a command of bash as the present user, in the repository's folder; its output."""
        self.ran.append((self.user, command))
        drop = {}
        if os.geteuid() == 0 and self.user == USER_NAME:
            drop = {"user": USER_ID, "group": USER_ID, "extra_groups": []}
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.environment["REPO_DIR"],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            **drop,  # type: ignore[arg-type]
        )
        assert done.returncode == 0, f"{self.user}$ {command}\n{done.stdout[-1500:]}{done.stderr[-3000:]}"
        return done.stdout

    def _filled(self, text: str) -> str:
        return _USE.sub(lambda found: self.environment.get(found[1], ""), text)

    def _set(self, arguments: str) -> None:
        for name, value in _SET.findall(arguments):
            filled = self._filled(value.strip('"'))
            if name in ("HOME", "APP_BASE"):
                filled = f"{self.root}{filled}"
            self.environment[name] = filled

    def _base(self) -> None:
        """Make the result of the steps before ours: folders of the user, and an environment with pip."""
        prefix = Path(self.environment["NB_PYTHON_PREFIX"])
        Path(self.environment["REPO_DIR"]).mkdir(parents=True, exist_ok=True)
        subprocess.run([self.python, "-m", "venv", str(prefix)], check=True)
        self._give(self.root)

    def _copy(self, arguments: str) -> None:
        *options, source, target = self._filled(arguments).split()
        if source.startswith("/"):
            return  # repo2docker's own programs for the entry of the container
        assert f"--chown={USER_ID}:{USER_ID}" in options, arguments
        here, there = self.source / source.removeprefix("src").strip("/"), Path(target)
        if here.is_dir():
            shutil.copytree(here, there, dirs_exist_ok=True)
        else:
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(here, there)
        self._give(there)

    def _give(self, place: Path) -> None:
        if os.geteuid() != 0:
            return
        for path in (place, *place.rglob("*")):
            os.chown(path, USER_ID, USER_ID, follow_symlinks=False)
