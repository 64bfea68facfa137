"""What `.github/` says is true of the project."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"


def commands() -> list[str]:
    """Every command of the workflow."""
    workflow = yaml.safe_load((GITHUB / "workflows" / "ci.yml").read_text())
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


def test_the_workflow_runs_the_readmes_test_command_and_the_gate() -> None:
    text = (ROOT / "README.md").read_text()
    readme = re.search(r"^ *(python3 -m venv .venv && .* && \.venv/bin/pytest.*)$", text, re.M)
    assert readme is not None
    assert readme[1] in commands()
    assert {".ci/run", ".ci/run nightly"} <= set(commands())


@pytest.mark.parametrize("path", sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.name)
def test_an_issue_template_asks_for_something(path: Path) -> None:
    template = yaml.safe_load(path.read_text())
    if path.name != "config.yml":
        assert template["name"] and template["description"]
        assert any(field.get("validations", {}).get("required") for field in template["body"])


def test_every_path_that_the_architecture_page_names_exists() -> None:
    text = (GITHUB / "ARCHITECTURE.md").read_text()
    named = re.findall(r"(?<![\w./])(?:kitlib|tests|labs|notebooks|\.ci)/[\w./*-]*[\w/*]", text)
    assert len(named) > 60
    assert not [path for path in named if not list(ROOT.glob(path))]


def test_the_architecture_page_draws_the_packages_as_the_contract_orders_them() -> None:
    drawing = (GITHUB / "ARCHITECTURE.md").read_text().split("## The house is a cluster")[1].split("    apiserver:")[0]
    lines = [line.strip().split("  ")[0] for line in drawing.splitlines() if line.startswith("    ")]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["name"] == "Rooms import downwards only")
    assert lines == [layer.strip("()") for layer in layers if layer not in ("cli", "__main__")]


def test_every_path_and_package_that_the_guide_names_exists() -> None:
    text = (GITHUB / "CONTRIBUTING.md").read_text()
    paths = re.findall(r"`((?:kitlib|tests|labs|notebooks|\.ci)/[\w./-]*)`", text)
    packages = re.findall(r"`(\w+)/`", text.split("## How to add")[0])
    missing = [path for path in paths if not (ROOT / path).exists()]
    missing += [name for name in packages if not ((ROOT / "kitlib" / name).exists() or (ROOT / name).exists())]
    assert len(paths) >= 12
    assert missing in ([], ["artifacts"])


def test_the_guide_names_every_package() -> None:
    text = (GITHUB / "CONTRIBUTING.md").read_text()
    packages = {path.parent.name for path in (ROOT / "kitlib").glob("*/__init__.py")}
    assert {name for name in packages if f"`{name}/`" not in text} <= {"conformance", "examples"}
