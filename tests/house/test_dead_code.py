"""Nothing in kitlib is unused: what neither kitlib, a lab, a notebook nor the README names is not there.

Uses in tests do not count. What vulture cannot see stands in `dead_code.toml`, each rule with its reason.
"""

from __future__ import annotations

import json
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from vulture import Vulture

pytestmark = pytest.mark.thorough  # each process of the tests would read everything once more
ROOT = Path(__file__).parents[2]
ALLOWED: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("dead_code.toml").read_text())["allow"]
COMMANDS = re.compile(r"^\s*[%!]", re.MULTILINE)


def python_of(notebook: Path) -> str:
    """The code cells of a notebook, without the lines that only IPython understands."""
    cells = json.loads(notebook.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return "\n\n".join("\n".join(line for line in text.splitlines() if not COMMANDS.match(line)) for text in code)


@pytest.fixture(scope="module")
def unused() -> list[Any]:
    """What vulture finds, without the reports about tests, labs and notebooks themselves."""
    vulture = Vulture()
    for path in sorted((ROOT / "kitlib").rglob("*.py")):
        vulture.scan(path.read_text(), filename=path.relative_to(ROOT))
    for path in sorted((ROOT / "labs").rglob("*.py")):
        vulture.scan(path.read_text(), filename=path.relative_to(ROOT))
    for folder in ("notebooks", "labs"):
        for path in sorted((ROOT / folder).rglob("*.ipynb")):
            vulture.scan(python_of(path), filename=path.relative_to(ROOT))
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)):
        vulture.scan(block, filename=Path(f"README-{number}.py"))
    return [item for item in vulture.get_unused_code() if item.filename.parts[0] == "kitlib"]


def allows(rule: dict[str, Any], item: Any) -> bool:
    return (
        fnmatch(item.filename.as_posix(), rule["files"])
        and item.typ in rule["kinds"]
        and any(fnmatch(item.name, name) for name in rule["names"])
    )


def test_everything_in_kitlib_is_used(unused: list[Any]) -> None:
    found = [
        f"{item.filename}:{item.first_lineno}: {item.typ} {item.name}"
        for item in unused
        if not any(allows(rule, item) for rule in ALLOWED)
    ]
    assert not found, "unused outside tests:\n" + "\n".join(found)


@pytest.mark.parametrize("rule", ALLOWED, ids=lambda rule: f"{rule['files']} {rule['kinds'][0]}")
def test_a_rule_of_the_allow_list_is_needed_and_says_why(rule: dict[str, Any], unused: list[Any]) -> None:
    assert any(allows(rule, item) for item in unused)
    assert rule["reason"]
