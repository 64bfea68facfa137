"""Protobuf both ways: bodies that Go programs sent, every built-in kind, watches, and what is refused.

`protobuf_requests.jsonl.gz` holds one request body of each kind that kube-scheduler, kube-controller-manager
1.36.2 and kubectl sent to `kitlib up`, in base64, with the object in the form of JSON.
"""

from __future__ import annotations

import base64
import gzip
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.release import Release
from kitlib.api.release_table import RELEASES
from kitlib.apiserver.http.protobuf import MAGIC, PROTOBUF, decode_object, encode_event, encode_object, is_known
from kitlib.apiserver.http.protobuf_schema import SPECIAL, fields_of, message_of
from kitlib.apiserver.http.resources import ResourceTable, built_in
from kitlib.apiserver.http.status import StatusError
from tests.apiserver.admission.custom.definitions import custom, definition

_FILE = Path(__file__).with_name("protobuf_requests.jsonl.gz")
REQUESTS = [json.loads(line) for line in gzip.decompress(_FILE.read_bytes()).splitlines()]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PODS = "/api/v1/namespaces/default/pods"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"a": "b"}, "generation": 3, "creationTimestamp": "2026-01-02T03:04:05Z"},
    "spec": {
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c", "defaultMode": 420}}],
        "containers": [
            {
                "name": "c",
                "image": "i",
                "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "500m"}},
                "readinessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5},
                "securityContext": {"runAsUser": 0, "privileged": False},
            }
        ],
        "tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -1}],
    },
}


@pytest.mark.parametrize("one", REQUESTS, ids=lambda one: f"{one['object']['apiVersion']} {one['object']['kind']}")
def test_a_request_of_a_go_program_is_read_and_written(one: dict[str, Any]) -> None:
    assert decode_object(base64.b64decode(one["body"])) == one["object"]
    assert decode_object(encode_object(one["object"])) == one["object"]


@pytest.mark.parametrize("served", built_in(), ids=lambda served: f"{served.group_version} {served.plural}")
def test_every_built_in_kind_and_its_list_have_a_message(served: Any) -> None:
    waiting = [message_of(served.group_version, served.kind)]
    assert waiting[0]
    seen: set[str] = set()
    while waiting:
        message = waiting.pop()
        seen.add(message)
        fields = fields_of(message)
        assert len({one.number for one in fields}) == len({one.name for one in fields if one.shape != "^"}) + len(
            [one for one in fields if one.shape == "^"]
        )
        waiting += [one.kind for one in fields if "." in one.kind and one.kind not in seen]
        assert all(len(one.kind) == 1 or "." in one.kind or one.kind in SPECIAL for one in fields)
    if "list" in served.verbs:
        assert [one.name for one in fields_of(message_of(served.group_version, f"{served.kind}List"))][-1] == "items"


def test_zeros_of_pointers_and_empty_structs_are_kept() -> None:
    assert decode_object(encode_object(POD)) == POD


def test_times_are_whole_seconds_except_micro_times() -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "spec": {"renewTime": "2026-01-02T03:04:05.123456Z"},
    }
    assert decode_object(encode_object(lease)) == lease
    event = {"apiVersion": "v1", "kind": "Event", "firstTimestamp": "2026-01-02T05:04:05.9+02:00"}
    assert decode_object(encode_object(event))["firstTimestamp"] == "2026-01-02T03:04:05Z"
    early = {"apiVersion": "v1", "kind": "Event", "firstTimestamp": "0001-02-03T04:05:06Z"}
    assert decode_object(encode_object(early)) == early


def test_schemas_of_definitions_survive() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"type": "string", "default": "x"}, "maxItems": 3},
            "n": {"type": "number", "maximum": 1.5, "minimum": 0, "enum": [1, 2.5]},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
            "o": {"type": "object", "additionalProperties": True},
        },
        "x-kubernetes-validations": [{"rule": "self.a.size() > 0", "message": "m"}],
    }
    made = definition("lakes", "Lake", "example.com", schema={"openAPIV3Schema": schema})
    found = decode_object(encode_object(made))["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert found == schema


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (b"{}", 400, "expected prefix [107 56 115 0]"),
        (MAGIC + b"\x0a\xff", 400, "unexpected EOF"),
        (MAGIC + b"\x07\x01", 400, "illegal tag 0"),
        (MAGIC, 415, "send it as JSON"),
        (encode_object(POD).replace(b"\x0a\x01p", b"\x0a\x01\xff"), 400, "invalid UTF-8"),
    ],
)
def test_what_is_no_object_is_refused(body: bytes, code: int, said: str) -> None:
    with pytest.raises(StatusError) as error:
        decode_object(body)
    assert error.value.code == code and said in str(error.value)


