"""Requests that nobody means: whatever comes, the answer is a Status with a client's error, and the server goes on."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest

from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.cluster import Cluster
from tests.apiserver.http.conftest import call_of

REQUESTS = int(os.environ.get("KITLIB_FUZZ_REQUESTS", "450"))
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW")
TYPES = (
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain",
    "",
)
PATHS = (
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/pods/a",
    "/api/v1/namespaces/default/pods/a/status",
    "/api/v1/namespaces/default/pods/a/resize",
    "/api/v1/namespaces/default/pods/a/binding",
    "/api/v1/namespaces/default/pods/a/eviction",
    "/api/v1/namespaces/default/pods/a/log",
    "/api/v1/namespaces/default/pods/a/nothing",
    "/api/v1/nodes/node-1",
    "/api/v1/nodes",
    "/api/v1/namespaces",
    "/api/v1/namespaces/default",
    "/apis/apps/v1/namespaces/default/deployments/web",
    "/apis/apps/v1/namespaces/default/deployments/web/scale",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/metrics.k8s.io/v1beta1/nodes",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/events.k8s.io/v1/namespaces/default/events",
    "/openapi/v3/apis/apps/v1",
    "/apis",
    "/",
)
QUERIES = (
    *("", "watch=true", "limit=1", "limit=-1", "limit=x", "continue=eyJ", "labelSelector=a in (", "labelSelector=a=b"),
    *("fieldSelector=metadata.name=a", "fieldSelector=x=y", "dryRun=All", "dryRun=x", "fieldManager=f&force=true"),
    *("resourceVersion=0&watch=true", "resourceVersion=-1", "fieldValidation=Strict", "fieldValidation=x"),
    *(
        "watch=true&sendInitialEvents=true",
        "container=zz",
        "tailLines=x",
        "gracePeriodSeconds=x",
        "propagationPolicy=q",
    ),
)
ACCEPTS = (
    "",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io",
    "x",
)
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "c", "image": "x:1"}]},
}
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD["spec"]},
    },
}
BODIES: tuple[Any, ...] = (
    POD,
    WEB,
    {"spec": {"replicas": 2}},
    [{"op": "replace", "path": "/spec/replicas", "value": 3}],
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": {"a": "b"}}},
    {"target": {"kind": "Node", "name": "node-1"}, "metadata": {"name": "a"}},
    {"metadata": {"managedFields": [{"fieldsV1": {"f:spec": 3}}]}},
    {
        "spec": {
            "group": "g.io",
            "names": {"plural": "ps", "kind": "P"},
            "scope": "Cluster",
            "versions": [{"name": "v1"}],
        }
    },
)
VALUES = (None, True, -1, 2**63, 1e308, "", "x" * 300, "\ud800", [], {}, [[]], {"a": None}, "100m", "\x00", ["a", 1])


def mutated(value: Any, chance: random.Random) -> Any:
    """The value with some parts exchanged, dropped or added."""
    if chance.random() < 0.06:
        return chance.choice(VALUES)
    if isinstance(value, dict):
        made = {k: mutated(v, chance) for k, v in value.items() if chance.random() > 0.04}
        if chance.random() < 0.08:
            made[chance.choice(("metadata", "spec", "status", "kind", "name", "$patch", "é", "a.b/c"))] = chance.choice(
                VALUES
            )
        return made
    if isinstance(value, list):
        return [mutated(item, chance) for item in value for _ in range(chance.choice((1, 1, 1, 0, 2)))]
    return value


def encoded(chance: random.Random) -> bytes | None:
    if chance.random() < 0.1:
        return None
    if chance.random() < 0.1:
        return bytes(chance.randrange(256) for _ in range(chance.randrange(60)))
    text = json.dumps(mutated(chance.choice(BODIES), chance))
    return (text[: chance.randrange(len(text) + 1)] if chance.random() < 0.05 else text).encode()


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_asked_no_answer_is_a_defect(seed: int) -> None:
    chance = random.Random(seed)
    with Cluster.simulated(2) as cluster:
        cluster.apply([POD, WEB])
        call = call_of(Dispatcher(cluster))
        codes: dict[int, int] = {}
        for number in range(REQUESTS // 3):
            method, url = chance.choice(METHODS), f"{chance.choice(PATHS)}?{chance.choice(QUERIES)}"
            body = encoded(chance)
            headers = {"content_type": chance.choice(TYPES), "accept": chance.choice(ACCEPTS)}
            code, answer = call(method, url, body, **headers)
            codes[code] = codes.get(code, 0) + 1
            shown = f"request {number} of seed {seed}: {method} {url} {headers} {body!r} -> {answer}"
            # upstream answers 500 too where what is applied is not of the kind: ManagedFieldsManager.Apply
            typed = code == 500 and answer["message"].startswith("failed to create typed patch object")
            assert code < 500 or code in (501, 504) or typed, shown
            if code >= 400:
                assert answer["kind"] == "Status" and answer["message"], shown
        few = REQUESTS // 75
        assert codes.get(200, 0) > few and codes.get(400, 0) > few, codes  # both kinds of requests were among them
        assert call("GET", "/api/v1/nodes")[0] == 200
