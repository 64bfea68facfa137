"""`kitlib report`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitlib.cli import main
from tests.advisor.dumps import node, pod


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    file = tmp_path / "cluster.json"
    items = [node("n1"), pod("waiting", cpu="9")]
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    return str(file)


def test_it_prints_markdown_and_fails_where_it_is_told_to(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "-f", cluster]) == 0
    assert "# Cluster report" in capsys.readouterr().out
    assert main(["report", "-f", cluster, "--fail-on", "high"]) == 1


@pytest.mark.parametrize("ending", ["html", "md"])
def test_it_writes_a_page(cluster: str, tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / f"report.{ending}"
    assert main(["report", "-f", cluster, "-o", str(page), "--redact"]) == 0
    assert "Cluster report" in page.read_text() and "waiting" not in page.read_text()
    assert "1 node, 0 pods on it" in capsys.readouterr().out


def test_it_prints_json(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "-f", cluster, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["waiting"][0]["stage"] == "filters"


def test_another_kind_of_file_is_refused(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "-f", cluster, "-o", "report.pdf"]) == 2
    assert ".html or .md" in capsys.readouterr().err
