"""What `.github/` says is true of the project."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"


WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
OUTSIDE = ("apt-get update && apt-get install -y git", "docker push ", "gh release create ")
"""Commands that prepare the runner or publish what scripts have made."""


def commands(path: Path) -> list[str]:
    """Return every command of a workflow."""
    workflow = yaml.safe_load(path.read_text())
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


def test_the_workflows_run_the_readmes_test_command_and_the_gate() -> None:
    text = (ROOT / "README.md").read_text()
    readme = re.search(r"^ *(python3 -m venv .venv && .* && \.venv/bin/pytest.*)$", text, re.M)
    assert readme is not None
    every = {command for path in WORKFLOWS for command in commands(path)}
    assert {readme[1], ".ci/run", ".ci/run nightly", ".ci/packages tests"} <= every


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_step_of_a_workflow_is_a_script_that_runs_elsewhere_too(path: Path) -> None:
    own = [command for command in commands(path) if not command.startswith((*OUTSIDE, "python3 -m venv .venv && "))]
    assert own
    for command in own:
        words = command.removeprefix("python ").split()
        assert words[0].startswith(".ci/") and (ROOT / words[0]).is_file(), command
        assert command.startswith("python ") or os.access(ROOT / words[0], os.X_OK), command


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_asks_for_few_rights_and_only_the_publishing_jobs_for_more(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    writing = {name for name, job in workflow["jobs"].items() if "write" in job.get("permissions", {}).values()}
    assert writing == {"release.yml": {"publish", "image", "announce"}, "nightly.yml": {"site"}}.get(path.name, set())


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
