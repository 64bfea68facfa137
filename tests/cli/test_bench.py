"""`kitlib bench`: its lines, and the comparison of two revisions."""

from __future__ import annotations

import json

import pytest

from kitlib.api.errors import KitError
from kitlib.cli import main
from kitlib.commands.bench import print_ratios, scale

pytestmark = pytest.mark.thorough


def test_every_figure_names_its_unit(capsys: pytest.CaptureFixture[str]) -> None:
    for what, unit in (("minutes", "virtual s"), ("enforcement", "pods")):
        assert main(["bench", what, "--pods", "3", "--runs", "1", "--json"]) == 0
        figures = json.loads(capsys.readouterr().out)
        assert {figure["unit"] for figure in figures} == {unit}
        assert all(figure["per_second"] == pytest.approx(figure["count"] / figure["seconds"]) for figure in figures)


def test_loading_is_compared_with_the_plain_reader(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "load", "--pods", "3", "--runs", "1"]) == 0
    assert "times the reference" in capsys.readouterr().out.splitlines()[-1]


def test_lists_and_watches_over_http_are_compared_with_the_work_behind_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", "http", "--pods", "5", "--runs", "1", "--json"]) == 0
    written, listed, tables, watched = json.loads(capsys.readouterr().out)
    assert "ratio" not in written and listed["ratio"] == pytest.approx(written["seconds"] / listed["seconds"])
    assert tables["count"] == 5 and tables["ratio"] > 0
    assert watched["count"] == 200 and watched["ratio"] > 0


def test_a_sweep_is_measured_with_one_worker_and_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "sweep", "--points", "20", "--runs", "1", "--json"]) == 0
    one, two = json.loads(capsys.readouterr().out)
    assert one["count"] == two["count"] == 20 and two["ratio"] == pytest.approx(one["seconds"] / two["seconds"])


def test_a_pending_pod_of_a_dump_is_explained_in_a_process_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "explain", "--pods", "3", "--runs", "1", "--json"]) == 0
    like, unlike = json.loads(capsys.readouterr().out)
    assert "5000 nodes, 3 pods" in like["what"] and like["seconds"] > 0
    assert "500 nodes, 1 pods no two alike" in unlike["what"] and unlike["seconds"] > 0


def test_many_pods_are_compared_with_five_thousand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale, "_placed", lambda count: count / 1000)
    assert main(["bench", "scale", "--pods", "20000", "--runs", "1", "--json"]) == 0
    few, many = json.loads(capsys.readouterr().out)
    assert (few["count"], many["count"], many["ratio"]) == (5000, 20000, pytest.approx(4))


def test_all_pods_of_the_large_cluster_must_be_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "NODES", 3)
    assert scale._placed(10) > 0
    with pytest.raises(KitError, match=r"kitlib bench scale: \d+ of 1000 pods were placed"):
        scale._placed(1000)


def test_ratios_come_with_their_spread_and_say_what_the_other_revision_lacks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pairs = [({"a": 1.0, "b": 1.0}, {"a": 2.0}), ({"a": 1.0, "b": 1.0}, {"a": 4.0}), ({"a": 1.0, "b": 1.0}, {"a": 3.0})]
    print_ratios(pairs, "v1")
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == ["a 3.00 times as fast as v1 (2.00 to 4.00)", "b is not measured by v1"]


def test_an_unknown_revision_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "minutes", "--compare", "no-such-revision"]) != 0
    said = capsys.readouterr().err
    assert "--compare" in said and ("no-such-revision" in said or "not a git repository" in said)
