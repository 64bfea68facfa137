"""Endpoints stay in their slices, what is new fills what has room, and no slice holds more than a hundred."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kitlib.api.core import ObjectReference
from kitlib.api.meta import ObjectMeta
from kitlib.api.networking import Endpoint, EndpointConditions, EndpointSlice
from kitlib.controllers.endpointslice_packing import Changes

LABELS = {"kubernetes.io/service-name": "web"}


def endpoint(number: int, ready: bool = True) -> Endpoint:
    address = f"10.0.{number // 250}.{number % 250}"
    target = ObjectReference(namespace="default", name=f"p{number}")
    return Endpoint(addresses=[address], conditions=EndpointConditions(ready=ready), target_ref=target)


def a_slice(name: str, numbers: Iterable[int]) -> EndpointSlice:
    meta = ObjectMeta(name=name, labels=dict(LABELS))
    return EndpointSlice(metadata=meta, address_type="IPv4", endpoints=list(map(endpoint, numbers)))


def packed(standing: dict[str, range], wanted: Iterable[int], unready: Iterable[int] = ()) -> dict[str, list[int]]:
    """What is written: a slice by its name, a new one as `new0`, and what goes as an empty list."""
    changes, others = Changes(), set(unready)
    slices = [a_slice(name, numbers) for name, numbers in standing.items()]
    endpoints = [endpoint(number, number not in others) for number in wanted]
    changes.add(slices, endpoints, lambda: a_slice("", ()))
    named = {one.name: one for one in changes.update} | {f"new{i}": one for i, one in enumerate(changes.create)}
    made = {
        name: [int(e.target_ref.name[1:]) for e in one.endpoints if e.target_ref is not None]
        for name, one in named.items()
    }
    return made | {one.name: [] for one in changes.delete}


@pytest.mark.parametrize(
    ("standing", "wanted", "written"),
    [
        ({}, range(3), {"new0": [0, 1, 2]}),
        ({}, range(250), {"new0": [*range(100)], "new1": [*range(100, 200)], "new2": [*range(200, 250)]}),
        ({"a": range(3)}, range(3), {}),
        ({"a": range(3)}, range(1, 3), {"a": [1, 2]}),
        ({"a": range(100), "b": range(100, 150)}, range(151), {"b": [*range(100, 151)]}),
        ({"a": range(100), "b": range(100, 150)}, range(1, 150), {"a": [*range(1, 100)]}),
        ({"a": range(100), "b": range(100, 150)}, range(1, 151), {"a": [*range(1, 100), 150]}),
        ({"a": range(100), "b": range(100, 101)}, range(100), {"b": []}),
        ({"a": range(60), "b": range(100, 190)}, [*range(60), *range(100, 190), 300], {"b": [*range(100, 190), 300]}),
        ({"a": range(95)}, range(105), {"new0": [*range(95, 105)]}),
        (
            {"a": range(5), "b": range(10, 30)},
            [*range(1, 5), *range(11, 30), 50],
            {"a": [*range(1, 5)], "b": [*range(11, 30), 50]},
        ),
    ],
)
def test_as_little_as_possible_is_written(
    standing: dict[str, range], wanted: Iterable[int], written: dict[str, list[int]]
) -> None:
    assert packed(standing, wanted) == written


def test_what_changed_of_an_endpoint_is_written_where_it_stands() -> None:
    assert packed({"a": range(3), "b": range(3, 5)}, range(5), unready=[1]) == {"a": [0, 1, 2]}


def test_a_slice_that_would_go_is_used_for_one_that_would_come() -> None:
    changes = Changes(create=[a_slice("", range(2))], delete=[a_slice("a", range(5, 7))])
    changes.recycle()
    (used,) = changes.update
    assert (used.name, len(used.endpoints)) == ("a", 2) and not changes.create and not changes.delete


def test_the_placeholder_stays_and_is_made_where_nothing_else_is() -> None:
    changes = Changes(delete=[a_slice("a", ())])
    changes.keep_one(a_slice("", ()))
    assert not changes.delete and not changes.create
    changes.keep_one(a_slice("", ()))
    assert len(changes.create) == 1
