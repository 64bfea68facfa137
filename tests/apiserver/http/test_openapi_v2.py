"""OpenAPI v2: one document with all definitions, in which every reference leads somewhere."""

from __future__ import annotations

import json
from typing import Any

from kitlib.apiserver.http.openapi_v2 import PROTOBUF, without_definitions


def test_every_reference_leads_to_a_definition(call: Any) -> None:
    code, body = call("GET", "/openapi/v2")
    names = body["definitions"]
    assert code == 200 and body["swagger"] == "2.0" and "io.k8s.api.apps.v1.Deployment" in names
    text = json.dumps(body)
    references = {part.split('"')[0] for part in text.split("#/definitions/")[1:]}
    assert references and references <= set(names)
    assert "#/components" not in text and "anyOf" not in text


def test_an_older_kubectl_gets_a_document_without_definitions(call: Any) -> None:
    code, body = call("GET", "/openapi/v2", accept=PROTOBUF)
    assert (code, body) == (200, without_definitions())
    assert body == b"\x0a\x032.0\x12\x14\x0a\x0aKubernetes\x12\x06kitlib"
