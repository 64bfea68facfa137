"""ValidatingAdmissionPolicy as a cluster's users meet it: what is denied, in which words, and what is let through."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.errors import PolicyDenied, as_kubectl_prints
from kitlib.api.serialize import from_dict
from kitlib.apiserver.admission.policy import validating
from kitlib.cluster import Cluster

GROUP = "admissionregistration.k8s.io/v1"
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}


def policy(*validations: Any, rules: Any = (PODS,), **spec: Any) -> dict[str, Any]:
    listed = [{"expression": one} if isinstance(one, str) else one for one in validations]
    constraints = {"resourceRules": list(rules), **spec.pop("constraints", {})}
    made = {"matchConstraints": constraints, "validations": listed, **spec}
    return {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "demo"}, "spec": made}


def binding(*actions: str, name: str = "bound", **spec: Any) -> dict[str, Any]:
    made = {"policyName": "demo", "validationActions": list(actions) or ["Deny"], **spec}
    meta = {"name": name}
    return {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicyBinding", "metadata": meta, "spec": made}


def pod(name: str = "web", image: str = "nginx:1", namespace: str = "default", **labels: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, "labels": labels}
    spec = {"containers": [{"name": "main", "image": image}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def cluster(*objects: dict[str, Any]) -> Cluster:
    made = Cluster.simulated(1)
    made.apply(list(objects))
    return made


def denied(made: Cluster, obj: dict[str, Any]) -> PolicyDenied:
    with pytest.raises(PolicyDenied) as found:
        made.apply(obj)
    return found.value


PREFIX = "ValidatingAdmissionPolicy 'demo' with binding 'bound' denied request: "


@pytest.mark.parametrize(
    ("validation", "image", "said"),
    [
        ("object.metadata.name != 'web'", "x", "failed expression: object.metadata.name != 'web'"),
        ({"expression": "!has(object.spec)", "message": " no pods "}, "x", "no pods"),
        ({"expression": "1 > 2", "message": "m", "messageExpression": "'not ' + object.metadata.name"}, "x", "not web"),
        ({"expression": "1 > 2", "message": "m", "messageExpression": "object.metadata.none + ''"}, "x", "m"),
        ({"expression": "1 > 2", "message": "m", "messageExpression": "'two\\nlines'"}, "x", "m"),
        (
            "object.spec.nothing == 1",
            "x",
            "expression 'object.spec.nothing == 1' resulted in error: no such key: nothing",
        ),
        ("object.spec.containers.all(c, c.image.startsWith('ours/'))", "theirs/x", None),
        ("object.spec.containers.all(c, c.image.startsWith('ours/'))", "ours/x", ""),
        ("oldObject == null && request.operation == 'CREATE' && request.resource.resource == 'pods'", "x", ""),
        ("namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == request.namespace", "x", ""),
        ("'system:masters' in request.userInfo.groups && !request.dryRun", "x", ""),
        ("object.spec.containers.map(c, c.image).join(',') == 'x'", "x", ""),
    ],
)
def test_a_write_is_denied_with_the_message_that_there_is(validation: Any, image: str, said: str | None) -> None:
    made = cluster(policy(validation), binding())
    if said == "":
        made.apply(pod(image=image))
        return
    error = denied(made, pod(image=image))
    said = f"failed expression: {validation}" if said is None else said
    assert error.why == PREFIX + said
    assert (error.code, error.reason) == (422, "Invalid")
    assert made.api.store.find(Pod, "web", "default") is None


@pytest.mark.parametrize(("reason", "code"), [("Invalid", 422), ("Forbidden", 403), ("RequestEntityTooLarge", 413)])
def test_the_reason_is_the_statuss(reason: str, code: int) -> None:
    error = denied(cluster(policy({"expression": "1 > 2", "reason": reason}), binding()), pod())
    assert (error.code, error.reason) == (code, reason)


def test_kubectl_shows_an_invalid_object_without_a_field() -> None:
    error = denied(cluster(policy("1 > 2"), binding()), pod())
    assert as_kubectl_prints(error) == f'The pods "web" is invalid: : {PREFIX}failed expression: 1 > 2'
    assert str(error).endswith(f'pods "web" is forbidden: {PREFIX}failed expression: 1 > 2')


def test_a_binding_may_only_warn_and_without_a_binding_nothing_is_asked() -> None:
    made = cluster(policy("1 > 2"))
    made.apply(pod("before"))
    made.apply(binding("Warn", "Audit"))
    made.apply(pod("after"))
    warned = "Validation failed for ValidatingAdmissionPolicy 'demo' with binding 'bound': failed expression: 1 > 2"
    made.api.create(from_dict(pod("again")))
    assert made.api.warnings == [warned]


def test_variables_are_computed_when_asked_for_and_errors_name_them() -> None:
    variables = [
        {"name": "images", "expression": "object.spec.containers.map(c, c.image)"},
        {"name": "first", "expression": "variables.images[0]"},
        {"name": "broken", "expression": "variables.images[7]"},
    ]
    made = cluster(policy("variables.first == 'ours'", variables=variables), binding())
    made.apply(pod(image="ours"))
    assert denied(made, pod("b", image="theirs")).why.endswith("failed expression: variables.first == 'ours'")
    made = cluster(policy("variables.broken == 'x'", variables=variables), binding())
    assert denied(made, pod()).why.endswith(
        'resulted in error: composited variable "broken" fails to evaluate: index out of bounds: 7'
    )


def test_conditions_decide_whether_it_is_asked_and_failures_may_be_ignored() -> None:
    conditions = [{"name": "ours", "expression": "object.metadata.labels.team == 'ours'"}]
    made = cluster(policy("1 > 2", matchConditions=conditions), binding())
    made.apply(pod("a", team="theirs"))
    assert "failed expression" in denied(made, pod("b", team="ours")).why
    assert denied(made, pod("c")).why.endswith("resulted in error: no such key: labels")
    made = cluster(policy("object.spec.none == 1", matchConditions=conditions, failurePolicy="Ignore"), binding())
    made.apply([pod("a", team="ours"), pod("b")])


def test_an_update_and_a_deletion_are_asked_with_the_object_before() -> None:
    rules = [{**PODS, "operations": ["UPDATE", "DELETE"]}]
    kept = "request.operation == 'DELETE' ? !has(oldObject.metadata.labels.keep) : object.metadata.labels.keep == 'yes'"
    made = cluster(policy(kept, rules=rules), binding(), pod(keep="yes"), pod("other", team="a"))
    assert "failed expression" in denied(made, pod(keep="no")).why
    with pytest.raises(PolicyDenied):
        made.delete("Pod", "web")
    made.delete("Pod", "other")
    assert [one.name for one in made.pods()] == ["web"]


def test_parameters_are_objects_and_each_is_asked() -> None:
    def limit(name: str, most: int) -> dict[str, Any]:
        meta = {"name": name, "namespace": "default", "labels": {"use": "limit"}}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"most": str(most)}}

    asked = policy(
        "size(object.spec.containers) <= int(params.data.most)", paramKind={"apiVersion": "v1", "kind": "ConfigMap"}
    )
    by_name = binding(paramRef={"name": "limit", "parameterNotFoundAction": "Deny"})
    made = cluster(asked, by_name)
    missing = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert denied(made, pod()).why == PREFIX + missing
    made.apply(limit("limit", 1))
    made.apply(pod("a"))
    made.apply(limit("limit", 0))
    assert "failed expression" in denied(made, pod("b")).why
    some = {"selector": {"matchLabels": {"use": "limit"}}, "parameterNotFoundAction": "Allow"}
    made = cluster(asked, binding(paramRef=some), pod("a"), limit("one", 1), limit("none", 0))
    assert "failed expression" in denied(made, pod("b")).why


def test_a_policy_that_cannot_be_asked_denies_whatever_its_binding_does_unless_failures_are_ignored() -> None:
    kind = {"apiVersion": "example.com/v1", "kind": "Nothing"}
    bound = binding("Warn", paramRef={"name": "limit", "parameterNotFoundAction": "Allow"})
    made = cluster(policy("true", paramKind=kind), bound)
    assert denied(made, pod()).why == (
        "ValidatingAdmissionPolicy 'demo' denied request: failed to configure policy: failed to find resource "
        "referenced by paramKind: 'example.com/v1, Kind=Nothing'"
    )
    cluster(policy("true", paramKind=kind, failurePolicy="Ignore"), bound, pod())


def test_an_annotation_that_cannot_be_computed_denies() -> None:
    listed = [{"key": "size", "valueExpression": "string(object.none)"}]
    made = cluster(policy("true", auditAnnotations=listed), binding("Warn"))
    why = "expression 'string(object.none)' resulted in error: no such key: none"
    assert denied(made, pod()).why == PREFIX + why
    cluster(policy("true", auditAnnotations=listed, failurePolicy="Ignore"), binding(), pod())


def test_scaling_is_asked_of_policies_about_the_subresource_alone() -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}

    def scaled(resources: str) -> int:
        rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": [resources]}
        made = cluster(policy("object.spec.replicas <= 3", rules=[rule]), binding(), workload)
        wanted = made.get("Deployment", "web")
        wanted.spec.replicas = 4
        return int(made.api.update(wanted, "scale").spec.replicas)

    assert scaled("deployments") == 4
    with pytest.raises(PolicyDenied, match=r"failed expression: object\.spec\.replicas <= 3"):
        scaled("deployments/scale")


def test_no_policy_is_about_policies() -> None:
    every = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    made = cluster(policy("false", rules=[every]), binding())
    assert "failed expression: false" in denied(made, pod()).why
    made.delete("ValidatingAdmissionPolicyBinding", "bound")
    made.apply(pod())


def test_what_a_controller_makes_is_denied_with_an_event() -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    made = cluster(policy("1 > 2"), binding())
    made.apply({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": spec})
    assert not made.pods()
    said = [one.message for one in made.events() if one.reason == "FailedCreate"]
    assert said
    assert all("denied request: failed expression: 1 > 2" in one for one in said)


def test_a_policy_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = cluster(policy("object.metadata.name != 'none'"), binding())
    made.apply(pod("a"))
    monkeypatch.setattr(validating, "CompiledValidatingPolicy", None)
    made.apply(pod("b"))


def test_an_expression_that_costs_too_much_is_denied_in_time() -> None:
    many = ", ".join("0" for _ in range(400))
    nested = f"[{many}].all(a, [{many}].all(b, [{many}].all(c, [{many}].all(d, a + b + c + d >= 0))))"
    error = denied(cluster(policy(nested), binding()), pod())
    assert error.why.endswith("operation cancelled: actual cost limit exceeded")


def about(subresource: str, operation: str = "CREATE") -> dict[str, Any]:
    return {"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": [f"pods{subresource}"]}


def test_an_eviction_is_what_policies_see_and_not_the_pods_deletion() -> None:
    rules = [about("/eviction"), about("", "DELETE")]
    said = {
        "expression": "request.operation == 'CREATE' && object.deleteOptions.gracePeriodSeconds > 5",
        "messageExpression": "request.resource.resource + '/' + request.subResource + ':' + object.kind + request.name",
    }
    made = cluster(policy(said, rules=rules), binding(), pod())
    with pytest.raises(PolicyDenied, match=f"{PREFIX}pods/eviction:Evictionweb"):
        made.evict("web", grace=5)
    assert made.pod("web").metadata.deletion_timestamp is None
    made.evict("web", grace=9)
    assert [one.name for one in made.pods() if one.metadata.deletion_timestamp is None] == []


def test_a_pod_whose_binding_is_denied_waits_and_says_why() -> None:
    rule = {"expression": "object.target.name != 'node-1'", "message": "not there"}
    made = cluster(policy(rule, rules=[about("/binding")]), binding(), pod())
    waiting = made.pod("web")
    assert waiting.spec.node_name == ""
    (condition,) = [one for one in waiting.status.conditions if one.type == "PodScheduled"]
    why = f'running Bind plugin "DefaultBinder": pods "web" is forbidden: {PREFIX}not there'
    assert (condition.status, condition.message) == ("False", why)


@pytest.mark.parametrize(("grace", "propagation"), [(0, "Background"), (7, "Orphan"), (None, "Foreground")])
def test_a_policy_sees_the_options_of_a_deletion(grace: int | None, propagation: str) -> None:
    """Source: plugin/cel CreateAdmissionRequest; Store.Delete, where BeforeDelete sets the pod's own period."""
    seen = "string(has(request.options.gracePeriodSeconds) ? request.options.gracePeriodSeconds : -1)"
    seen += " + (has(request.options.propagationPolicy) ? request.options.propagationPolicy : '')"
    rule = {**PODS, "operations": ["DELETE"]}
    made = cluster(policy({"expression": "false", "messageExpression": seen}, rules=[rule]), binding(), pod())
    with pytest.raises(PolicyDenied) as found:
        made.delete("Pod", "web", "default", grace=grace, propagation_policy=propagation)
    shown = "" if propagation == "Background" else propagation
    assert as_kubectl_prints(found.value).endswith(f"denied request: {30 if grace is None else grace}{shown}")
