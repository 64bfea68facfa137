"""Server-side apply: who owns what, what conflicts, what goes."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kitlib.apiserver.http.managed_fields import Managers, decode, encode, fields_of
from kitlib.apiserver.http.status import StatusError

NOW = "2026-01-05T08:00:00Z"


def deployment(replicas: int | None = None, **containers: str) -> dict[str, Any]:
    spec: dict[str, Any] = {} if replicas is None else {"replicas": replicas}
    if containers:
        spec["template"] = {"spec": {"containers": [{"name": n, "image": i} for n, i in containers.items()]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def apply(managers: Managers, live: Any, config: Any, manager: str, force: bool = False) -> Any:
    return managers.apply(live, config, manager, "apps/v1", force=force, subresource="", now=NOW)


def test_field_sets_survive_their_wire_form() -> None:
    fields = fields_of({"metadata": {"finalizers": ["a/b"], "labels": {"x": "1"}}, **deployment(2, c="x:1", d="y:1")})
    assert decode(encode(fields)) == fields
    assert ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"c"}', "f:image") in fields
    assert ("f:metadata", "f:name") not in fields


def test_an_item_that_is_no_longer_applied_goes_and_that_of_another_manager_stays() -> None:
    managers = Managers([])
    live = apply(managers, {}, deployment(2, a="x:1", b="x:1"), "one")
    live = apply(managers, live, deployment(None, c="x:1"), "two")
    live = apply(managers, live, deployment(2, a="x:1"), "one")
    assert [c["name"] for c in live["spec"]["template"]["spec"]["containers"]] == ["a", "c"]


def test_a_field_that_two_managers_apply_stays_when_one_drops_it() -> None:
    managers = Managers([])
    live = apply(managers, {}, deployment(2), "one")
    live = apply(managers, live, deployment(2), "two")
    live = apply(managers, live, deployment(), "one")
    assert live["spec"]["replicas"] == 2


def test_another_value_of_an_owned_field_is_a_conflict_until_it_is_forced() -> None:
    managers = Managers([])
    live = apply(managers, {}, deployment(2), "one")
    with pytest.raises(StatusError) as raised:
        apply(managers, live, deployment(3), "two")
    assert (raised.value.code, raised.value.reason) == (409, "Conflict")
    assert raised.value.message == 'Apply failed with 1 conflict: conflict with "one": .spec.replicas'
    assert raised.value.details["causes"][0]["field"] == ".spec.replicas"
    live = apply(managers, live, deployment(3), "two", force=True)
    assert live["spec"]["replicas"] == 3
    live = apply(managers, live, deployment(4), "two")  # the first one owns it no longer
    assert live["spec"]["replicas"] == 4


def test_the_same_value_is_no_conflict() -> None:
    managers = Managers([])
    live = apply(managers, {}, deployment(2), "one")
    assert apply(managers, live, deployment(2), "two")["spec"]["replicas"] == 2


def test_an_update_takes_the_fields_that_it_changes() -> None:
    managers = Managers([])
    live = apply(managers, {}, deployment(2, a="x:1"), "one")
    changed = deployment(5, a="x:1")
    managers.update(live, changed, "kubectl-edit", "apps/v1", "", NOW)
    entries = {entry["manager"]: entry["fieldsV1"] for entry in managers.to_list()}
    assert entries["kubectl-edit"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in entries["one"]["f:spec"]
    with pytest.raises(StatusError, match='conflict with "kubectl-edit" using apps/v1'):
        apply(Managers(managers.to_list()), changed, deployment(2, a="x:1"), "one")


def test_a_selector_is_one_field_and_the_ports_of_a_policy_are_replaced() -> None:
    spec = {"selector": {"matchLabels": {"app": "web"}}}
    assert ("f:spec", "f:selector") in fields_of({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec})
    policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "p"}}
    one = policy | {"spec": {"ingress": [{"ports": [{"port": 80}]}]}}
    two = policy | {"spec": {"ingress": [{"ports": [{"port": 81}]}]}}
    managers = Managers([])
    live = apply(managers, {}, one, "one")
    assert apply(managers, live, two, "one")["spec"] == two["spec"]


SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "ports": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": {}, "targets": {"type": "array"}}},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
                "zones": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "rules": {"type": "array", "items": {"type": "object"}},
                "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {}},
                "weights": {"type": "object", "additionalProperties": {"type": "object"}},
            },
        }
    },
}


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        pytest.param(
            {"ports": [{"name": "a", "port": 1}]},
            {"ports": [{"name": "b", "port": 2}]},
            {"ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]},
            id="a list by keys keeps the items of both",
        ),
        pytest.param({"zones": ["x"]}, {"zones": ["y"]}, {"zones": ["x", "y"]}, id="a set keeps the members of both"),
        pytest.param({"weights": {"a": {"x": 1}}}, {"weights": {"a": {"y": 2}}}, {"weights": {"a": {"x": 1, "y": 2}}},
                     id="a mapping keeps the fields of both"),
    ],
)  # fmt: skip
def test_the_schema_of_a_custom_resource_says_what_two_managers_share(first: Any, second: Any, together: Any) -> None:
    managers = Managers([], SCHEMA)
    live = apply(managers, {}, {"apiVersion": "x.io/v1", "kind": "Shop", "spec": first}, "one")
    live = apply(managers, live, {"apiVersion": "x.io/v1", "kind": "Shop", "spec": second}, "two")
    assert live["spec"] == together


@pytest.mark.parametrize("field", ["rules", "selector"])
def test_what_the_schema_calls_atomic_or_does_not_describe_has_one_owner(field: str) -> None:
    values: dict[str, tuple[Any, Any]] = {
        "rules": ([{"name": "a"}], [{"name": "b"}]),
        "selector": ({"a": "1"}, {"b": "2"}),
    }
    managers = Managers([], SCHEMA)
    first, second = ({"apiVersion": "x.io/v1", "kind": "Shop", "spec": {field: value}} for value in values[field])
    live = apply(managers, {}, first, "one")
    with pytest.raises(StatusError, match=f'conflict with "one": .spec.{field}'):
        apply(managers, live, second, "two")
    assert apply(managers, live, second, "two", force=True)["spec"][field] == values[field][1]


LISTS = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}},
        },
        "names": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    },
}


def custom(count: int, **fields: Any) -> dict[str, Any]:
    items = [{"k": str(number), **fields} for number in range(count)]
    return {"kind": "Thing", "metadata": {"name": "x"}, "items": items, "names": [one["k"] for one in items]}


def test_items_and_values_of_a_list_are_merged_and_go_when_they_are_applied_no_longer() -> None:
    managers = Managers([], LISTS)
    live = apply(managers, {}, custom(4, v=1), "one")
    live = apply(managers, live, {"kind": "Thing", "items": [{"k": "3", "w": 2}], "names": ["3", "z"]}, "two")
    assert live["items"][3] == {"k": "3", "v": 1, "w": 2}
    live = apply(managers, live, custom(1, v=1), "one")
    assert live["items"] == [{"k": "0", "v": 1}, {"k": "3", "w": 2}] and live["names"] == ["0", "3", "z"]


def test_what_owns_a_mapping_itself_leaves_it_when_it_is_applied_no_longer() -> None:
    entry = {"manager": "one", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    fields = {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}
    managers = Managers([{**entry, "fieldsV1": fields}])
    live = {"kind": "ConfigMap", "metadata": {"name": "x", "labels": {"a": "1", "b": "2"}}}
    assert apply(managers, live, {"kind": "ConfigMap"}, "one")["metadata"]["labels"] == {"b": "2"}


@pytest.mark.speed
def test_long_lists_take_no_longer_than_their_length() -> None:
    """Five thousand items took a minute when each was looked for by itself."""
    managers = Managers([], LISTS)
    began = time.process_time()
    live = apply(managers, {}, custom(5_000, v=1), "one")
    managers.update(live, custom(5_000, v=2), "two", "v1", "", NOW)
    live = apply(managers, custom(5_000, v=2), custom(10, v=3), "one", force=True)
    assert len(live["items"]) == 5_000 and live["items"][9] == {"k": "9", "v": 3}
    assert "names" not in apply(managers, live, {"kind": "Thing"}, "one")
    assert time.process_time() - began < 5


def test_a_named_field_goes_with_the_last_field_that_its_manager_gives_up() -> None:
    """Kueue clears `status.admission` so; an empty one would not be valid."""
    items = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    items["items"] = {"type": "object", "properties": {"name": {"type": "string"}}}
    admission = {"type": "object", "properties": {"queue": {"type": "string"}, "sets": items}}
    free = {"type": "object", "additionalProperties": {"type": "string"}}
    status = {"type": "object", "properties": {"admission": admission, "free": free, "other": {"type": "string"}}}
    schema = {"type": "object", "properties": {"status": status}}

    def applied(live: dict[str, Any], **wanted: Any) -> dict[str, Any]:
        return managers.apply(live, {"status": wanted}, "q", "v1", force=False, subresource="status", now=NOW)

    managers = Managers([], schema)
    given = {"admission": {"queue": "a", "sets": [{"name": "main"}]}, "free": {"x": "y"}}
    live = applied({}, **given)
    assert live["status"] == given
    live["status"]["other"] = "kept"
    managers.update({"status": given}, live, "someone", "v1", "status", NOW)
    assert applied(live, free={"x": "y"}) == {"status": {"free": {"x": "y"}, "other": "kept"}}
    live = applied({"status": {"free": {"x": "y"}, "other": "kept"}})
    assert live == {"status": {"other": "kept"}}
