"""Finalizers of a deletion with a propagation policy, and objects that they keep."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kitlib.api.core import Namespace
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.apiserver.admission.deletion import keeps, mark, with_propagation
from tests.apiserver.admission.writes import made

NOW = datetime(2024, 1, 1, tzinfo=UTC)
F, O = "foregroundDeletion", "orphan"


@pytest.mark.parametrize(
    ("standing", "policy", "first", "again"),
    [
        ([], "Foreground", [F], [F]),
        ([], "Orphan", [O], [O]),
        ([], "Background", [], []),
        (["a/b"], "Foreground", ["a/b", F], ["a/b", F]),
        ([F, "a/b"], "Foreground", ["a/b", F], ["a/b", F]),
        ([O, "a/b"], "Foreground", ["a/b", F], ["a/b", F]),
        ([F], "Orphan", [O], [O]),
        # Background takes back an earlier policy only of an object that is being deleted already.
        ([F, "a/b"], "Background", [F, "a/b"], ["a/b"]),
        ([O], "Background", [O], []),
    ],
)
def test_the_finalizers_of_a_deletion(standing: list[str], policy: str, first: list[str], again: list[str]) -> None:
    """Source: deletionFinalizersForGarbageCollection; `again` = with a deletion timestamp."""
    assert with_propagation(ObjectMeta(finalizers=standing), policy) == first
    assert with_propagation(ObjectMeta(finalizers=standing, deletion_timestamp=NOW), policy) == again


@pytest.mark.parametrize(
    ("kind", "finalizers", "of_spec", "expected"),
    [
        ("Pod", [], [], False),
        ("Pod", ["a/b"], [], True),
        ("Namespace", [], [], False),
        ("Namespace", [], ["kubernetes"], True),
        ("Namespace", ["a/b"], [], True),
    ],
)
def test_finalizers_keep_an_object(kind: str, finalizers: list[str], of_spec: list[str], expected: bool) -> None:
    obj: KubeObject = made(kind, metadata={"finalizers": finalizers}, spec={"finalizers": of_spec} if of_spec else {})
    assert keeps(obj) is expected


def test_the_first_deletion_sets_the_time() -> None:
    obj: KubeObject = made("ConfigMap")
    mark(obj, NOW)
    mark(obj, NOW + timedelta(seconds=9))
    assert (obj.metadata.deletion_timestamp, obj.metadata.deletion_grace_period_seconds) == (NOW, 0)


def test_a_namespace_terminates() -> None:
    obj: Namespace = made("Namespace", status={"phase": "Active", "conditions": []})
    mark(obj, NOW)
    assert obj.status == {"phase": "Terminating", "conditions": []}
