"""The rollout stage: the Deployment controller's own steps, within what maxSurge and maxUnavailable allow."""

import pytest

from kitlib.widgets import RolloutStage


def rolled(**settings):
    stage = RolloutStage()
    for name, value in settings.items():
        getattr(stage, name).value = value
    stage.roll.click()
    assert stage.problem == ""
    return stage


@pytest.mark.parametrize(
    ("settings", "least", "most"),
    [
        ({"replicas": 4, "surge": "25%", "unavailable": "25%"}, 3, 5),
        ({"replicas": 4, "surge": "1", "unavailable": "0"}, 4, 5),
        ({"replicas": 4, "surge": "0", "unavailable": "1"}, 3, 4),
        ({"replicas": 3, "surge": "50%", "unavailable": "50%"}, 2, 5),  # 1.5: up for surge, down for unavailable
        ({"replicas": 1, "surge": "25%", "unavailable": "25%"}, 1, 2),
        ({"replicas": 4, "strategy": "Recreate"}, 0, 4),
    ],
)
def test_a_rollout_keeps_within_its_bounds_and_ends(settings, least, most):
    stage = rolled(min_ready=2, **settings)
    assert stage.bounds() == (least, most)
    frame = stage.frame()
    ready = frame["old, ready"] + frame["new, ready"]
    standing = ready + frame["not ready"]
    assert ready.min() >= least and standing.max() <= most
    assert frame["new, ready"].iloc[-1] == settings["replicas"] and frame["old, ready"].iloc[-1] == 0
    assert "Version 2 serves alone." in stage.board.frames[-1]["caption"]
    assert len(stage.board.frames) >= 3 and stage.board.position == len(stage.board.frames) - 1


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"replicas": 7, "surge": "50%", "unavailable": "0"},
        {"surge": "0", "unavailable": "2"},
        {"strategy": "Recreate"},
    ],
)
def test_the_bar_of_all_pods_stays_between_its_lines(settings):
    stage = rolled(**settings)
    least, most = stage.bounds()
    counts = stage.frame()[["old, ready", "new, ready", "not ready", "ending"]]
    counts = counts[(counts != counts.shift()).any(axis=1)]  # equal moments are one frame
    for (_, row), frame in zip(counts.iterrows(), stage.board.frames, strict=True):
        bar = next(box for box in frame["areas"][0]["boxes"] if box["id"] == "sum")
        sizes = {token["id"]: round(token["size"] * (most + 1)) for token in bar["tokens"]}
        ready, waits = row["old, ready"] + row["new, ready"], row["not ready"]
        assert sizes == {name: n for name, n in (("sum ready", ready), ("sum not ready", waits)) if n}
        lines = {mark["label"]: round(mark["at"] * (most + 1)) for mark in bar["marks"]}
        assert lines == {f"never above {most}": most} | ({f"never below {least} ready": least} if least else {})
        assert least <= ready and ready + waits <= most


def test_recreate_ends_all_before_it_starts_any():
    frame = rolled(strategy="Recreate").frame()
    assert ((frame["old, ready"] + frame["ending"] == 0) | (frame["new, ready"] == 0)).all()
    assert (frame["old, ready"] + frame["new, ready"]).min() == 0


def test_a_version_that_crashes_never_takes_over():
    stage = rolled(bad=True, min_ready=2)
    frame = stage.frame()
    assert (frame["old, ready"] >= stage.bounds()[0]).all()
    assert "stands still" in stage.sentence or "stands still" in stage.board.frames[-1]["caption"]


def test_what_the_api_server_refuses_is_said_and_nothing_is_rolled_out():
    stage = RolloutStage()
    stage.unavailable.value = "0"
    stage.surge.value = "0"
    assert "may not be 0 when `maxSurge` is 0" in stage.problem


def test_tokens_keep_their_identity_so_that_one_sees_where_they_go():
    first, second = rolled().board.frames[:2]
    names = [{t["id"] for box in frame["areas"][0]["boxes"] for t in box["tokens"]} for frame in (first, second)]
    assert names[0] <= names[1]
