"""Revisions of templates: the bytes that a Go program makes of the same template, and a way back from them."""

from __future__ import annotations

from kitlib.api.core import PodTemplateSpec
from kitlib.api.serialize import from_dict
from kitlib.apiserver.http.protobuf import encode_object
from kitlib.controllers.history import data_of
from tests.controllers.builders import hollow, workload

_CPU = {"resource": "limits.cpu", "containerName": "c"}
_CLAIM = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "initContainers": [{"name": "i", "image": "i", "command": ["sh", "-c", "a && b > ü"]}],
        "containers": [
            {
                "name": "c",
                "image": "i",
                "resources": {"limits": {"cpu": "1"}},
                "lifecycle": {"preStop": {"sleep": {"seconds": 0}}},
                "livenessProbe": {"httpGet": {"port": 80, "httpHeaders": [{"name": "h"}]}},
                "securityContext": {},
            }
        ],
        "securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": ""}]},
        "volumes": [
            {"name": "v", "ephemeral": {"volumeClaimTemplate": _CLAIM}},
            {"name": "d", "downwardAPI": {"items": [{"path": "x", "resourceFieldRef": _CPU}]}},
        ],
    },
}
GO = (
    r'{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"i",'
    r'"lifecycle":{"preStop":{"sleep":{"seconds":0}}},"livenessProbe":{"httpGet":{"httpHeaders":[{"name":"h",'
    r'"value":""}],"port":80}},"name":"c","resources":{"limits":{"cpu":"1"}},"securityContext":{}}],"initContainers":'
    r'[{"command":["sh","-c","a \u0026\u0026 b \u003e ü"],"image":"i","name":"i","resources":{}}],"securityContext":'
    r'{"sysctls":[{"name":"kernel.shm_rmid_forced","value":""}]},"volumes":[{"ephemeral":{"volumeClaimTemplate":'
    r'{"metadata":{},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}},"name":"v"},'
    r'{"downwardAPI":{"items":[{"path":"x","resourceFieldRef":{"containerName":"c","divisor":"0","resource":'
    r'"limits.cpu"}}]},"name":"d"}]}}}}'
)
"""The bytes that getPatch of Kubernetes 1.36.2 (pkg/controller/daemon/update.go) printed for this template."""


def test_the_data_of_a_revision_have_the_bytes_that_clients_compare() -> None:
    """Source: daemon Match, which finds the current revision by its bytes."""
    data = data_of(from_dict(TEMPLATE, PodTemplateSpec))
    assert GO.encode() in encode_object({"apiVersion": "apps/v1", "kind": "ControllerRevision", "data": data})


def test_a_revision_that_an_earlier_version_stored_is_still_current() -> None:
    cluster = hollow(1)
    cluster.apply(workload("DaemonSet"))
    (revision,) = cluster.list("ControllerRevision")
    del revision.data["spec"]["template"]["spec"]["containers"][0]["resources"]
    cluster.api.store.update(revision)
    changed = workload("DaemonSet")
    changed["spec"]["minReadySeconds"] = 1
    cluster.apply(changed)
    cluster.advance(5)
    assert [one.name for one in cluster.list("ControllerRevision")] == [revision.name]
