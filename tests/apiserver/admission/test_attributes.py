"""What expressions see of a write: both objects, and the request as an AdmissionRequest."""

from __future__ import annotations

from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.attributes import CREATE, DELETE, UPDATE, AdmissionAttributes
from kitlib.apiserver.admission.requester import Requester, requested_by
from kitlib.apiserver.store.kinds import resource_of

POD = from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "a"}})


def test_a_request_has_kind_resource_and_who_asks() -> None:
    with requested_by(Requester("ada", ("developers",), "7")):
        names = AdmissionAttributes(UPDATE, resource_of(POD), POD, POD, "status", dry_run=True).names
    assert names["object"] == names["oldObject"]
    asked = names["request"]
    assert asked["kind"] == asked["requestKind"] == {"group": "", "version": "v1", "kind": "Pod"}
    assert asked["resource"] == {"group": "", "version": "v1", "resource": "pods"}
    assert (asked["subResource"], asked["name"], asked["namespace"]) == ("status", "web", "a")
    assert (asked["operation"], asked["dryRun"]) == ("UPDATE", True)
    assert asked["userInfo"] == {"username": "ada", "uid": "7", "groups": ["developers"], "extra": {}}


def test_who_deletes_in_python_is_the_administrator_and_there_is_no_new_object() -> None:
    names = AdmissionAttributes(DELETE, resource_of(POD), None, POD).names
    assert names["object"] is None
    assert names["oldObject"]["metadata"]["name"] == "web"
    assert "system:masters" in names["request"]["userInfo"]["groups"]


def test_an_object_has_the_fields_that_its_type_always_has() -> None:
    containers = [{"name": "main", "image": "nginx"}]
    pod = from_dict(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": containers}}
    )
    seen = AdmissionAttributes(CREATE, resource_of(pod), pod, None).names["object"]
    assert seen["status"] == seen["spec"]["containers"][0]["resources"] == {}
