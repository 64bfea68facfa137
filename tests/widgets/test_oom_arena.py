"""The OOM arena: the forecast is made before, the kill is read from the kernel's log, and they agree."""

import pytest

from kitlib.cluster import Cluster
from kitlib.widgets import OomArena
from kitlib.widgets._parts.nodes import Passing
from kitlib.widgets.oom_arena import LOOK


@pytest.fixture
def arena():
    return OomArena()


def put(arena, qos, request, uses):
    arena.qos.value, arena.request.amount, arena.uses.amount = qos, request, uses


def test_while_everything_fits_nobody_is_killed(arena):
    put(arena, "Burstable", "100Mi", "200Mi")
    assert "everything still fits" in arena._forecast.value
    arena.add.click()
    assert arena.history == [((), ())]
    assert "burstable-2/app" in set(arena.frame().name)


@pytest.mark.parametrize(
    ("pods", "victim"),
    [
        # the last pod takes the memory, but the one that requested nothing dies
        ([("BestEffort", "", "400Mi"), ("Guaranteed", "600Mi", "590Mi")], "besteffort-1/app"),
        # a large request protects against a small one
        ([("Burstable", "400Mi", "400Mi"), ("Burstable", "10Mi", "550Mi")], "burstable-2/app"),
        # a limit of one's own comes before the machine
        ([("BestEffort", "", "100Mi"), ("Guaranteed", "200Mi", "250Mi")], "guaranteed-2/app"),
    ],
)
def test_the_forecast_is_what_the_kernel_does(arena, pods, victim):
    for qos, request, uses in pods:
        put(arena, qos, request, uses)
        arena.add.click()
    assert arena.history[-1] == ((victim,), (victim,))
    assert f"The kernel killed {victim}, as predicted" in arena.sentence
    assert any("Killed process" in line for line in arena.node.kernel_log())


def test_the_ranking_moves_with_the_amount_that_the_pod_would_take(arena):
    put(arena, "BestEffort", "", "50Mi")
    arena.add.click()
    put(arena, "BestEffort", "", "20Mi")
    assert list(arena.frame().name)[:2] == ["besteffort-1/app", "besteffort-2/app"]
    arena.uses.amount = "80Mi"
    assert list(arena.frame().name)[:2] == ["besteffort-2/app", "besteffort-1/app"]
    daemons = arena.frame().set_index("name").loc[["kubelet", "containerd"]]
    assert (daemons.badness < 0).all()


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("uses", "7xx", "quantities must match"),
        ("uses", "", "specify the memory"),
        ("request", "abc", "quantities must match"),
        ("request", "", "a Burstable pod must have a memory request"),
    ],
)
def test_a_bad_amount_is_said_beside_its_field(arena, field, text, message):
    arena.qos.value = "Burstable"
    getattr(arena, field).amount = text
    assert message in getattr(arena, field).problem
    assert arena.problem == ""
    arena.add.click()
    assert arena.history == []
    getattr(arena, field).amount = "50Mi"
    assert getattr(arena, field).problem == ""


def test_a_pod_that_the_kubelet_rejects_is_a_sentence(arena):
    put(arena, "Guaranteed", "10Gi", "10Mi")
    arena.add.click()
    assert "Node didn&#x27;t have enough resource: memory" in arena.problem


def test_removing_all_leaves_nothing_of_the_arena_behind():
    with Cluster.simulated(1, cpus=2, memory="1Gi") as cluster:
        arena = OomArena(cluster)
        put(arena, "BestEffort", "", "10Mi")
        arena.add.click()
        arena.wait.click()
        arena.clear.click()
        assert not cluster.pods()


def test_the_player_goes_from_the_full_node_to_the_kill_and_to_what_is_left(arena):
    put(arena, "BestEffort", "", "400Mi")
    arena.add.click()
    put(arena, "Guaranteed", "600Mi", "590Mi")
    arena.add.click()
    said = [frame["caption"] for frame in arena.board.frames]
    assert "guaranteed-2 starts: more memory is wanted than there is." in said[-2]
    assert said[-1] == "The kernel kills besteffort-1/app."
    assert arena.board.token("besteffort-1/app")["state"] == "dead", "it stands at the kill"
    before = len(arena.board.frames)
    arena.wait.click()
    said = [frame["caption"] for frame in arena.board.frames]
    assert "besteffort-1/app is gone; its memory is free." in " ".join(said[before:])
    assert "besteffort-1/app" not in {t["id"] for t in arena.board.frames[before]["areas"][0]["boxes"][0]["tokens"]}
    times = [frame["seconds"] for frame in arena.board.frames if frame["seconds"] is not None]
    assert times == sorted(times)
    arena.clear.click()
    assert len(arena.board.frames) == 1


def test_on_a_real_node_the_next_forecast_waits_for_the_memory_of_the_pod(monkeypatch):
    """A process on a busy machine takes a while to touch its memory; forecast too early, everything still fits."""
    monkeypatch.setattr(Passing, "virtual", property(lambda _: False))
    arena = OomArena()
    usages, looks = arena.node.usages, []

    def slowly():
        looks.append(arena.cluster.now())
        return usages() if len(looks) > 4 else {}

    monkeypatch.setattr(arena.node, "usages", slowly)
    arena.add.click()
    assert arena.problem == "" and len(looks) == 5
    assert (looks[-1] - looks[0]).total_seconds() == 4 * LOOK
    arena.cluster.close()


def test_columns_on_the_bar_are_the_points_of_the_ranking():
    arena = OomArena()
    arena.add.click()
    columns = {one["id"]: one for one in arena.board.box("node-1")["columns"]}
    frame = arena.frame().set_index("name")
    assert set(columns) == set(frame.index)
    highest = max(abs(frame.badness))
    for name, one in columns.items():
        points = frame.badness[name]
        assert one["down"] == (points < 0)
        assert sum(height for _, height in one["parts"]) == pytest.approx(abs(points) / highest)
    assert columns["besteffort-2/app"]["state"] == "promised" and columns["kubelet"]["down"]


def test_a_pod_that_requests_nothing_opens_without_a_warning_and_another_class_has_a_request():
    arena = OomArena()
    assert arena.request.amount == "" and arena.request.problem == ""
    arena.qos.value = "Burstable"
    assert arena.request.amount == "128Mi" and "burstable-1" in arena.sentence
