"""Malformed bodies: 400, in the words of the API server and of the decoders that it uses."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kitlib.apiserver.http.bodies import Body, apply_document, patch_document, read_object, with_repeated_members
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.status import StatusError
from tests.apiserver.http.conftest import Call

PODS = "/api/v1/namespaces/default/pods"
WEB = "/apis/apps/v1/namespaces/default/deployments/web"
LOOK = "couldn't get version/kind; json parse error: "
STRUCT = (
    r'Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; '
    r'Kind string "json:\"kind,omitempty\"" }'
)
JSON_PATCH, MERGE, STRATEGIC = (
    f"application/{kind}+json" for kind in ("json-patch", "merge-patch", "strategic-merge-patch")
)
APPLY = "application/apply-patch+yaml"


def unrecognized(kind: str, problem: str, summary: str) -> str:
    return f"the object provided is unrecognized (must be of type {kind}): {problem} ({summary})"


def deployed(call: Call) -> None:
    containers = [{"name": "c", "image": "x:1"}]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
    web = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}
    assert call("POST", WEB.removesuffix("/web"), web)[0] == 201


CREATED = [
    (b"", unrecognized("Pod", f"{LOOK}unexpected end of JSON input", "<empty>")),
    (b"{", unrecognized("Pod", f"{LOOK}unexpected end of JSON input", "{")),
    (
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"',
        unrecognized("Pod", f"{LOOK}unexpected end of JSON input", '{"apiVersion":"v1","kind":"Pod ...'),
    ),
    (
        b"kind: Pod",
        unrecognized("Pod", f"{LOOK}invalid character 'k' looking for beginning of value", "6b696e643a20506f64"),
    ),
    (b"{}{}", unrecognized("Pod", f"{LOOK}invalid character '{{' after top-level value", "{}{}")),
    (b"[]", unrecognized("Pod", f"{LOOK}json: cannot unmarshal array into {STRUCT}", "5b5d")),
    (b'"x"', unrecognized("Pod", f"{LOOK}json: cannot unmarshal string into {STRUCT}", "227822")),
    (b"7", unrecognized("Pod", f"{LOOK}json: cannot unmarshal number into {STRUCT}", "37")),
    (
        b'{"kind":7}',
        unrecognized(
            "Pod", f"{LOOK}json: cannot unmarshal number into Go struct field .kind of type string", '{"kind":7}'
        ),
    ),
    (
        b'{"apiVersion":[]}',
        unrecognized(
            "Pod",
            f"{LOOK}json: cannot unmarshal array into Go struct field .apiVersion of type string",
            '{"apiVersion":[]}',
        ),
    ),
    (b'{"apiVersion":"a/b/c"}', unrecognized("Pod", "unexpected GroupVersion string: a/b/c", '{"apiVersion":"a/b/c"}')),
    (
        b'{"metadata":{"name":3}}',
        'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into '
        "Go struct field ObjectMeta.metadata.name of type string",
    ),
]


@pytest.mark.parametrize(("body", "message"), CREATED)
def test_a_malformed_object_is_refused_with_the_expected_kind(call: Call, body: bytes, message: str) -> None:
    code, answer = call("POST", PODS, body)
    assert (code, answer["reason"], answer["message"]) == (400, "BadRequest", message)


YAML = [
    (b"a: [1,", unrecognized("Pod", "yaml: line 1: did not find expected node content", b"a: [1,".hex())),
    (b"a: 1\nb: c: d\n", unrecognized("Pod", "yaml: line 2: mapping values are not allowed in this context", "")),
    (b"a:\n  - b\n c: 1\n", unrecognized("Pod", "yaml: line 2: did not find expected key", "")),
    (b"- 1\n", unrecognized("Pod", f"{LOOK}json: cannot unmarshal array into {STRUCT}", b"- 1\n".hex())),
]


@pytest.mark.parametrize(("body", "message"), YAML)
def test_malformed_yaml_is_refused_in_go_yamls_words(call: Call, body: bytes, message: str) -> None:
    code, answer = call("POST", PODS, body, content_type="application/yaml")
    assert (code, answer["message"].rpartition(" (")[0]) == (400, message.rpartition(" (")[0])


PATCHES: list[tuple[str, bytes, str]] = [
    (JSON_PATCH, b"[{", "error decoding patch: unexpected end of JSON input"),
    (
        JSON_PATCH,
        b'{"op":"add"}',
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
    ),
    (
        JSON_PATCH,
        b"[1]",
        "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
    ),
    (
        JSON_PATCH,
        b'[{"op":"add","path":1}]',
        "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.path of type string",
    ),
    (MERGE, b"", "error decoding patch: unexpected end of JSON input"),
    (MERGE, b"{'a':1}", "error decoding patch: invalid character '\\'' looking for beginning of object key string"),
    (MERGE, b"[]", "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
    (MERGE, b"null", "Invalid JSON Patch"),
    (STRATEGIC, b'{"a":01}', "invalid character '1' after object key:value pair"),
    (STRATEGIC, b'"x"', "json: cannot unmarshal string into Go value of type map[string]interface {}"),
    (
        APPLY,
        b"[1]",
        "error decoding patch: error unmarshaling JSON: while decoding JSON: "
        "json: cannot unmarshal array into Go value of type map[string]interface {}",
    ),
    (
        APPLY,
        b"a: 1\nb: c: d\n",
        "error decoding patch: error converting YAML to JSON: "
        "yaml: line 2: mapping values are not allowed in this context",
    ),
]


@pytest.mark.parametrize(("kind", "body", "message"), PATCHES)
def test_a_malformed_patch_is_refused_by_its_own_decoder(call: Call, kind: str, body: bytes, message: str) -> None:
    deployed(call)
    code, answer = call("PATCH", f"{WEB}?fieldManager=m", body, content_type=kind)
    assert (code, answer["reason"], answer["message"]) == (400, "BadRequest", message)


@pytest.mark.parametrize(
    ("patch", "shown", "why"),
    [
        ({"replicas": "x"}, "map[spec:map[replicas:x]]", "unrecognized type: int32"),
        ({"replicas": 1.5}, "map[spec:map[replicas:1.5]]", "cannot convert float64 to int32"),
        ({"paused": 1}, "map[spec:map[paused:1]]", "unrecognized type: bool"),
        ({"strategy": "x"}, "map[spec:map[strategy:x]]", "cannot restore struct from: string"),
        (
            {"strategy": {"type": 1}},
            "map[spec:map[strategy:map[type:1]]]",
            "cannot convert int64 to v1.DeploymentStrategyType",
        ),
        (
            {"template": {"metadata": {"labels": [None, True]}}},
            "map[spec:map[template:map[metadata:map[labels:[<nil> true]]]]]",
            "cannot restore map from slice",
        ),
        (
            {"template": {"spec": {"containers": 1}}},
            "map[spec:map[template:map[spec:map[containers:1]]]]",
            "cannot restore slice from int64",
        ),
    ],
    ids=lambda value: "" if isinstance(value, dict) else None,
)
def test_a_strategic_patch_of_a_wrong_type_is_invalid_in_the_converters_words(
    call: Call, patch: dict[str, Any], shown: str, why: str
) -> None:
    deployed(call)
    code, answer = call("PATCH", WEB, {"spec": patch}, content_type=STRATEGIC)
    assert (code, answer["message"]) == (422, f' "" is invalid: patch: Invalid value: "{shown}": {why}')


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"$retainKeys": "x"}, "invalid patch format of retainKeys"),
        ({"template": {"$setElementOrder/x": {}}}, "invalid patch format of setElementOrder list"),
        ({"$deleteFromPrimitiveList/x": None}, "invalid patch format of primitive list"),
        ({"$patch": "away", "a": 1}, "unknown patch type: away in map: map[$patch:away a:1]"),
        ({"template": [{"$patch": "x", "name": "c"}]}, "unknown patch type: x in map: map[$patch:x name:c]"),
    ],
)
def test_directives_of_a_strategic_patch_are_checked(call: Call, patch: dict[str, Any], message: str) -> None:
    deployed(call)
    code, answer = call("PATCH", WEB, {"spec": patch}, content_type=STRATEGIC)
    assert (code, answer["message"]) == (400, message)
    assert call("PATCH", WEB, {"metadata": {"$patch": "replace", "name": "web"}}, content_type=STRATEGIC)[0] == 200


@pytest.mark.parametrize(
    ("kind", "patch"),
    [(MERGE, {"spec": {"replicas": "x"}}), (JSON_PATCH, [{"op": "replace", "path": "/spec/replicas", "value": "x"}])],
)
def test_another_patch_of_a_wrong_type_is_invalid_with_the_whole_object(call: Call, kind: str, patch: Any) -> None:
    deployed(call)
    code, answer = call("PATCH", WEB, patch, content_type=kind)
    assert (code, answer["reason"]) == (422, "Invalid")
    begin, value, why = answer["message"].partition('Invalid value: "{')[0], *answer["message"].rpartition('}": ')[::2]
    assert begin == ' "" is invalid: patch: ' and r"\"replicas\":\"x\"" in value
    assert why == "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    assert answer["details"]["causes"][0]["field"] == "patch"


def test_without_validation_the_patch_library_decodes() -> None:
    cases = [
        (JSON_PATCH, b"{}", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        (JSON_PATCH, b"[1]", "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
        (MERGE, b"{", "Invalid JSON Patch"),
    ]
    for kind, body, message in cases:
        request = Request("PATCH", WEB, {"fieldValidation": ["Ignore"]}, {"content-type": kind}, body)
        with pytest.raises(StatusError) as caught:
            patch_document(request)
        assert (caught.value.code, caught.value.message) == (400, message)


def test_a_custom_object_must_name_its_kind() -> None:
    with pytest.raises(StatusError) as caught:
        read_object(Request("POST", "/x", body=b'{"a":1}'), "Widget", custom=True)
    assert caught.value.message == unrecognized("Widget", "Object 'Kind' is missing in '{\"a\":1}'", '{"a":1}')


def test_what_is_no_character_is_replaced_as_go_does(call: Call) -> None:
    body = b'{"metadata":{"name":"c"},"data":{"a":"x\xffy","b":"\\ud800z"}}'
    code, made = call("POST", "/api/v1/namespaces/default/configmaps", body)
    assert (code, made["data"]) == (201, {"a": "x\ufffdy", "b": "\ufffdz"})


def test_a_number_beyond_all_is_refused(call: Call) -> None:
    code, answer = call("PATCH", WEB, b'{"spec":{"replicas":1e999}}', content_type=MERGE)
    assert code == 404  # the object is looked for first
    code, answer = call("PATCH", "/api/v1/nodes/node-1", b'{"spec":{"x":1e999}}', content_type=MERGE)
    problem = "json: cannot unmarshal number 1e999 into Go value of type float64"
    assert (code, answer["message"]) == (400, f"error decoding patch: {problem}")


@pytest.mark.parametrize("seed", range(4))
def test_no_body_raises_anything_but_a_status(seed: int) -> None:
    chance = random.Random(seed)
    texts = (
        b'{"kind":"Pod","a":[1,2.5e3,"\\u00e9",null]}',
        b"a: [1, {b: c}]\nd: |\n  e\n",
        b'[{"op":"add","path":"/a"}]',
    )
    read: list[Any] = [lambda r: read_object(r, "Pod"), lambda r: read_object(r, "W", custom=True), patch_document]
    refused = 0
    for _ in range(500):
        body = bytearray(chance.choice(texts))
        for _ in range(chance.randrange(5)):
            at = chance.randrange(len(body))
            body[at : at + chance.randrange(4)] = bytes(chance.randrange(256) for _ in range(chance.randrange(3)))
        kind = chance.choice((JSON_PATCH, MERGE, STRATEGIC, APPLY, "application/json", "application/yaml", ""))
        reader = apply_document if kind == APPLY else chance.choice(read)
        try:
            assert isinstance(
                reader(Request("POST", "/x", {}, {"content-type": kind}, bytes(body))), Body | dict | list
            )
            if kind not in ("application/yaml", APPLY):
                assert isinstance(with_repeated_members(bytes(body)), dict | list | None)
        except StatusError as error:
            assert error.code in (400, 413, 415) and error.message
            refused += 1
    assert refused > 100
