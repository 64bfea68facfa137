"""Mutating policies about subresources: what of their changes stands.

Source: the update strategies and subresources of registry/core/pod and registry/apps/deployment.
"""

from __future__ import annotations

import pytest

from kitlib.api.container import EphemeralContainer
from kitlib.api.errors import Invalid, MutationDenied
from tests.apiserver.admission.policy.mutations import ALL, cluster, deployment, labelled, labels, pod, policy


def test_changes_are_mutated_and_status_alone_changes_in_the_subresource() -> None:
    rule = {**ALL, "operations": ["UPDATE"], "resources": ["pods", "pods/status"]}
    status = (
        "Object{status: Object.status{message: request.subResource}, metadata: Object.metadata{labels: {'s': 'x'}}}"
    )
    condition = [{"name": "sub", "expression": "request.subResource == 'status'"}]
    made = cluster(
        pod(),
        policy("a", status, rule=rule, matchConditions=condition),
        policy("b", labelled("u", "oldObject.metadata.name"), rule=rule),
    )
    stored = made.pod("web")
    assert labels(made) == {}
    made.api.update(stored)
    assert labels(made) == {"u": "web"}
    stored = made.api.update_status(made.pod("web"))
    assert (stored.status.message, stored.metadata.labels) == ("status", {"u": "web"})


def test_a_resize_is_mutated_in_what_it_may_change() -> None:
    some = "Object.spec.containers.resources{limits: {'cpu': '100m'}, requests: {'cpu': '100m'}}"
    main = f"Object.spec.containers{{name: 'main', image: 'other', resources: {some}}}"
    text = f"Object{{metadata: Object.metadata{{labels: {{'x': 'y'}}}}, spec: Object.spec{{containers: [{main}]}}}}"
    small = pod()
    small["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "200m", "memory": "64Mi"}}
    made = cluster(small, policy("p", text, rule={**ALL, "resources": ["pods/resize"]}))
    found = made.resize("web", {"main": {"limits": {"cpu": "300m"}}})
    (container,) = found.spec.containers
    assert {key: str(value) for key, value in container.resources.limits.items()} == {"cpu": "100m", "memory": "64Mi"}
    assert (container.image, found.metadata.labels) == ("nginx", {})


def test_a_debugging_container_is_mutated_and_nothing_else() -> None:
    debug = "Object.spec.ephemeralContainers{name: 'd', image: 'ours'}"
    label = "metadata: Object.metadata{labels: {'x': 'y'}}"
    text = f"Object{{{label}, spec: Object.spec{{ephemeralContainers: [{debug}]}}}}"
    made = cluster(pod(), policy("p", text, rule={**ALL, "resources": ["pods/ephemeralcontainers"]}))
    asked = made.pod("web")
    asked.spec.ephemeral_containers = [EphemeralContainer(name="d", image="theirs")]
    stored = made.api.update_ephemeral_containers(asked)
    assert [one.image for one in stored.spec.ephemeral_containers] == ["ours"]
    assert stored.metadata.labels == {}


def test_the_subresource_scale_is_mutated_as_a_scale_and_its_workload_is_not() -> None:
    rule = {**ALL, "resources": ["deployments", "deployments/scale"]}
    scale = "Object{spec: Object.spec{replicas: object.spec.replicas + (request.kind.kind == 'Scale' ? 1 : 10)}}"
    only = {**ALL, "resources": ["deployments/scale"]}
    guard = "[JSONPatch{op: 'test', path: '/status/selector', value: 'app=web'}]"
    made = cluster(deployment(1), policy("p", scale, rule=rule), policy("q", guard, rule=only))
    wanted = made.get("Deployment", "web")
    wanted.spec.replicas = 2
    assert made.api.update(wanted, "scale").spec.replicas == 3
    assert made.api.update(made.get("Deployment", "web")).spec.replicas == 13
    wrong = "Object{spec: Object.spec{replicas: -1}}"
    made = cluster(deployment(1), policy("p", wrong, rule=only))
    with pytest.raises(Invalid) as error:
        made.api.update(made.get("Deployment", "web"), "scale")
    assert str(error.value) == (
        'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0'
    )
    unknown = "Object{spec: Object.spec{template: Object.spec.template{}}}"
    made = cluster(deployment(1), policy("p", unknown, rule=only))
    with pytest.raises(MutationDenied, match=r"\.spec\.template: field not declared in schema"):
        made.api.update(made.get("Deployment", "web"), "scale")
