"""ControllerRevisions have data, which never change, and a number that is not negative."""

from __future__ import annotations

import pytest

from kitlib.api.apps import ControllerRevision
from kitlib.apiserver.validation.controller_revision import (
    validate_controller_revision,
    validate_controller_revision_update,
)
from tests.apiserver.validation.told import named, told


def revision(data: object = None, number: int = 0, name: str = "a") -> ControllerRevision:
    return named(ControllerRevision, name, "n", data=data, revision=number)


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        (revision({"a": 1}), []),
        (revision({}), []),
        (revision(None), ["data Required data is mandatory"]),
        (revision({}, -1), ["revision Invalid must be greater than or equal to 0"]),
        (revision(None, -1, ""), [
            "metadata.name Required name or generateName is required",
            "data Required data is mandatory",
            "revision Invalid must be greater than or equal to 0",
        ]),
    ],
)  # fmt: skip
def test_a_revision(obj: ControllerRevision, errors: list[str]) -> None:
    assert told(validate_controller_revision(obj)) == errors


def test_an_update_keeps_the_data() -> None:
    old = revision({"a": 1})
    assert told(validate_controller_revision_update(revision({"a": 1}, 5), old)) == []
    assert told(validate_controller_revision_update(revision({"a": 2}), old)) == ["data Invalid field is immutable"]
    assert told(validate_controller_revision_update(revision({"a": 1}, name="b"), old)) == [
        "metadata.name Invalid field is immutable"
    ]
