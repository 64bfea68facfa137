"""The snapshot's columns follow the nodes and the pods, and kept values are valid as long as they must be."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from kitlib.api.container import ContainerPort
from kitlib.api.core import Node
from kitlib.api.errors import KitError
from kitlib.api.resource import Quantity
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import MAX_HISTORY, MAX_KEPT, Snapshot
from tests.scheduler.builders import node, pod

GPU = "example.com/gpu"


def info(name: str, on: str, cpu: str = "100m", gpus: int = 0) -> PodInfo:
    made = pod(name, cpu, on=on)
    if gpus:
        made.spec.containers[0].resources.requests[GPU] = Quantity(gpus)
    return PodInfo(made)


def with_port(made: PodInfo, port: int) -> PodInfo:
    made.pod.spec.containers[0].ports = [ContainerPort(container_port=port, host_port=port)]
    return made


def test_columns_of_amounts_and_pods() -> None:
    table = Snapshot([node("a", "4"), node("b", "2")])
    assert table.allocatable["cpu"].tolist() == [4000, 2000]
    assert table.allowed_pods.tolist() == [110, 110]
    assert "pods" not in table.allocatable
    first, second = info("p", "b", "500m"), info("q", "b", "250m")
    table.add(first)
    table.add(second)
    assert table.requested["cpu"].tolist() == [0, 750]
    assert table.requested["memory"].tolist() == [0, 128 * 2**20]
    assert table.non_zero_cpu.tolist() == [0, 750] and table.pod_count.tolist() == [0, 2]
    assert list(table.pods[1]) == ["p", "q"] and list(table.every_pod()) == [first, second]
    table.remove(first)
    assert table.requested["cpu"].tolist() == [0, 250] and table.pod_count.tolist() == [0, 1]
    assert list(table.pods[1]) == ["q"]


def test_a_pod_may_be_put_on_a_row_that_it_does_not_name() -> None:
    table, one = Snapshot([node("a"), node("b")]), info("p", "a")
    table.add(one, 1)
    assert one.row == 1 and table.pod_count.tolist() == [0, 1]


def test_a_port_is_free_after_any_of_its_pods_has_gone() -> None:
    """Source: HostPortInfo.Remove."""
    table = Snapshot([node("a")])
    first, second = with_port(info("p", "a"), 80), with_port(info("q", "a"), 80)
    table.add(first)
    table.add(second)
    assert [port[2] for port in table.ports[0]] == [80]
    table.remove(first)
    assert table.ports[0] == set()


def test_a_resource_that_no_node_offers_has_a_column_with_its_first_pod() -> None:
    table = Snapshot([node("a"), node("b")])
    before = table.counts
    assert table.column(GPU, table.requested).tolist() == [0, 0] and GPU not in table.requested
    table.add(info("p", "b", gpus=2))
    assert table.requested[GPU].tolist() == [0, 2] and table.allocatable[GPU].tolist() == [0, 0]
    assert table.counts > before, "what was made without the column is not valid any longer"


def test_the_extent_of_a_resource() -> None:
    table = Snapshot([node("a", "4"), node("b", "2")])
    assert table.extent("cpu") == (2000, 4000) and table.extent(GPU) == (0, 0)
    table.rebuild([node("c", "1")])
    assert table.extent("cpu") == (1000, 1000)
    assert Snapshot().extent("cpu") == (0, 0)


def test_two_nodes_of_one_name_are_an_error() -> None:
    with pytest.raises(KitError, match=r"^nodes: 1 names are used more than once$"):
        Snapshot([node("a"), node("b"), node("a")])


def test_pods_move_with_their_nodes_and_those_of_missing_nodes_are_returned() -> None:
    a, b, c = node("a", "1"), node("b", "2"), node("c", "3")
    table = Snapshot([a, b, c])
    infos = {name: info(name, name, cpu) for name, cpu in (("a", "100m"), ("b", "200m"), ("c", "300m"))}
    for one in infos.values():
        table.add(one)
    changes = table.changes
    assert table.rebuild([c, b]) == [infos["a"]]
    assert table.changes == changes + 1 and table.names == ["c", "b"] and table.index == {"c": 0, "b": 1}
    assert [infos[name].row for name in "abc"] == [-1, 1, 0]
    assert table.requested["cpu"].tolist() == [300, 200] and table.allocatable["cpu"].tolist() == [3000, 2000]
    late, lost = info("late", "a"), info("lost", "x")
    table.rebuild([c, b, node("a", "4")], [late, lost])
    assert (late.row, lost.row) == (2, -1)
    assert table.requested["cpu"].tolist() == [300, 200, 100] and table.allocatable["cpu"].tolist() == [
        3000,
        2000,
        4000,
    ]


def test_only_rows_with_another_object_are_read_again() -> None:
    a, b = node("a", "1"), node("b", "2")
    table = Snapshot([a, b])
    a.status.allocatable["cpu"] = Quantity("9")  # the same object: read once
    table.rebuild([a, node("b", "5")])
    assert table.allocatable["cpu"].tolist() == [1000, 5000]
    b.spec.unschedulable = True
    table.rebuild([a, b])
    assert table.unschedulable.tolist() == [False, True] and table.allocatable["cpu"].tolist() == [1000, 2000]


@pytest.mark.parametrize("seed", range(6))
def test_a_snapshot_after_many_changes_equals_a_new_one(seed: int) -> None:
    dice, table = random.Random(seed), Snapshot()
    nodes: dict[str, Node] = {}
    standing: dict[str, PodInfo] = {}
    for number in range(60):
        act = dice.random()
        if act < 0.25 or not nodes:
            name = dice.choice("abcdef")
            if name in nodes and dice.random() < 0.4:
                del nodes[name]
            else:
                nodes[name] = node(name, str(dice.randrange(1, 9)))
            order = list(nodes.values())
            dice.shuffle(order)
            for gone in table.rebuild(order):
                del standing[gone.uid]
        elif act < 0.5 and standing:
            table.remove(standing.pop(dice.choice(list(standing))))
        else:
            one = info(f"p{number}", dice.choice(list(nodes)), f"{dice.randrange(1, 900)}m", dice.randrange(2))
            table.add(one)
            standing[one.uid] = one
        fresh = Snapshot(table.nodes)
        for one in standing.values():
            fresh.add(PodInfo(one.pod))
        for name in ("cpu", "memory", GPU):
            for mine, its in ((table.allocatable, fresh.allocatable), (table.requested, fresh.requested)):
                assert table.column(name, mine).tolist() == fresh.column(name, its).tolist()
        for name in ("non_zero_cpu", "non_zero_memory", "pod_count", "allowed_pods", "unschedulable"):
            assert getattr(table, name).tolist() == getattr(fresh, name).tolist()
        assert [set(row) for row in table.pods] == [set(row) for row in fresh.pods]
        equal = [[table.amounts_of(i) == table.amounts_of(j) for j in range(len(table))] for i in range(len(table))]
        assert equal == [
            [fresh.amounts_of(i) == fresh.amounts_of(j) for j in range(len(table))] for i in range(len(table))
        ]


class Computed:
    """A column of pod counts; `rows` are those of each computation."""

    def __init__(self, table: Snapshot) -> None:
        self.table, self.rows = table, list[list[int]]()

    def __call__(self, rows: Any) -> tuple[Any, ...]:
        self.rows.append(rows.tolist())
        return (self.table.pod_count[rows],)


def test_kept_columns_are_computed_again_for_changed_rows_only() -> None:
    table = Snapshot([node(name) for name in "abc"])
    compute = Computed(table)
    assert table.kept("k", compute)[0].tolist() == [0, 0, 0]
    table.kept("k", compute)
    one = info("p", "b")
    table.add(one)
    assert table.kept("k", compute)[0].tolist() == [0, 1, 0]
    table.touch(one)
    table.kept("k", compute)
    table.kept("other", compute)
    assert compute.rows == [[0, 1, 2], [1], [1], [0, 1, 2]]
    table.rebuild(table.nodes)
    table.kept("k", compute)
    assert compute.rows[-1] == [0, 1, 2], "a change of any node ends all of them"


def test_remembered_values_of_changed_rows_are_discarded() -> None:
    table = Snapshot([node(name) for name in "abc"])
    table.remembered("k").update({0: "x", 1: "y"})
    table.add(info("p", "b"))
    assert table.remembered("k") == {0: "x"} and table.remembered("other") == {}
    table.rebuild(table.nodes)
    assert table.remembered("k") == {}


def test_a_memo_is_made_once_while_the_nodes_stay() -> None:
    table = Snapshot([node("a")])
    made = table.memo("k", list)
    table.add(info("p", "a"))
    assert table.memo("k", list) is made
    table.rebuild(table.nodes)
    assert table.memo("k", list) is not made
    for number in range(MAX_KEPT + 1):
        table.memo(number, list)
    assert table.memo("last", list) is table.memo("last", list)


def test_the_version_grows_with_every_change_of_a_pod() -> None:
    table, one = Snapshot([node("a"), node("b")]), info("p", "b")
    assert table.version == 0
    table.add(one)
    table.touch(one)
    table.remove(one)
    assert table.version == 3 and table.changed_since(2) == {1} and table.changed_since(3) == set()
    table.rebuild(table.nodes)
    assert table.version == 0


def test_a_history_ends_when_it_is_as_long_as_a_copy_is_dear() -> None:
    table = Snapshot([node("a")])
    table.history = []
    one = info("p", "a")
    for _ in range(MAX_HISTORY // 2 - 1):
        table.add(one)
        table.remove(one)
    assert table.history is not None and table.history[:2] == [(one, 0, 1), (one, 0, -1)]
    table.add(one)
    assert table.history is not None
    table.remove(one)
    assert table.history is None


def test_a_copy_of_the_columns_repeats_what_has_happened() -> None:
    table = Snapshot([node("a"), node("b")])
    table.add(info("p", "a"))
    copied = table.columns_only()
    table.history = []
    one = info("q", "b", "300m")
    table.add(one)
    assert copied.requested["cpu"].tolist() == [100, 0] and copied.pod_count.tolist() == [1, 0]
    assert copied.version == 0 and copied.changes == table.changes
    copied.repeat(table.history)
    assert copied.requested["cpu"].tolist() == [100, 300] == table.requested["cpu"].tolist()
    assert copied.pod_count.tolist() == [1, 1] and copied.non_zero_cpu.tolist() == [100, 300]


def test_all_rows_are_a_column_that_is_not_changed() -> None:
    table = Snapshot([node("a"), node("b")])
    every, column = table.every_row(), np.array([5, 6])
    assert every.tolist() == [0, 1] and table.every_row() is every
    with pytest.raises(ValueError, match="read-only"):
        every[0] = 1
    assert table.at(every, column) is column and table.at(np.array([1]), column).tolist() == [6]
    table.rebuild([node("c")])
    assert table.every_row().tolist() == [0]


def test_labels_and_places() -> None:
    table = Snapshot([node("a", zone="x"), node("b"), node("c", zone="y")])
    codes, values = table.label("zone")
    assert [values[code] if code >= 0 else None for code in codes.tolist()] == ["x", None, "y"]
    assert table.is_one_to_one("kubernetes.io/hostname") and not table.is_one_to_one("zone")
    assert table.places("kubernetes.io/hostname") == (None, 3)
    assert table.name_order().tolist() == [0, 1, 2]
