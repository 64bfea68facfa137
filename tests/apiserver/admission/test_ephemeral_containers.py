"""Ephemeral containers are only added, and not to a static pod."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.apiserver.admission.ephemeral_containers import validate_ephemeral_containers_update
from tests.apiserver.admission.writes import pod


def debugged(*containers: dict[str, Any], annotations: dict[str, str] | None = None) -> Pod:
    made: Pod = set_defaults(pod(metadata={"annotations": annotations or {}}, ephemeralContainers=list(containers)))
    return made


A, B = {"name": "a", "image": "i"}, {"name": "b", "image": "i"}
CHANGED = 'spec.ephemeralContainers: Forbidden: existing ephemeral containers "a" may not be changed\n'
REMOVED = 'spec.ephemeralContainers: Forbidden: existing ephemeral containers "{}" may not be removed\n'


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([], [A], []),
        ([A], [A, B], []),
        ([A, B], [B, A], []),
        ([A], [{**A, "image": "other"}], [CHANGED]),
        ([A], [], [REMOVED.format("a")]),
        ([A, B], [], [REMOVED.format("a"), REMOVED.format("b")]),
        ([A, B], [{**A, "tty": True}], [CHANGED, REMOVED.format("b")]),
    ],
)
def test_an_update(old: list[dict[str, Any]], new: list[dict[str, Any]], expected: list[str]) -> None:
    """Source: ValidatePodEphemeralContainersUpdate."""
    found = validate_ephemeral_containers_update(debugged(*new), debugged(*old))
    assert [str(error) for error in found] == expected


def test_a_static_pod_has_none() -> None:
    mirror = debugged(annotations={"kubernetes.io/config.mirror": "x"})
    (found,) = validate_ephemeral_containers_update(debugged(A), mirror)
    assert found.detail == "static pods do not support ephemeral containers"


def test_the_pod_itself_is_validated_too() -> None:
    other = debugged(A)
    other.metadata.name = "q"
    found = [error.field for error in validate_ephemeral_containers_update(other, debugged())]
    assert found == ["metadata.name"]
    found = [error.field for error in validate_ephemeral_containers_update(debugged(A, A), debugged())]
    assert "spec.ephemeralContainers[1].name" in found
