"""The options of a deletion: from the body or the query, their errors, and preconditions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitlib.apiserver.http.delete_options import check_preconditions, options_of, propagation_of
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.resources import ResourceTable
from kitlib.apiserver.http.status import StatusError


def asked(body: Any = None, **query: str) -> Request:
    sent = b"" if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    return Request("DELETE", "/", {name: [value] for name, value in query.items()}, headers, sent)


TYPE = {"kind": "DeleteOptions", "apiVersion": "v1"}


@pytest.mark.parametrize(
    ("request_", "options"),
    [
        (asked(), {}),
        (asked(gracePeriodSeconds="5"), {"gracePeriodSeconds": 5}),
        (asked(propagationPolicy="Foreground", dryRun="All"), {"propagationPolicy": "Foreground", "dryRun": ["All"]}),
        (asked(orphanDependents="true"), {"orphanDependents": True}),
        (asked(orphanDependents="False"), {"orphanDependents": False}),
        (asked(orphanDependents="0"), {"orphanDependents": False}),
        (asked({**TYPE, "gracePeriodSeconds": 0, "preconditions": None}), {"gracePeriodSeconds": 0}),
        # A body replaces the query.
        (asked({**TYPE, "dryRun": ["All"]}, gracePeriodSeconds="5"), {"dryRun": ["All"]}),
    ],
)
def test_options(request_: Request, options: dict[str, Any]) -> None:
    """Source: DeleteResource, Convert_url_Values_To_v1_DeleteOptions."""
    assert options_of(request_) == options


PREFIX = 'DeleteOptions.meta.k8s.io "" is invalid: '


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"propagationPolicy": "Orphan", "orphanDependents": False},
            'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
        ),
        (
            {"propagationPolicy": "Later"},
            'propagationPolicy: Unsupported value: "Later": supported values: "Foreground", "Background", "Orphan", '
            '"nil"',
        ),
        ({"dryRun": ["x"]}, "dryRun: Unsupported value: ['x']: supported values: \"All\""),
    ],
)
def test_invalid_options(options: dict[str, Any], problem: str) -> None:
    """Source: ValidateDeleteOptions."""
    with pytest.raises(StatusError) as raised:
        options_of(asked({**TYPE, **options}))
    assert (raised.value.code, raised.value.message) == (422, PREFIX + problem)


@pytest.mark.parametrize(
    ("options", "policy"),
    [
        ({}, ""),
        ({"propagationPolicy": "Foreground"}, "Foreground"),
        ({"orphanDependents": True}, "Orphan"),
        ({"orphanDependents": False}, "Background"),
    ],
)
def test_the_propagation_policy(options: dict[str, Any], policy: str) -> None:
    assert propagation_of(options) == policy


PODS = ResourceTable().find("", "v1", "pods")
LIVE = {"metadata": {"name": "p", "uid": "u", "resourceVersion": "7"}}


@pytest.mark.parametrize(
    "preconditions",
    [None, {}, {"uid": "u"}, {"resourceVersion": "7"}, {"uid": "u", "resourceVersion": "7"}, {"uid": ""}],
)
def test_preconditions_that_hold(preconditions: Any) -> None:
    assert PODS is not None
    check_preconditions(PODS, LIVE, {"preconditions": preconditions})


@pytest.mark.parametrize(
    ("preconditions", "text"),
    [
        ({"uid": "v", "resourceVersion": "8"}, "UID in precondition: v, UID in object meta: u"),
        ({"resourceVersion": "8"}, "ResourceVersion in precondition: 8, ResourceVersion in object meta: 7"),
    ],
)
def test_preconditions_that_fail(preconditions: Any, text: str) -> None:
    assert PODS is not None
    with pytest.raises(StatusError) as raised:
        check_preconditions(PODS, LIVE, {"preconditions": preconditions})
    message = f'Operation cannot be fulfilled on pods "p": Precondition failed: {text}'
    assert (raised.value.code, raised.value.reason, raised.value.message) == (409, "Conflict", message)
