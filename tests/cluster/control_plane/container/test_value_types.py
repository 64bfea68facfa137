"""Tests of the types that travel between a control plane and its owner: those of every room that only computes."""

from __future__ import annotations

import dataclasses
import importlib
from enum import Enum
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.api.field_errors import FieldError
from kitlib.cluster.control_plane.container.codec import decode, encode
from kitlib.cluster.control_plane.container.value_types import NotData, name_of
from tests.rooms import KITLIB, pure_files, pure_rooms

STAYS = {
    "advisor": "asked by the owner about its own copy",
    "apiserver/admission": "inside the control plane",
    "apiserver/store": "inside the control plane; objects travel as manifests",
    "conformance": "runs on the owner's side",
    "controllers": "inside the control plane",
    "examples": "manifests",
    "node": "nodes have a protocol of their own",
}
"""A part whose types do not travel -> why."""


def values(room: str) -> list[type[Any]]:
    """Return the dataclasses and enumerations that a room defines, without errors, which are taken apart."""
    found = []
    for path in pure_files(room):
        part = path.relative_to(KITLIB)
        if any(part.is_relative_to(one) for one in STAYS):
            continue
        module = importlib.import_module(".".join(("kitlib", *part.with_suffix("").parts)).removesuffix(".__init__"))
        for one in vars(module).values():
            ours = isinstance(one, type) and one.__module__ == module.__name__ and not issubclass(one, KitError)
            if ours and not one.__name__.startswith("_") and (issubclass(one, Enum) or dataclasses.is_dataclass(one)):
                found.append(one)
    return found


@pytest.mark.parametrize("room", [room for room in pure_rooms() if room not in STAYS])
def test_a_value_of_a_room_that_computes_may_travel(room: str) -> None:
    for kind in values(room):
        name_of(kind)  # raises where it may not


def test_what_stays_is_there_and_may_not_travel() -> None:
    assert all((KITLIB / part).is_dir() for part in STAYS)
    with pytest.raises(NotData):
        encode(KITLIB)


def test_a_refused_field_arrives_as_it_was_sent() -> None:
    error = FieldError("FieldValueRequired", "spec.containers[0].name")
    assert decode(encode([error])) == [error]
