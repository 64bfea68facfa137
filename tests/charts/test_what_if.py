"""The picture of a what-if: each node that changes, before and after, with names as text."""

from __future__ import annotations

from xml.etree import ElementTree

from kitlib.advisor.what_if_answer import NodeUse, WhatIf
from kitlib.charts.what_if import NODE_LIMIT, nodes_before_and_after


def drained() -> WhatIf:
    one = {"cpu": 1000, "memory": 2**30}
    room = {"cpu": 4000, "memory": 2**33}
    return WhatIf(
        ("drain n1",),
        nodes=(NodeUse("n1", room, {"a/<b>": one}, {}), NodeUse("n2", room, {"a/k": one}, {"a/k": one, "a/<c>": one})),
    )


def test_it_is_well_formed_and_says_what_leaves_and_what_comes() -> None:
    picture = nodes_before_and_after(drained())
    texts = ["".join(one.itertext()) for one in ElementTree.fromstring(picture).iter()]
    assert "a/<b>: 1 CPU" in texts and "a/<c>: 1 CPU" in texts and "2 CPU" in texts
    assert "url(#" in picture and "var(--kit-green" in picture


def test_names_are_hidden() -> None:
    assert "a/k" not in nodes_before_and_after(drained(), lambda text: text.replace("a/k", "pod-1"))


def test_without_a_change_it_says_so() -> None:
    assert "No pod changes its node." in nodes_before_and_after(WhatIf(("add n1",)))


def test_of_many_nodes_those_with_the_largest_change_are_drawn() -> None:
    room = {"cpu": 4000, "memory": 2**33}
    many = tuple(NodeUse(f"n{i}", room, {}, {"p": {"cpu": i, "memory": 1}}) for i in range(NODE_LIMIT + 3))
    picture = nodes_before_and_after(WhatIf(("drain x",), nodes=many))
    assert "3 more nodes change" in picture and ">n0<" not in picture
