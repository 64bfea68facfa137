"""Each function, type and file of Kubernetes that the course names exists in the release that it teaches.

The lists are data taken from the release's source (`upstream_names.py`); a name that is not declared there stands in
`upstream_names.toml` with what it is, or with the release in which it went.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from course import NAMES, ROOT, Notebook
from upstream_names import DATA, lists_of

LISTS = json.loads(gzip.decompress(DATA.read_bytes()))
FILES, DECLARED = set(LISTS["files"]), set(LISTS["names"])
FOLDERS = {path.rsplit("/", depth)[0] for path in FILES for depth in range(1, path.count("/") + 1)}
OTHERS = tomllib.loads(DATA.with_name("upstream_names.toml").read_text(encoding="utf-8"))
LINK = re.compile(r"github\.com/kubernetes/kubernetes/(?:blob|tree)/[\w.-]+/((?:pkg|plugin|cmd|staging)/[\w./-]+)")
PATH = re.compile(r"(?<![\w/.-])((?:pkg|plugin|cmd|staging)/[\w./-]+\.go)\b")
CODE = re.compile(r"`([A-Za-z_][\w.]*)(?:\(\))?`")
SOURCE = "## What Kubernetes' source does"
PAGES = sorted([*ROOT.glob("labs/*/lab.ipynb"), *ROOT.glob("labs/*/lab.toml"), *ROOT.glob("kitlib/docs/*.md")])


def unknown_paths(text: str) -> list[str]:
    return [path for path in (*LINK.findall(text), *PATH.findall(text)) if path.rstrip("/") not in FILES | FOLDERS]


def names_of(prose: str) -> set[str]:
    """The Go names of the source section: CamelCase or camelCase in backticks, without what stands before a dot."""
    section = prose.partition(SOURCE)[2].partition("\n## ")[0]
    found = {code.rpartition(".")[2] for code in CODE.findall(section)}
    return {name for name in found if re.search(r"[a-z][A-Z]|^[A-Z][a-z]", name)}


def test_the_lists_say_where_they_come_from() -> None:
    assert LISTS["release"] == "1.36.2" and re.fullmatch(r"[0-9a-f]{40}", LISTS["commit"])
    assert len(FILES) > 9000 and len(DECLARED) > 40_000


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_names_what_the_release_has(name: str) -> None:
    prose = Notebook(name).prose
    assert not unknown_paths(prose)
    known = DECLARED | OTHERS["elsewhere"].keys() | OTHERS["gone"].keys()
    assert not names_of(prose) - known, (
        "not declared in the release: look it up, or say in upstream_names.toml what it is"
    )


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_lab_and_a_page_name_files_that_the_release_has(path: Path) -> None:
    assert not unknown_paths(path.read_text(encoding="utf-8"))


def test_every_exception_is_needed() -> None:
    named = set().union(*(names_of(Notebook(name).prose) for name in NAMES))
    assert OTHERS["elsewhere"].keys() <= named - DECLARED
    assert OTHERS["gone"].keys() <= named - DECLARED


def test_a_name_is_found_in_each_form_of_a_declaration_and_not_in_tests(tmp_path: Path) -> None:
    folder = tmp_path / "pkg" / "a"
    folder.mkdir(parents=True)
    go = "func plain(x int) {}\nfunc (m *thing) Method() {}\ntype Kind struct {\n\tField int\n}\nconst one = 1\n"
    (folder / "a.go").write_text(go + "const (\n\ttwo = 2\n)\ntype Face interface {\n\tAsk(x int) error\n}\n")
    (folder / "a_test.go").write_text("func helperOfATest() {}\n")
    files, names = lists_of(tmp_path)
    assert files == {"pkg/a/a.go", "pkg/a/a_test.go"}
    assert {"plain", "Method", "Kind", "Field", "one", "two", "Face", "Ask"} <= names
    assert "helperOfATest" not in names
