"""Counts by row and by place follow the pods that come and go."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kitlib.api.core import Node, Pod
from kitlib.api.meta import LabelSelector, LabelSelectorRequirement
from kitlib.api.selectors import LabelSelectorMatcher
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.counts import SelectorIndex, add
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot


def node(row: int) -> Node:
    labels = {"zone": f"z{row % 3}"} if row % 4 else {}
    return from_dict({"metadata": {"name": f"n{row}", "labels": labels}}, Node)


def info(number: int, row: int, kind: str | None) -> PodInfo:
    meta = {"name": f"p{number}", "uid": f"p{number}", "labels": {"app": "ab"[number % 2]}}
    made = PodInfo(from_dict({"metadata": meta, "spec": {"nodeName": f"n{row}"}}, Pod))
    made.kind = kind and f"{kind}{number % 2}"
    return made


@pytest.mark.parametrize("kind", [None, "like"])
def test_sums_by_place_are_those_of_the_pods_that_stand(kind: str | None) -> None:
    dice, table = random.Random(1), Snapshot([node(row) for row in range(8)])
    codes, size = table.places("zone")
    assert codes is not None
    standing: list[PodInfo] = []
    for number in range(60):
        if standing and dice.random() < 0.4:
            table.remove(standing.pop(dice.randrange(len(standing))))
        else:
            standing.append(info(number, dice.randrange(8), kind))
            table.add(standing[-1])

        def matches(other: PodInfo) -> int:
            return int(other.pod.metadata.labels["app"] == "a")

        by_row = np.bincount([one.row for one in standing if matches(one)], minlength=8)
        by_place = [by_row[codes == place].sum() for place in range(size)]
        assert table.counted("a", matches).tolist() == by_row.tolist()
        assert table.counted_by("a", matches, "zone", codes, size).tolist() == [*by_place, 0]
        looked_up = table.counted(
            ("a", number), matches, LabelSelectorMatcher(LabelSelector(match_labels={"app": "a"}))
        )
        assert looked_up.tolist() == by_row.tolist()
        assert table.pod_count.sum() == len(standing)


def test_a_sum_beyond_64_bits_is_cut_as_gos_is():
    column = np.zeros(1, np.int64)
    for _ in range(12):
        add([(column.data, None, 900 * 2**50)], 0, 1)
    assert column.item(0) == 12 * 900 * 2**50 - 2**64
    for _ in range(12):
        add([(column.data, None, 900 * 2**50)], 0, -1)
    assert column.item(0) == 0


def test_every_item_that_asks_for_a_pod_is_found_by_the_labels_of_the_pod() -> None:
    dice, index = random.Random(5), SelectorIndex[int]()
    selectors = []
    for number in range(200):
        requirements = [
            LabelSelectorRequirement(
                key=dice.choice("abc"), operator=operator, values=dice.sample("xyz", 2) if "In" in operator else []
            )
            for operator in dice.choices(["In", "NotIn", "Exists", "DoesNotExist"], k=dice.randrange(3))
        ]
        labels = {dice.choice("abc"): dice.choice("xyz")} if dice.random() < 0.5 else {}
        selectors.append(LabelSelectorMatcher(LabelSelector(match_labels=labels, match_expressions=requirements)))
        index.add(selectors[-1], number)
    fewer = 0
    for _ in range(100):
        labels = {key: dice.choice("xyz") for key in "abc" if dice.random() < 0.7}
        found = list(index.candidates(labels))
        assert len(found) == len(set(found))
        assert {number for number, one in enumerate(selectors) if one.matches(labels)} <= set(found)
        fewer += len(found) < 150
    assert fewer > 50


def test_nothing_is_kept_of_the_label_values_of_pods_that_are_gone() -> None:
    table = Snapshot([node(0)])
    table.counted("a", lambda _: 1, LabelSelectorMatcher(LabelSelector(match_labels={"app": "a"})))
    for number in range(4):
        table.add(info(number, 0, None))
    assert set(table._counts.pods_by_label["app"]) == {"a", "b"}
    for pod in list(table.every_pod()):
        table.remove(pod)
    assert table._counts.pods_by_label["app"] == {}
