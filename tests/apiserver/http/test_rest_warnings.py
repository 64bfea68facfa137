"""What a client is warned of: strategies first, then admission, and only about its own request."""

from __future__ import annotations

import json
from typing import Any

from kitlib.apiserver.http.dispatcher import Dispatcher, Response
from kitlib.apiserver.http.request import Request

CONTAINER = {"name": "c", "image": "x:1"}
LABEL = "pod-security.kubernetes.io/warn"


def warnings_of(dispatcher: Dispatcher, url: str, body: Any) -> tuple[str, ...]:
    answer = dispatcher.handle(Request("POST", url, {}, {}, json.dumps(body).encode()))
    assert isinstance(answer, Response)
    assert answer.code == 201, answer.body
    return answer.warnings


def test_a_workload_is_warned_of_what_its_pods_would_violate(cluster: Any) -> None:
    dispatcher = Dispatcher(cluster)
    meta = {"name": "n", "labels": {LABEL: "baseline"}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
    assert warnings_of(dispatcher, "/api/v1/namespaces", namespace) == ()
    pod = {"containers": [{**CONTAINER, "securityContext": {"privileged": True}}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d.e"}, "spec": spec}
    about_name, about_pods = warnings_of(dispatcher, "/apis/apps/v1/namespaces/n/deployments", workload)
    assert about_name.startswith("metadata.name: this is used in Pod names and hostnames")
    why = 'privileged (container "c" must not set securityContext.privileged=true)'
    assert about_pods == f'would violate PodSecurity "baseline:latest": {why}'


def test_a_write_of_a_status_or_a_resize_is_not_warned_of_the_write_before(cluster: Any) -> None:
    dispatcher = Dispatcher(cluster)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": {LABEL: "baseline"}}}
    warnings_of(dispatcher, "/api/v1/namespaces", namespace)
    container = {**CONTAINER, "securityContext": {"privileged": True}, "resources": {"requests": {"cpu": "1"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    assert warnings_of(dispatcher, "/api/v1/namespaces/n/pods", pod)
    changes = {
        "status": {"status": {"message": "a"}},
        "resize": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]}},
    }
    for subresource, change in changes.items():
        headers = {"content-type": "application/strategic-merge-patch+json"}
        url = f"/api/v1/namespaces/n/pods/p/{subresource}"
        answer = dispatcher.handle(Request("PATCH", url, {}, headers, json.dumps(change).encode()))
        assert isinstance(answer, Response)
        assert (answer.code, answer.warnings) == (200, ()), answer.body
