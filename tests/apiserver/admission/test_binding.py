"""The binding subresource assigns a pod once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from kitlib.api.core import Pod, PodSchedulingGate
from kitlib.api.errors import Conflict, NotFound
from kitlib.api.meta import ObjectMeta
from kitlib.api.release import Release
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.binding import bind
from tests.apiserver.admission.writes import pod

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def server(release: Release | None = None, **spec: Any) -> APIServer:
    api = APIServer(lambda: NOW, release=release or Release("1.36"))
    api.create(pod(metadata={"labels": {"a": "1"}, "annotations": {"x": "1"}}, **spec))
    return api


def test_a_bound_pod() -> None:
    """Source: setPodNodeAndMetadata."""
    api = server()
    stored = api.store.get(Pod, "p", "default")
    stored.status.nominated_node_name = "other"
    api.store.update(stored)
    found = bind(api, "p", "default", "n")
    assert found == api.store.get(Pod, "p", "default")
    assert (found.spec.node_name, found.status.nominated_node_name) == ("n", "")
    assert found.metadata.generation == stored.metadata.generation
    (condition,) = found.status.conditions
    assert (condition.type, condition.status, condition.last_transition_time) == ("PodScheduled", "True", NOW)


def test_labels_and_annotations_of_the_binding_are_added() -> None:
    given = ObjectMeta(labels={"a": "2", "b": "3"}, annotations={"y": "4"})
    found = bind(server(), "p", "default", "n", given)
    assert (found.metadata.labels, found.metadata.annotations) == ({"a": "2", "b": "3"}, {"x": "1", "y": "4"})
    older = bind(server(Release("1.34")), "p", "default", "n", ObjectMeta(labels={"b": "3"}))
    assert older.metadata.labels == {"a": "1"}


def test_the_nominated_node_stays_before_its_gate() -> None:
    api = server(Release("1.34", {"ClearingNominatedNodeNameAfterBinding": False}))
    stored = api.store.get(Pod, "p", "default")
    stored.status.nominated_node_name = "other"
    api.store.update(stored)
    assert bind(api, "p", "default", "n").status.nominated_node_name == "other"


def with_node(made: Pod) -> None:
    made.spec.node_name = "m"


def deleted(made: Pod) -> None:
    made.metadata.deletion_timestamp = NOW


def gated(made: Pod) -> None:
    made.spec.scheduling_gates = [PodSchedulingGate(name="g")]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (with_node, 'pod p is already assigned to node "m"'),
        (deleted, "pod p is being deleted, cannot be assigned to a host"),
        (gated, "pod p has non-empty .spec.schedulingGates"),
    ],
)
def test_a_pod_that_cannot_be_bound(change: Callable[[Pod], None], why: str) -> None:
    api = server()
    stored = api.store.get(Pod, "p", "default")
    change(stored)
    api.store.update(stored)
    with pytest.raises(Conflict) as raised:
        bind(api, "p", "default", "n")
    assert str(raised.value) == f'Operation cannot be fulfilled on pods/binding "p": {why}'
    assert api.store.get(Pod, "p", "default").spec.node_name in ("", "m")


@pytest.mark.parametrize(("field", "name"), [("uid", "UID"), ("resource_version", "ResourceVersion")])
def test_preconditions(field: str, name: str) -> None:
    api = server()
    live = getattr(api.store.get(Pod, "p", "default").metadata, field)
    with pytest.raises(Conflict) as raised:
        bind(api, "p", "default", "n", replace(ObjectMeta(), **{field: "9"}))
    why = f"Precondition failed: {name} in precondition: 9, {name} in object meta: {live}"
    assert str(raised.value) == f'Operation cannot be fulfilled on pods "p": {why}'
    assert bind(api, "p", "default", "n", replace(ObjectMeta(), **{field: live})).spec.node_name == "n"


def test_a_missing_pod() -> None:
    with pytest.raises(NotFound):
        bind(server(), "q", "default", "n")
