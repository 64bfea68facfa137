"""The form of a response by the Accept header. Source: handlers/negotiation; RequestScope.AllowsMediaTypeTransform."""

from __future__ import annotations

import pytest

from kitlib.apiserver.http.dispatcher import Accept, accepted
from kitlib.apiserver.http.status import StatusError

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

FORMS = [
    ("a table", TABLE, Accept("Table", "v1", "application/json")),
    ("an older table", TABLE.replace("v1;", "v1beta1;"), Accept("Table", "v1beta1", "application/json")),
    (
        "bare metadata of a list",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        Accept("PartialObjectMetadata", "v1", "application/json"),
    ),
    ("a table without its group, then JSON", "application/json;as=Table;v=v1,application/json", Accept()),
    ("a table without its version, then JSON", "application/json;as=Table;g=meta.k8s.io,application/json", Accept()),
    ("an unknown shape, then a table", f"application/json;as=Row;v=v1;g=meta.k8s.io,{TABLE}", accepted(TABLE)),
    ("a group without a shape, then JSON", "application/json;g=meta.k8s.io,application/json", Accept()),
]


@pytest.mark.parametrize(("header", "expected"), [row[1:] for row in FORMS], ids=[row[0] for row in FORMS])
def test_the_first_form_that_is_served(header: str, expected: Accept) -> None:
    assert accepted(header) == expected


@pytest.mark.parametrize(
    "header",
    [
        "application/json;as=Table;v=v1",
        "application/json;as=Table;g=meta.k8s.io",
        "application/json;as=Table;v=v2;g=meta.k8s.io",
        "application/json;as=Row;v=v1;g=meta.k8s.io",
        "application/json;g=meta.k8s.io;v=v1",
    ],
)
def test_a_shape_that_is_not_served_is_not_acceptable(header: str) -> None:
    with pytest.raises(StatusError, match="only the following media types are accepted") as raised:
        accepted(header)
    assert raised.value.code == 406
