"""Columns of nodes: requirements are answered by value as by node, and replaced rows as if all were read anew."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kitlib.api.core import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Taint
from kitlib.api.selectors import matches_node_selector, matches_term
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.node_columns import NodeColumns

KEYS = ("zone", "size", "name", "gone")
OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def node(draw: random.Random, name: str) -> Node:
    labels = {
        key: value
        for key, value in (("zone", f"z{draw.randrange(3)}"), ("size", str(draw.choice([-3, 7, 30, "7a", "+5"]))))
        if draw.random() < 0.8
    }
    images = [{"names": [f"i{draw.randrange(4)}"], "sizeBytes": draw.randrange(9)}] if draw.random() < 0.4 else []
    taints = [{"key": "k", "value": str(draw.randrange(3)), "effect": "NoSchedule"}] if draw.random() < 0.4 else []
    meta = {"name": name, "labels": {**labels, "name": name}}
    return from_dict({"metadata": meta, "spec": {"taints": taints}, "status": {"images": images}}, Node)


def requirement(draw: random.Random, key: str) -> NodeSelectorRequirement:
    operator = draw.choice(OPERATORS)
    pool = ["z0", "z1", "7", "5", "30", "x", "n1", "n4", "-3"]
    size = 1 if operator in ("Gt", "Lt") else draw.randrange(1, 4)
    values = [] if operator in ("Exists", "DoesNotExist") else draw.sample(pool, size)
    return NodeSelectorRequirement(key=key, operator=operator, values=values)


def term(draw: random.Random) -> NodeSelectorTerm:
    expressions = [requirement(draw, draw.choice(KEYS)) for _ in range(draw.randrange(3))]
    fields = [requirement(draw, draw.choice(["metadata.name", "spec.other"])) for _ in range(draw.random() < 0.3)]
    return NodeSelectorTerm(match_expressions=expressions, match_fields=fields)


def test_terms_select_the_nodes_that_they_match_one_by_one() -> None:
    draw, selected = random.Random(7), 0
    for _ in range(60):
        nodes = [node(draw, f"n{i}") for i in range(draw.randrange(1, 9))]
        columns = NodeColumns(nodes)
        for _ in range(12):
            selector = NodeSelector(node_selector_terms=[term(draw) for _ in range(draw.randrange(1, 3))])
            for one in selector.node_selector_terms:
                assert columns.matched_by(one).tolist() == [matches_term(one, each) for each in nodes], one
            found = columns.selected_by(selector).tolist()
            assert found == [matches_node_selector(selector, each) for each in nodes]
            selected += sum(found)
    assert selected > 500


def test_an_answer_is_not_changed_by_the_next_question() -> None:
    columns = NodeColumns([node(random.Random(1), "n0"), node(random.Random(2), "n1")])
    named = NodeSelectorRequirement(key="name", operator="In", values=["n0"])
    other = NodeSelectorRequirement(key="name", operator="In", values=["n1"])
    both = NodeSelectorTerm(match_expressions=[named, other])
    assert columns.matched_by(both).tolist() == [False, False]
    assert columns.matched_by(NodeSelectorTerm(match_expressions=[named])).tolist() == [True, False]


def seen(columns: NodeColumns) -> object:
    """Everything that follows from the nodes; numbers of labels and taints are replaced by what they mean."""
    codes, lists = columns.taint_groups()
    taints: list[tuple[Taint, ...]] = [lists[code] for code in codes]
    labels = {}
    for key in KEYS:
        column = columns.label(key)
        labels[key] = column.codes.tolist(), column.values, columns.is_one_to_one(key)
    names = columns.matched_by(
        NodeSelectorTerm(
            match_fields=[NodeSelectorRequirement(key="metadata.name", operator="In", values=["n1", "n3", "m2"])]
        )
    )
    return labels, taints, columns.image_spread(), columns.name_order().tolist(), names.tolist()


@pytest.mark.parametrize("asked_before", [True, False])
def test_replaced_rows_are_as_if_all_had_been_read_anew(asked_before: bool) -> None:
    draw = random.Random(11)
    for _ in range(80):
        nodes = [node(draw, f"n{i}") for i in range(draw.randrange(1, 7))]
        columns = NodeColumns(nodes)
        for step in range(6):
            if asked_before:
                seen(columns)
            listed = list(nodes)
            if draw.random() < 0.5:
                listed = listed[: draw.randrange(1, len(listed) + 1)]
            changed = sorted(draw.sample(range(len(listed)), draw.randrange(len(listed) + 1)))
            for row in changed:
                listed[row] = node(draw, draw.choice([listed[row].name, f"r{step}-{row}"]))
            more = [node(draw, f"m{step}-{i}") for i in range(draw.randrange(3))] if len(listed) == len(nodes) else []
            changed += range(len(listed), len(listed) + len(more))
            nodes = [*listed, *more]
            columns = columns.replaced(nodes, changed)
            assert seen(columns) == seen(NodeColumns(nodes))


def test_columns_of_nodes_that_are_gone_keep_their_own() -> None:
    nodes = [node(random.Random(i), f"n{i}") for i in range(3)]
    columns = NodeColumns(nodes)
    before = seen(columns)
    columns.replaced([*nodes[:2], node(random.Random(9), "n2")], [2])
    assert seen(columns) == before and np.array_equal(columns.search_order(), NodeColumns(nodes).search_order())
