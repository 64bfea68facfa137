"""Discovery, versions, OpenAPI: what clients ask before they ask for objects."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


def test_both_forms_of_discovery_name_the_same_resources(call: Any) -> None:
    plain, wanted = set(), set()
    groups = call("GET", "/apis")[1]["groups"]
    paths = ["/api/v1", *(f"/apis/{v['groupVersion']}" for g in groups for v in g["versions"])]
    for path in paths:
        found = call("GET", path)[1]
        plain |= {(found["groupVersion"], row["name"]) for row in found["resources"] if "/" not in row["name"]}
    for path in ("/api", "/apis"):
        for group in call("GET", path, accept=AGGREGATED)[1]["items"]:
            for version in group["versions"]:
                name = "/".join(filter(None, (group["metadata"]["name"], version["version"])))
                wanted |= {(name, row["resource"]) for row in version["resources"]}
    assert plain == wanted
    assert ("v1", "pods") in plain and ("apps/v1", "deployments") in plain


def test_openapi_describes_fields_and_merge_keys(call: Any) -> None:
    index = call("GET", "/openapi/v3")[1]["paths"]
    assert "hash=" in index["apis/apps/v1"]["serverRelativeURL"]
    document = call("GET", "/openapi/v3/api/v1")[1]
    schemas = document["components"]["schemas"]
    (pod,) = [
        s
        for s in schemas.values()
        if {"group": "", "version": "v1", "kind": "Pod"} in s.get("x-kubernetes-group-version-kind", [])
    ]
    spec = schemas[pod["properties"]["spec"]["allOf"][0]["$ref"].rpartition("/")[2]]
    containers = spec["properties"]["containers"]
    assert (containers["x-kubernetes-patch-merge-key"], containers["x-kubernetes-list-type"]) == ("name", "map")
    named = {p["name"] for p in document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]["parameters"]}
    assert "fieldValidation" in named
    assert call("GET", "/openapi/v3/apis/nothing/v1")[0] == 404


def test_health_and_version(call: Any) -> None:
    assert call("GET", "/readyz") == (200, b"ok")
    assert call("GET", "/version")[1]["gitVersion"].startswith("v1.")


def test_reviews_let_the_administrator_do_everything(call: Any) -> None:
    code, review = call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {}})
    assert (code, review["status"]["allowed"]) == (201, True)


DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "lakes.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "lakes", "singular": "lake", "kind": "Lake", "listKind": "LakeList", "shortNames": ["lk"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "Depth", "type": "integer", "jsonPath": ".spec.depth"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["depth"],
                                "properties": {"depth": {"type": "integer", "minimum": 1}},
                            }
                        },
                    }
                },
            }
        ],
    },
}


def test_a_custom_resource_is_served_validated_and_printed(call: Any) -> None:
    lakes = "/apis/example.com/v1/namespaces/default/lakes"
    assert call("GET", lakes)[0] == 404
    assert call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)[0] == 201
    lake = {"apiVersion": "example.com/v1", "kind": "Lake", "metadata": {"name": "a"}, "spec": {"depth": 3}}
    assert call("POST", lakes, lake)[0] == 201
    assert call("GET", f"{lakes}/a")[1]["spec"] == {"depth": 3}
    code, status = call("POST", lakes, {**lake, "metadata": {"name": "b"}, "spec": {}})
    assert code == 422
    assert status["message"] == 'Lake.example.com "b" is invalid: spec.depth: Required value'
    table = call("GET", lakes, accept="application/json;as=Table;v=v1;g=meta.k8s.io")[1]
    assert [row["cells"] for row in table["rows"]] == [["a", 3]]
    assert any(r["name"] == "lakes" for r in call("GET", "/apis/example.com/v1")[1]["resources"])
    patch = {"spec": {"depth": 0}}
    assert call("PATCH", f"{lakes}/a", patch, content_type="application/merge-patch+json")[0] == 422


def test_a_definition_whose_names_another_one_has_is_not_served_until_they_are_free(call: Any) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert call("POST", definitions, DEFINITION)[0] == 201
    ponds = deepcopy(DEFINITION)
    ponds["metadata"]["name"] = "ponds.example.com"
    ponds["spec"]["names"] = {"plural": "ponds", "singular": "lake", "kind": "Pond", "listKind": "PondList"}
    assert call("POST", definitions, ponds)[0] == 201
    assert call("GET", "/apis/example.com/v1/ponds")[0] == 404
    assert [one["name"] for one in call("GET", "/apis/example.com/v1")[1]["resources"]] == ["lakes", "lakes/status"]
    assert call("DELETE", f"{definitions}/lakes.example.com")[0] == 200
    assert call("GET", "/apis/example.com/v1/ponds")[0] == 200
