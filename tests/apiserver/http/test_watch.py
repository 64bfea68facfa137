"""Watches: what a client is told, in order and once, under selectors and after a disconnect."""

from __future__ import annotations

import json
from typing import Any

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def config(name: str, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    meta = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def told(stream: Any) -> list[tuple[str, str]]:
    lines = [json.loads(line) for line in stream.poll()]
    return [(line["type"], line["object"].get("metadata", {}).get("name", "")) for line in lines]


def test_from_a_lists_version_on_every_change_is_told_once(call: Any) -> None:
    call("POST", MAPS, config("a"))
    version = call("GET", MAPS)[1]["metadata"]["resourceVersion"]
    call("POST", MAPS, config("b"))
    _, stream = call("GET", f"{MAPS}?watch=true&resourceVersion={version}")
    assert told(stream) == [("ADDED", "b")]
    call("PUT", f"{MAPS}/a", config("a", x="1"))
    call("DELETE", f"{MAPS}/b")
    assert told(stream) == [("MODIFIED", "a"), ("DELETED", "b")]
    assert told(stream) == []


def test_without_a_version_what_stands_comes_first(call: Any) -> None:
    call("POST", MAPS, config("a"))
    _, stream = call("GET", f"{MAPS}?watch=true")
    assert ("ADDED", "a") in told(stream)


def test_a_list_as_a_watch_ends_with_a_bookmark(call: Any) -> None:
    call("POST", MAPS, config("a"))
    query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    _, stream = call("GET", f"{MAPS}?{query}")
    lines = [json.loads(line) for line in stream.poll()]
    assert lines[-1]["type"] == "BOOKMARK"
    assert lines[-1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert call("GET", f"{MAPS}?watch=true&sendInitialEvents=true")[0] == 422


def test_an_object_that_leaves_the_selector_is_deleted_to_its_watcher(call: Any) -> None:
    call("POST", MAPS, config("a", {"app": "web"}))
    _, stream = call("GET", f"{MAPS}?watch=true&labelSelector=app=web")
    assert told(stream) == [("ADDED", "a")]
    call("PUT", f"{MAPS}/a", config("a", {"app": "db"}))
    assert told(stream) == [("DELETED", "a")]
    call("PUT", f"{MAPS}/a", config("a", {"app": "web"}))
    assert told(stream) == [("ADDED", "a")]


def test_the_event_of_leaving_has_the_selected_content_and_the_version_of_the_change(call: Any) -> None:
    call("POST", MAPS, config("a", {"app": "web"}, x="1"))
    _, stream = call("GET", f"{MAPS}?watch=true&labelSelector=app=web")
    told(stream)
    changed = call("PUT", f"{MAPS}/a", config("a", {"app": "db"}, x="2"))[1]
    (line,) = stream.poll()
    gone = json.loads(line)["object"]
    assert (gone["metadata"]["labels"], gone["data"]) == ({"app": "web"}, {"x": "1"})
    assert gone["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]
    assert call("GET", f"{MAPS}/a")[1] == changed, "the stored object is unharmed"


def test_only_one_object_by_name(call: Any) -> None:
    _, stream = call("GET", f"{MAPS}?watch=true&fieldSelector=metadata.name=b")
    told(stream)
    call("POST", MAPS, config("a"))
    call("POST", MAPS, config("b"))
    assert told(stream) == [("ADDED", "b")]


def test_rows_of_a_table_name_their_columns_once(call: Any) -> None:
    _, stream = call("GET", f"{MAPS}?watch=true", accept=TABLE)
    call("POST", MAPS, config("a", x="1"))
    call("POST", MAPS, config("b"))
    tables = [json.loads(line)["object"] for line in stream.poll()]
    assert [c["name"] for c in tables[0]["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert tables[1]["columnDefinitions"] is None
    assert [t["rows"][0]["cells"][:2] for t in tables] == [["a", 1], ["b", 0]]


def test_versions_that_no_watch_can_begin_at(call: Any) -> None:
    assert call("GET", f"{MAPS}?watch=true&resourceVersion=x")[0] == 400
    assert call("GET", f"{MAPS}?watch=true&resourceVersion=99999999")[0] == 504


def test_after_a_disconnect_an_object_that_has_left_the_selector_is_told_to_be_gone(call: Any) -> None:
    for name in ("leaves", "stays", "changes"):
        call("POST", MAPS, config(name, {"app": "web"}))
    call("POST", MAPS, config("comes", {"app": "db"}))
    call("POST", MAPS, config("never", {"app": "db"}))
    version = call("GET", MAPS)[1]["metadata"]["resourceVersion"]
    call("PUT", f"{MAPS}/leaves", config("leaves", {"app": "db"}))
    call("PUT", f"{MAPS}/comes", config("comes", {"app": "web"}))
    call("PUT", f"{MAPS}/changes", config("changes", {"app": "web"}, x="1"))
    call("PUT", f"{MAPS}/never", config("never", {"app": "db"}, x="1"))
    call("POST", MAPS, config("brief", {"app": "web"}))
    call("DELETE", f"{MAPS}/brief")
    call("DELETE", f"{MAPS}/stays")
    _, stream = call("GET", f"{MAPS}?watch=true&labelSelector=app=web&resourceVersion={version}")
    assert told(stream) == [
        ("DELETED", "leaves"),
        ("ADDED", "comes"),
        ("MODIFIED", "changes"),
        ("ADDED", "brief"),
        ("DELETED", "brief"),
        ("DELETED", "stays"),
    ]


def test_each_version_is_one_to_go_on_from_without_loss_or_repetition(call: Any) -> None:
    start = call("GET", MAPS)[1]["metadata"]["resourceVersion"]
    call("POST", MAPS, config("a"))
    call("PUT", f"{MAPS}/a", config("a", x="1"))
    call("DELETE", f"{MAPS}/a")
    call("POST", MAPS, config("a"))

    def lines(version: str) -> list[tuple[str, str]]:
        _, stream = call("GET", f"{MAPS}?watch=true&resourceVersion={version}")
        found = [json.loads(line) for line in stream.poll()]
        return [(one["type"], one["object"]["metadata"]["resourceVersion"]) for one in found]

    whole = lines(start)
    assert [change for change, _ in whole] == ["ADDED", "MODIFIED", "DELETED", "ADDED"]
    for i, (_, version) in enumerate(whole, start=1):
        assert lines(version) == whole[i:]