def test_messages_too_deep_are_refused_and_unknown_fields_skipped() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(300):
        schema = {"not": schema}
    made = definition("lakes", "Lake", "example.com", schema={"openAPIV3Schema": schema})
    with pytest.raises(StatusError, match="more than 200 levels"):
        decode_object(encode_object(made))
    known = encode_object({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    raw = b"\x0a\x03\x0a\x01n" + b"\xfa\x3e\x01x"  # field 1007
    assert known.count(b"\x0a\x03\x0a\x01n") == 1
    longer = known.replace(b"\x12\x05\x0a\x03\x0a\x01n", b"\x12" + bytes([len(raw)]) + raw)
    assert decode_object(longer)["metadata"] == {"name": "n"}


def test_objects_lists_failures_and_deletions_are_answered_in_protobuf(call: Any) -> None:
    ask = {"accept": f"{PROTOBUF},application/json"}
    code, made = call("POST", PODS, encode_object(POD), content_type=PROTOBUF, **ask)
    assert code == 201
    assert decode_object(made)["spec"]["containers"][0]["name"] == "c"
    assert [one["metadata"]["name"] for one in decode_object(call("GET", PODS, **ask)[1])["items"]] == ["p"]
    code, status = call("GET", f"{PODS}/missing", **ask)
    assert (code, decode_object(status)["reason"]) == (404, "NotFound")
    partial = {"accept": f"{PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    found = decode_object(call("GET", PODS, **partial)[1])
    assert (found["kind"], found["items"][0]["metadata"]["name"]) == ("PartialObjectMetadataList", "p")
    options = encode_object({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
    code, gone = call("DELETE", f"{PODS}/p", options, content_type=PROTOBUF, **ask)
    assert (code, decode_object(gone)["status"]) == (200, "Success")


def test_custom_objects_and_tables_have_no_protobuf(call: Any) -> None:
    call("POST", CRDS, encode_object(definition("lakes", "Lake", "example.com")), content_type=PROTOBUF)
    url = "/apis/example.com/v1/namespaces/default/lakes"
    assert call("POST", url, custom("Lake", "example.com"))[0] == 201
    code, status = call("GET", url, accept=PROTOBUF)
    expected = f"only the following media types are accepted: application/json, application/yaml, {PROTOBUF}"
    assert (code, decode_object(status)["message"]) == (406, expected)
    assert call("GET", url, accept=f"{PROTOBUF},application/json")[1]["kind"] == "LakeList"
    assert call("GET", url, accept=f"{PROTOBUF}, */*")[1]["kind"] == "LakeList"
    table = f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1"
    assert call("GET", PODS, accept=table)[0] == 406
    assert call("GET", PODS, accept=f"{table},application/json;as=Table;g=meta.k8s.io;v=v1")[1]["kind"] == "Table"
    assert not is_known("example.com/v1", "Pod") and not is_known("apps.k8s.io/v1", "Deployment")


def test_a_watch_sends_frames(call: Any) -> None:
    assert call("POST", PODS, POD)[0] == 201
    _, stream = call("GET", f"{PODS}?watch=true&resourceVersion=0", accept=PROTOBUF)
    assert stream.content_type == f"{PROTOBUF};stream=watch"
    (frame,) = stream.poll()
    (length,) = struct.unpack(">I", frame[:4])
    assert length == len(frame) - 4
    found = decode_object(frame[frame.index(MAGIC) :])
    assert (frame[4:11], found["metadata"]["name"]) == (b"\x0a\x05ADDED", "p")
    again = encode_event("ADDED", found)
    assert decode_object(again[again.index(MAGIC) :]) == found


@pytest.mark.parametrize("release", RELEASES)
def test_every_kind_that_a_release_serves_has_a_message(release: str) -> None:
    """A kind without one would be a 500 for kube-controller-manager, which watches all of them in protobuf."""
    served = ResourceTable((), Release(release)).resources
    kinds = {(one.group_version, name) for one in served for name in (one.kind, f"{one.kind}List")}
    assert [kind for kind in sorted(kinds) if not is_known(*kind)] == [("v1", "BindingList")], "Bindings are not listed"


def test_a_time_of_the_first_year_is_served_in_both_encodings(call: Any) -> None:
    """The suite's test of Leases uses such times; `strftime` writes their year without zeros."""
    leases, kind = "/apis/coordination.k8s.io/v1/namespaces/default/leases", "Lease"
    spec = {"acquireTime": "0001-01-01T00:00:02.000000Z", "renewTime": "0001-01-01T00:00:05.500000Z"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    assert call("POST", leases, encode_object(lease), content_type=PROTOBUF, accept=PROTOBUF)[0] == 201
    assert call("GET", f"{leases}/a")[1]["spec"] == spec
    assert decode_object(call("GET", f"{leases}/a", accept=PROTOBUF)[1])["spec"] == spec
