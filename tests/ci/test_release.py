"""`.ci/release` lets a tag pass that is the version of kit and changelog; the README's command on other systems."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kitlib import __version__

ROOT = Path(__file__).parents[2]
CI = ROOT / ".ci"
CHANGES = "# Changes\n\n## 1.2.0 (2027-01-31)\n\n### Added\n\n* A thing.\n\n## 1.1.0\n\n* An older thing.\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the script, a version and a changelog."""
    for folder in (".ci", ".github", "kitlib"):
        (tmp_path / folder).mkdir()
    shutil.copy(CI / "release", tmp_path / ".ci" / "release")
    (tmp_path / ".github" / "CHANGELOG.md").write_text(CHANGES)
    (tmp_path / "kitlib" / "__init__.py").write_text('"""A kit."""\n\n__version__ = "1.2.0"\n')
    return tmp_path


def release(checkout: Path, *arguments: str) -> tuple[int, str]:
    """Exit code and both outputs."""
    done = subprocess.run([checkout / ".ci" / "release", *arguments], capture_output=True, text=True, timeout=20)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(os.name != "posix", reason="the script is for bash")
class TestTag:
    def test_a_tag_that_is_the_version_passes(self, checkout: Path) -> None:
        assert release(checkout, "check", "v1.2.0") == (0, "kitlib 1.2.0 can be released\n")

    @pytest.mark.parametrize(
        ("tag", "message"),
        [
            ("v1.3.0", "kitlib/__init__.py has version 1.2.0; set it to 1.3.0, or tag v1.2.0"),
            ("1.2.0", "tag '1.2.0': must be v and a version"),
            ("v1.2.0.dev0", "must be v and a version"),
            ("v1.2", "must be v and a version"),
        ],
    )
    def test_another_tag_is_refused_with_the_way_out(self, checkout: Path, tag: str, message: str) -> None:
        code, said = release(checkout, "check", tag)
        assert code == 1 and message in said

    def test_a_version_in_development_is_not_offered_as_a_tag(self, checkout: Path) -> None:
        (checkout / "kitlib" / "__init__.py").write_text('__version__ = "1.2.0.dev0"\n')
        code, said = release(checkout, "check", "v1.2.0")
        assert code == 1 and said.rstrip().endswith("has version 1.2.0.dev0; set it to 1.2.0")

    def test_a_changelog_that_begins_with_another_version_is_refused(self, checkout: Path) -> None:
        (checkout / ".github" / "CHANGELOG.md").write_text(CHANGES.replace("## 1.2.0 ", "## Unreleased "))
        code, said = release(checkout, "check", "v1.2.0")
        assert code == 1 and "is '## Unreleased'; expected '## 1.2.0'" in said

    def test_an_empty_section_is_refused(self, checkout: Path) -> None:
        (checkout / ".github" / "CHANGELOG.md").write_text(CHANGES.replace("* A thing.\n", ""))
        assert release(checkout, "check", "v1.2.0")[0] == 1

    def test_a_page_that_names_a_development_version_is_refused(self, checkout: Path) -> None:
        (checkout / "README.md").write_text("The version 1.2.0.dev0 is not released.\n")
        code, said = release(checkout, "check", "v1.2.0")
        assert code == 1 and said.rstrip().endswith("a development version is named in README.md")

    def test_the_notes_are_the_versions_own_section(self, checkout: Path) -> None:
        assert release(checkout, "notes", "v1.2.0") == (0, "\n### Added\n\n* A thing.\n\n")


VERSIONED = (
    "kitlib/__init__.py",
    "kitlib/docs/install.md",
    "kitlib/lab/jupyter/share/labextensions/kitlib/package.json",
)
"""Files that carry the version; `kitlib/__init__.py` is where programs read it."""


@pytest.fixture
def project(checkout: Path) -> Path:
    """The same with this project's files and a sorted changelog."""
    for name in VERSIONED:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    (checkout / ".github" / "CHANGELOG.md").write_text(CHANGES.replace("## 1.2.0 (2027-01-31)", "## Unreleased"))
    return checkout


@pytest.mark.skipif(os.name != "posix", reason="the script is for bash")
@pytest.mark.parametrize(("tag", "npm"), [("v7.8.9", "7.8.9"), ("v7.8.9rc1", "7.8.9-rc.1")])
def test_one_command_writes_the_version_everywhere(project: Path, tag: str, npm: str) -> None:
    code, said = release(project, "bump", tag)
    assert code == 0, said
    assert release(project, "check", tag)[0] == 0
    assert not [name for name in VERSIONED if __version__ in (project / name).read_text()]
    assert (
        (project / VERSIONED[1]).read_text().count(tag[1:]) == (ROOT / VERSIONED[1]).read_text().count(__version__) > 0
    )
    assert json.loads((project / VERSIONED[2]).read_text())["version"] == npm
    assert re.search(rf"^## {tag[1:]} \(\d{{4}}-\d\d-\d\d\)$", (project / ".github" / "CHANGELOG.md").read_text(), re.M)


@pytest.mark.skipif(os.name != "posix", reason="the script is for bash")
def test_a_release_waits_for_a_sorted_changelog(project: Path) -> None:
    changelog = project / ".github" / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("### Added", "* Another thing.\n\n### Added"))
    code, said = release(project, "bump", "v7.8.9")
    assert code == 1 and "changes above the first '### ': 1; move each" in said
    assert __version__ in (project / VERSIONED[0]).read_text()


def test_the_readmes_test_command_becomes_that_of_windows() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import readme_tests;"
        "text = open(sys.argv[2], encoding='utf-8').read();"
        "print(*readme_tests.steps(text, 'py', windows=True), sep='\\n')"
    )
    command = [sys.executable, "-c", program, str(CI), str(CI.parent / "README.md")]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    assert lines == [
        "['py', '-m', 'venv', '.venv']",
        "['.venv/Scripts/python', '-m', 'pip', 'install', '.[test]']",
        "['.venv/Scripts/pytest', '-n', 'auto']",
    ]


def test_the_extension_of_jupyterlab_has_the_kits_version_in_npms_form() -> None:
    package = json.loads((ROOT / "kitlib/lab/jupyter/share/labextensions/kitlib/package.json").read_text())
    assert package["version"] == re.sub(r"\.?(a|b|rc|dev)(\d+)$", r"-\1.\2", __version__)
