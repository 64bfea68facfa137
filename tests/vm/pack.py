"""Put together the second disk of the virtual machine: the checkout, the packages that tests need, the nodes' root.

Usage: pack.py DIRECTORY. The packages are this interpreter's own where it is the machine's version of Python, else pip
fetches those that fit.
"""

from __future__ import annotations

import importlib.metadata as metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WANTED = ("pytest", "docker", "msgspec", "numpy", "PyYAML", "rich")
GUEST = (3, 11)
PARTS = ("kitlib", "tests", "pyproject.toml", "README.md")


def closure(names: tuple[str, ...]) -> set[str]:
    """Distributions and all that they need, without extras."""
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if name in found:
            continue
        try:
            requires = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # needed elsewhere only (another system, an older Python)
        found.add(name)
        todo += [re.split(r"[\s;<>=!~\[(]", one, maxsplit=1)[0] for one in requires if "extra ==" not in one]
    return found


def copy_packages(target: Path) -> None:
    """The packages as they stand here."""
    for name in closure(WANTED):
        for file in metadata.files(name) or []:
            source = Path(str(file.locate()))
            if ".." in file.parts or file.suffix == ".pyc" or not source.is_file():
                continue
            place = target / file
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place)


def main(directory: str) -> None:
    """Fill the directory."""
    target = Path(directory)
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, target / "checkout" / part, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        else:
            (target / "checkout").mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / "checkout" / part)
    site = target / "site"
    site.mkdir(parents=True)
    if sys.version_info[:2] == GUEST:
        copy_packages(site)
    else:
        version = ".".join(map(str, GUEST))
        fits = ["--python-version", version, "--platform", "manylinux2014_x86_64", "--only-binary=:all:"]
        command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(site), *fits, *WANTED]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
