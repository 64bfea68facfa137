"""The README and its pages tell of what there is: every command, every lab, files that exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from kitlib import cli
from kitlib.advisor.dump import COMMAND

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "kitlib" / "docs"
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def test_the_readme_is_read_in_a_minute_and_opens_with_a_picture_and_the_command() -> None:
    assert len(README.splitlines()) < 150
    first_screen = README.splitlines()[:20]
    assert any(line.startswith("![") for line in first_screen)
    assert any(line.endswith("kitlib lab") for line in first_screen)


def test_the_moving_picture_is_small_text_without_anything_from_outside() -> None:
    picture = (ROOT / ".pictures" / "first-kill.svg").read_text()
    assert len(picture) < 10_000
    assert "prefers-reduced-motion" in picture and "prefers-color-scheme:dark" in picture
    assert re.findall(r"https?://[^\"]+", picture) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|<image|<foreignObject|\bon\w+=", picture)


def test_the_readme_links_every_page() -> None:
    assert {f"kitlib/docs/{page.name}" for page in DOCS.glob("*.md")} <= set(re.findall(r"\]\(([^)]+)\)", README))


def test_every_command_is_in_the_table_and_no_other() -> None:
    listed = re.findall(r"^\| `kitlib ([a-z-]+)", (DOCS / "commands.md").read_text(), re.MULTILINE)
    assert set(listed) == set(cli.COMMANDS)


def test_every_lab_is_listed_with_its_title_and_time() -> None:
    table = (DOCS / "course.md").read_text()
    rows = {m[1]: m[0] for m in re.finditer(r"^\| \[\d\d\]\(../../labs/([^/]+)/lab\.ipynb\).*$", table, re.MULTILINE)}
    labs = {path.parent.name: tomllib.loads(path.read_text()) for path in (ROOT / "labs").glob("*/lab.toml")}
    assert rows.keys() == labs.keys()
    for name, lab in labs.items():
        assert lab["title"] in rows[name] and f"| {lab['minutes']} |" in rows[name], name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_linked_is_there(page: Path) -> None:
    linked = [m[1].split("#")[0] for m in re.finditer(r"\]\(([^)#]+)\)", page.read_text()) if "://" not in m[1]]
    assert not [name for name in linked if not (page.parent / name).exists()]


def test_one_command_for_a_dump_is_documented_everywhere() -> None:
    places = [*PAGES, *(ROOT / "kitlib").rglob("*.py"), *(ROOT / "notebooks").glob("*.ipynb")]
    texts = {path: path.read_text(encoding="utf-8") for path in places}
    found = {path: set(re.findall(r"kubectl get nodes,pods\S* -A -o \w+", text)) for path, text in texts.items()}
    shown = {path for path, commands in found.items() if commands}
    assert {"README.md", "pending.md", "explain.py", "17-explain-your-own-cluster.ipynb"} <= {p.name for p in shown}
    assert {command for commands in found.values() for command in commands} == {COMMAND}
