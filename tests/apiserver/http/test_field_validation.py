"""Fields that stand twice: refused under Strict, warned of by default, ignored under Ignore; the last value counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitlib.api.apps import Deployment
from kitlib.api.decoding import strict_errors
from kitlib.api.errors import ManifestError
from kitlib.api.yaml_reader import yaml_documents
from kitlib.apiserver.http.bodies import with_repeated_members
from kitlib.apiserver.http.dispatcher import Dispatcher, Response
from kitlib.apiserver.http.request import Request

MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"
MAP = '{"metadata":{"name":"m"},"data":{"a":"1","a":"2","b":"3"},"binaryData":null,"none":{"x":1,"x":2}}'
FOUND = ['duplicate field "data.a"', 'unknown field "none"']
REFUSED = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
THING = b"""apiVersion: example.com/v1
kind: Thing
metadata:
  name: t
spec:
  a: one
  a:
    b: 1
    b: 2
"""


def sent(cluster: Any, method: str, path: str, body: str | bytes, kind: str, mode: str) -> tuple[int, Any, list[str]]:
    """The code, the object and the warnings that answer a request."""
    query = {"fieldManager": ["me"], **({"fieldValidation": [mode]} if mode else {})}
    text = body.encode() if isinstance(body, str) else body
    answer = Dispatcher(cluster).handle(Request(method, path, query, {"content-type": kind}, text))
    assert isinstance(answer, Response)
    return answer.code, json.loads(answer.body), list(answer.warnings)


@pytest.mark.parametrize("mode", ["Strict", "Warn", "", "Ignore"])
def test_a_json_field_that_stands_twice(cluster: Any, mode: str) -> None:
    code, made, warnings = sent(cluster, "POST", MAPS, MAP, "application/json", mode)
    if mode == "Strict":
        assert (code, made["message"]) == (400, REFUSED + ", ".join(FOUND))
        return
    assert (code, made["data"]) == (201, {"a": "2", "b": "3"})
    assert warnings == ([] if mode == "Ignore" else FOUND)


def test_a_value_of_a_wrong_type_is_told_before_a_duplicate_field(cluster: Any) -> None:
    body = '{"metadata":{"name":"m"},"data":{"a":"1","a":"2"},"immutable":"yes"}'
    code, made, _ = sent(cluster, "POST", MAPS, body, "application/json", "Strict")
    assert code == 400
    assert "cannot unmarshal string" in made["message"]
    assert "duplicate" not in made["message"]


@pytest.mark.parametrize("mode", ["Strict", "Warn", "Ignore"])
def test_a_yaml_key_that_stands_twice(cluster: Any, mode: str) -> None:
    body = "metadata:\n  name: m\ndata:\n  a: '1'\n  a: '2'\nnone: 1\n"
    code, made, warnings = sent(cluster, "POST", MAPS, body, "application/yaml", mode)
    key = 'line 5: key "a" already set in map'
    if mode == "Strict":
        listed = f'yaml: unmarshal errors:\n  {key}, unknown field "none"'
        assert (code, made["message"]) == (400, REFUSED + listed)
        return
    assert (code, made["data"]) == (201, {"a": "2"})
    assert warnings == ([] if mode == "Ignore" else [key, 'unknown field "none"'])


@pytest.mark.parametrize("mode", ["Strict", "Warn"])
@pytest.mark.parametrize("kind", ["json-patch", "merge-patch", "strategic-merge-patch"])
def test_a_patch_with_a_field_that_stands_twice(cluster: Any, kind: str, mode: str) -> None:
    sent(cluster, "POST", MAPS, '{"metadata":{"name":"m"}}', "application/json", "")
    body, found = '{"data":{"a":"1","a":"2"}}', 'duplicate field "data.a"'
    if kind == "json-patch":
        body = '[{"op":"add","op":"add","path":"/data","value":{"a":"2"},"note":1}]'
        found = 'json patch duplicate field "[0].op", json patch unknown field "[0].note"'
    code, made, warnings = sent(cluster, "PATCH", f"{MAPS}/m", body, f"application/{kind}+json", mode)
    if mode == "Strict":
        assert (code, made["reason"]) == (422, "Invalid")
        assert made["message"].endswith(f": strict decoding error: {found}")
    else:
        assert (code, made["data"], warnings) == (200, {"a": "2"}, found.split(", "))


@pytest.mark.parametrize("mode", ["Strict", "Warn", "Ignore"])
def test_an_applied_configuration_with_a_key_that_stands_twice(cluster: Any, mode: str) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = json.dumps({"metadata": {"name": "things.example.com"}, "spec": spec})
    assert sent(cluster, "POST", CRDS, definition, "application/json", "Strict")[0] == 201
    code, made, warnings = sent(cluster, "PATCH", f"{THINGS}/t", THING, "application/apply-patch+yaml", mode)
    keys = ['line 9: key "b" already set in map', 'line 8: key "a" already set in map']
    if mode == "Strict":
        listed = "error converting YAML to JSON: yaml: unmarshal errors:\n  " + "\n  ".join(keys)
        assert (code, made["message"]) == (400, f"error strict decoding YAML: {listed}")
    else:
        assert (code, made["spec"]) == (201, {"a": {"b": 2}})
        assert warnings == (keys if mode == "Warn" else [])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a":1}', []),
        ('{"spec":{"replicas":1,"replicas":2,"replicas":3}}', ['duplicate field "spec.replicas"']),
        ('{"metadata":{"labels":{"x":"1","x":"2"}}}', ['duplicate field "metadata.labels.x"']),
        (
            '{"spec":{"template":{"spec":{"containers":[{"name":"a"},{"name":"b","name":"c"}]}},"template":{}}}',
            ['duplicate field "spec.template.spec.containers[1].name"', 'duplicate field "spec.template"'],
        ),
        ('{"spec":{"x":{"y":1,"y":2},"x":1}}', ['unknown field "spec.x"']),
    ],
)
def test_duplicate_fields_are_found_where_the_type_has_them(text: str, found: list[str]) -> None:
    assert strict_errors(with_repeated_members(text.encode()), Deployment) == found


def test_a_manifest_outside_of_the_api_takes_no_key_twice() -> None:
    with pytest.raises(ManifestError, match='key "a" already set in map'):
        list(yaml_documents("a: 1\na: 2\n"))


def test_a_body_is_yaml_by_any_of_its_content_types(cluster: Any) -> None:
    body = "metadata:\n  name: m\ndata:\n  a: '1'\n  a: '2'\n"
    code, made, warnings = sent(cluster, "POST", MAPS, body, "application/apply-patch+yaml", "")
    assert (code, made["data"], warnings) == (201, {"a": "2"}, ['line 5: key "a" already set in map'])
