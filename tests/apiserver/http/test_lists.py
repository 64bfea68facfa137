"""Lists by version, and pages of one state, whatever is written between them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from kitlib.apiserver.http.lists import CONTINUE_EXPIRED, EXPIRED

MAPS = "/api/v1/namespaces/default/configmaps"


def config(name: str, namespace: str = "default", **data: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, "labels": {"of": "test"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def names(answer: tuple[int, Any]) -> list[tuple[str, str]]:
    assert answer[0] == 200, answer
    return [(one["metadata"]["name"], (one.get("data") or {}).get("x", "")) for one in answer[1]["items"]]


@pytest.fixture
def maps(call: Any) -> Any:
    """A call, with the objects a to e in their first state."""
    for name in "abcde":
        assert call("POST", MAPS, config(name, x="1"))[0] == 201
    return call


def change(call: Any) -> None:
    """Delete one object, change one, create one."""
    call("DELETE", f"{MAPS}/d")
    call("PUT", f"{MAPS}/e", config("e", x="2"))
    call("POST", MAPS, config("da", x="1"))


FIRST = [(name, "1") for name in "abcde"]
THEN = [("a", "1"), ("b", "1"), ("c", "1"), ("da", "1"), ("e", "2")]
OF = "labelSelector=of=test"


def compact(cluster: Any) -> None:
    """Let the store forget what has happened until now."""
    store, now = cluster.api.store, cluster.api.store.now()
    for minutes in (0, 6):
        store.now = lambda minutes=minutes: now + timedelta(minutes=minutes)
        store.compact()


def test_pages_show_the_state_of_the_first_one(maps: Any) -> None:
    _, page = maps("GET", f"{MAPS}?{OF}&limit=2")
    change(maps)
    found, version = names((200, page)), page["metadata"]["resourceVersion"]
    while page["metadata"].get("continue"):
        code, page = maps("GET", f"{MAPS}?{OF}&limit=2&continue={page['metadata']['continue']}")
        found += names((code, page))
        assert page["metadata"]["resourceVersion"] == version
    assert found == FIRST
    assert names(maps("GET", f"{MAPS}?{OF}")) == THEN


def test_a_page_of_a_forgotten_state_is_expired_with_a_token_that_goes_on(maps: Any, cluster: Any) -> None:
    _, page = maps("GET", f"{MAPS}?{OF}&limit=2")
    change(maps)
    compact(cluster)
    code, status = maps("GET", f"{MAPS}?{OF}&limit=2&continue={page['metadata']['continue']}")
    assert (code, status["reason"], status["message"]) == (410, "Expired", CONTINUE_EXPIRED)
    token = status["metadata"]["continue"]
    assert names(maps("GET", f"{MAPS}?{OF}&continue={token}")) == THEN[2:]


def test_exact_lists_show_the_state_of_that_version(maps: Any, cluster: Any) -> None:
    version = maps("GET", MAPS)[1]["metadata"]["resourceVersion"]
    change(maps)
    exact = f"{MAPS}?{OF}&resourceVersion={version}&resourceVersionMatch=Exact"
    assert names(maps("GET", exact)) == FIRST
    assert maps("GET", exact)[1]["metadata"]["resourceVersion"] == version
    assert names(maps("GET", f"{MAPS}?{OF}&resourceVersion={version}&limit=9")) == FIRST  # as before the match existed
    for query in (f"resourceVersion={version}", f"resourceVersion={version}&resourceVersionMatch=NotOlderThan"):
        code, found = maps("GET", f"{MAPS}?{OF}&{query}")
        assert names((code, found)) == THEN
        assert int(found["metadata"]["resourceVersion"]) > int(version)
    compact(cluster)
    code, status = maps("GET", exact)
    assert (code, status["reason"], status["message"]) == (410, "Expired", EXPIRED)


@pytest.mark.parametrize("path", ["?", "/a?", "?resourceVersionMatch=Exact&", "?watch=true&"])
def test_a_version_of_the_future_is_too_large(maps: Any, path: str) -> None:
    code, status = maps("GET", f"{MAPS}{path}resourceVersion=99999999")
    assert (code, status["reason"]) == (504, "Timeout")
    assert status["message"].startswith("Timeout: Too large resource version: 99999999, current: ")
    assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("resourceVersionMatch=Exact", "resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ("resourceVersion=0&resourceVersionMatch=Exact", '"exact" is forbidden for resourceVersion "0"'),
        ("resourceVersion=1&resourceVersionMatch=Newest", 'supported values: "Exact", "NotOlderThan", ""'),
        ("resourceVersion=1&resourceVersionMatch=Exact&continue=x", "is forbidden when continue is provided"),
        ("sendInitialEvents=true", "sendInitialEvents is forbidden for list"),
    ],
)
def test_options_that_do_not_go_together_are_invalid(maps: Any, query: str, words: str) -> None:
    code, status = maps("GET", f"{MAPS}?{query}")
    assert (code, status["reason"]) == (422, "Invalid")
    assert words in status["message"]


def test_a_token_takes_no_version_beside_it_and_must_be_one(maps: Any) -> None:
    token = maps("GET", f"{MAPS}?limit=1")[1]["metadata"]["continue"]
    code, status = maps("GET", f"{MAPS}?resourceVersion=1&continue={token}")
    assert (code, status["message"]) == (400, "specifying resource version is not allowed when using continue")
    for wrong in ("x", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi94In0"):
        code, status = maps("GET", f"{MAPS}?continue={wrong}")
        assert code == 400
        assert status["message"].startswith("invalid continue token: continue key is not valid")


def test_objects_of_all_namespaces_are_in_the_order_of_their_keys(call: Any) -> None:
    for namespace in ("a", "a-b"):
        meta = {"name": namespace}
        assert call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": meta})[0] == 201
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        assert call("POST", path, config("m", namespace))[0] == 201
    found = call("GET", f"/api/v1/configmaps?{OF}")[1]["items"]
    assert [one["metadata"]["namespace"] for one in found] == ["a-b", "a"]  # "a-b/m" < "a/m": "-" comes before "/"


def test_a_watch_from_a_forgotten_version_begins_and_ends_with_an_error(maps: Any, cluster: Any) -> None:
    version = maps("GET", MAPS)[1]["metadata"]["resourceVersion"]
    change(maps)
    compact(cluster)
    code, stream = maps("GET", f"{MAPS}?watch=true&resourceVersion={version}")
    (line,) = [json.loads(one) for one in stream.poll()]
    assert (code, line["type"], line["object"]["code"], line["object"]["reason"]) == (200, "ERROR", 410, "Expired")
    assert stream.closed and not stream.poll()


def test_a_watch_tells_the_deletion_of_what_left_its_selector_before_it_began(maps: Any) -> None:
    version = maps("GET", MAPS)[1]["metadata"]["resourceVersion"]
    for labels in ({"of": "x"}, {"of": "y"}):
        maps("PATCH", f"{MAPS}/a", {"metadata": {"labels": labels}}, content_type="application/merge-patch+json")
    _, stream = maps("GET", f"{MAPS}?watch=true&{OF}&resourceVersion={version}")
    lines = [json.loads(one) for one in stream.poll()]
    assert [(one["type"], one["object"]["metadata"]["name"]) for one in lines] == [("DELETED", "a")]
