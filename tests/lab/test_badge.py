"""Binder's badge: from whatever form a git remote's address has, or a sentence why there is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kitlib import cli
from kitlib.api.errors import KitError
from kitlib.lab.badge import badge_of, binder_badge

END = "HEAD?urlpath=lab/tree/notebooks/00-start-here.ipynb)"


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("https://github.com/ada/kit", "gh/ada/kit/"),
        ("https://token@github.com/ada/kit.git", "gh/ada/kit/"),
        ("git@github.com:ada/kit.git", "gh/ada/kit/"),
        ("ssh://git@github.com:22/ada/kit.git/", "gh/ada/kit/"),
        ("https://gitlab.com/school/unit/kit.git", "gl/school%2Funit%2Fkit/"),
    ],
)
def test_the_badge_leads_to_the_repository(address: str, target: str) -> None:
    badge = badge_of(address)
    assert badge.endswith(f"(https://mybinder.org/v2/{target}{END}")
    assert "token" not in badge


@pytest.mark.parametrize("address", ["/srv/git/kit.git", "https://example.com/ada/kit", "https://github.com/ada", ""])
def test_what_binder_cannot_open_has_none(address: str) -> None:
    with pytest.raises(KitError, match=r"must be a repository on github\.com or gitlab\.com"):
        badge_of(address)


def test_the_command_prints_that_of_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with pytest.raises(KitError, match="no git remote 'origin'"):
        binder_badge(tmp_path)
    address = "git@github.com:ada/kit.git"
    subprocess.run(["git", "-C", str(tmp_path), "remote", "add", "origin", address], check=True)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["site", "--badge"]) == 0
    assert capsys.readouterr().out == badge_of(address) + "\n"
    assert cli.main(["site"]) == 2
