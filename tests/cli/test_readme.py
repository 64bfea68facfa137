"""The README tells of what there is: every command, every lab, files that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from kitlib import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_every_command_is_in_the_table_and_no_other() -> None:
    listed = re.findall(r"^\| `kitlib ([a-z-]+)", README, re.MULTILINE)
    assert set(listed) == set(cli.COMMANDS)


def test_every_lab_is_listed_with_its_title_and_time() -> None:
    rows = {m[1]: m[0] for m in re.finditer(r"^\| \[\d\d\]\(labs/([^/]+)/lab\.ipynb\).*$", README, re.MULTILINE)}
    labs = {path.parent.name: tomllib.loads(path.read_text()) for path in (ROOT / "labs").glob("*/lab.toml")}
    assert rows.keys() == labs.keys()
    for name, lab in labs.items():
        assert lab["title"] in rows[name] and f"| {lab['minutes']} |" in rows[name], name


def test_every_file_that_is_linked_is_there() -> None:
    linked = [m[1] for m in re.finditer(r"\]\(([^)#]+)\)", README) if "://" not in m[1]]
    assert linked and not [name for name in linked if not (ROOT / name).exists()]
