"""Mutations of an object: an apply configuration is merged, a JSON patch is applied."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import InternalError
from kitlib.api.meta import KubeObject
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.admission.policy.patching import PATCHES, MutationError
from kitlib.cel.admission_expressions import MAX_COST, PolicyEnvironment
from tests.apiserver.admission.writes import made, pod

CONFIG, JSON = "ApplyConfiguration", "JSONPatch"


def mutated(kind: str, expression: str, obj: KubeObject, schema: Any = None) -> KubeObject:
    """Return the object after a mutation with the value of this expression."""
    value = PolicyEnvironment(False).mutation(kind, expression).evaluate({"object": to_dict(obj)}, MAX_COST)
    return PATCHES[kind](obj, value, schema)


def operation(op: str, path: str, **more: str) -> str:
    fields = "".join(f", {name}: {value}" for name, value in more.items())
    return f"JSONPatch{{op: '{op}', path: '{path}'{fields}}}"


def test_a_configuration_is_merged_by_the_keys_of_lists() -> None:
    """Source: smd.go ApplyStructuredMergeDiff; the object itself stays."""
    obj = pod(metadata={"labels": {"a": "1"}})
    text = (
        "Object{metadata: Object.metadata{labels: {'b': '2'}}, spec: Object.spec{containers: "
        "[Object.spec.containers{name: 'c', image: 'new'}, Object.spec.containers{name: 'd', image: 'x'}]}}"
    )
    found: Any = mutated(CONFIG, text, obj)
    assert found.metadata.labels == {"a": "1", "b": "2"}
    assert [(one.name, one.image) for one in found.spec.containers] == [("c", "new"), ("d", "x")]
    assert (obj.metadata.labels, obj.spec.containers[0].image) == ({"a": "1"}, "i")


def test_a_configuration_of_another_kind_keeps_the_objects() -> None:
    found = mutated(CONFIG, "Object{kind: 'Other', apiVersion: 'v9'}", pod())
    assert (found.api_version, found.kind) == ("v1", "Pod")


@pytest.mark.parametrize(
    ("expression", "start"),
    [
        (
            "Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: 'a'}]}}",
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
            ".spec.tolerations",
        ),
        (
            "Object{spec: Object.spec{containers: [Object.spec.containers{image: 'x'}]}}",
            "error applying patch: failed to convert patch object to typed object: ",
        ),
        (
            "Object{spec: Object.spec{hostNetwork: 'yes'}}",
            "error applying patch: failed to convert patch object to typed object: ",
        ),
    ],
)
def test_a_configuration_that_cannot_be_merged(expression: str, start: str) -> None:
    with pytest.raises(MutationError) as raised:
        mutated(CONFIG, expression, pod())
    assert str(raised.value).startswith(start)


def test_a_configuration_is_an_object() -> None:
    with pytest.raises(MutationError, match=r"^unsupported return type from ApplyConfiguration expression: "):
        PATCHES[CONFIG](pod(), {"metadata": {}}, None)


def test_a_custom_object_is_merged_by_its_schema() -> None:
    part = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": part}}
    obj = from_dict({"apiVersion": "a.b/v1", "kind": "T", "metadata": {"name": "t"}, "spec": {"a": "1"}}, KubeObject)
    found = mutated(CONFIG, "Object{spec: Object.spec{b: '2'}}", obj, schema)
    assert found.unknown_fields["spec"] == {"a": "1", "b": "2"}


def test_operations_are_applied_in_order() -> None:
    """Source: json_patch.go."""
    obj = made("ConfigMap", data={"a": "1"})
    operations = [
        operation("add", "/data/b", value="'2'"),
        operation("copy", "/data/c", **{"from": "'/data/b'"}),
        operation("replace", "/data/a", value="'3'"),
        operation("remove", "/data/b"),
        operation("add", "/metadata/labels", value="{'x': 'y'}"),
    ]
    found: Any = mutated(JSON, f"[{', '.join(operations)}]", obj)
    assert (found.data, found.metadata.labels) == ({"a": "3", "c": "2"}, {"x": "y"})
    assert obj.data == {"a": "1"}


def test_a_test_that_fails_changes_nothing() -> None:
    obj = made("ConfigMap", data={"a": "1"})
    text = f"[{operation('test', '/data/a', value=chr(39) + '2' + chr(39))}, {operation('remove', '/data/a')}]"
    assert mutated(JSON, text, obj) is obj
    met: Any = mutated(JSON, text.replace("'2'", "'1'"), obj)
    assert met.data == {}


def test_operations_see_fields_that_are_always_written() -> None:
    obj = pod()
    assert "resources" not in to_dict(obj)["spec"]["containers"][0]
    path = "/spec/containers/0/resources/limits"
    found: Any = mutated(JSON, f"[{operation('add', path, value='{' + chr(39) + 'cpu' + chr(39) + ': 1}')}]", obj)
    assert str(found.spec.containers[0].resources.limits["cpu"]) == "1"


@pytest.mark.parametrize(
    ("operations", "error", "text"),
    [
        (operation("remove", "/data/none"), MutationError, "JSONPath: "),
        (operation("replace", "/kind", value="'Secret'"), InternalError, "a patch must leave apiVersion 'v1' and kind"),
        (operation("add", "/data/a", value="1"), InternalError, "Internal error occurred: "),
        (
            f"{operation('add', '/zzz', value='1')}, {operation('add', '/aaa', value='1')}",
            InternalError,
            'Internal error occurred: strict decoding error: unknown field "aaa", unknown field "zzz"',
        ),
    ],
)
def test_a_patch_that_does_not_fit(operations: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as raised:
        mutated(JSON, f"[{operations}]", made("ConfigMap", data={"a": "1"}))
    assert text in str(raised.value)


def test_unknown_fields_of_the_stored_object_are_kept() -> None:
    obj = made("ConfigMap", odd={"x": 1})
    found = mutated(JSON, f"[{operation('add', '/data', value='{}')}]", obj)
    assert found.unknown_fields == {"odd": {"x": 1}}


def test_a_patch_is_a_list_of_operations() -> None:
    with pytest.raises(MutationError, match="should evaluate to array of JSONPatch: "):
        PATCHES[JSON](made("ConfigMap"), [{"op": "add"}], None)
