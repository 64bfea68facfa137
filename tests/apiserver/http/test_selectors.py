"""Label and field selectors, as clients write them."""

from __future__ import annotations

import pytest

from kitlib.apiserver.http.selectors import field_selector, label_selector
from kitlib.apiserver.http.status import StatusError

LABELS = {"app": "web", "tier": "front", "example.com/size": "12"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app=db", False),
        ("app!=db", True),
        ("missing!=x", True),
        ("app", True),
        ("!app", False),
        ("!missing", True),
        ("app in (web,db)", True),
        ("app in (db)", False),
        ("app notin (db)", True),
        ("missing notin (db)", True),
        ("missing in (db)", False),
        ("app in (web), tier=front", True),
        ("app=web,tier=back", False),
        ("example.com/size>11", True),
        ("example.com/size<12", False),
        ("app=", False),
    ],
)
def test_label_selector(text: str, matches: bool) -> None:
    assert label_selector(text)({"metadata": {"labels": LABELS}}) is matches


@pytest.mark.parametrize("text", ["app in web", "a b", "=x", "app=web,", "app>x", "-a=b", "a=b/c", "x" * 400, "(a)"])
def test_what_is_no_selector_is_a_bad_request(text: str) -> None:
    with pytest.raises(StatusError) as raised:
        label_selector(text)
    assert raised.value.code == 400


POD = {"metadata": {"name": "a"}, "spec": {"nodeName": "n1", "hostNetwork": True}, "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("metadata.name=a", True),
        ("spec.nodeName=n1,status.phase!=Failed", True),
        ("status.phase=Failed", False),
        ("spec.nodeName=", False),
        ("spec.hostNetwork=true", True),
        ("status.nominatedNodeName=", True),
    ],
)
def test_field_selector(text: str, matches: bool) -> None:
    assert field_selector(text, "", "pods")(POD) is matches


def test_a_field_that_the_kind_cannot_be_selected_by_is_named() -> None:
    with pytest.raises(StatusError, match=r"field label not supported: spec\.containers"):
        field_selector("spec.containers=x", "", "pods")
