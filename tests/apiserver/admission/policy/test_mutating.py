"""MutatingAdmissionPolicy as a cluster's users meet it: what is changed, in which order, and what is refused.

Source of the cases: plugin/policy/mutating (dispatcher_test.go, compilation_test.go, patch/smd_test.go).
"""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.errors import InternalError, Invalid, KitError, RequestTooLarge, as_kubectl_prints
from kitlib.api.serialize import from_dict, to_dict
from kitlib.apiserver.store.kinds import resource_by_rule
from tests.apiserver.admission.policy.mutations import ALL, cluster, deployment, labelled, labels, pod, policy, refused


def test_a_sidecar_and_a_label_are_added_when_a_pod_is_created_and_not_to_others() -> None:
    sidecar = "Object.spec.initContainers{name: 'mesh', image: 'mesh:1', restartPolicy: 'Always'}"
    only = {**ALL, "apiGroups": [""], "resources": ["pods"], "operations": ["CREATE"]}
    made = cluster(
        policy(
            "mesh",
            f"Object{{spec: Object.spec{{initContainers: [{sidecar}]}}}}",
            "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('example.com/mesh'), value: 'on'}]",
            rule=only,
            matchConditions=[
                {"name": "new", "expression": "!object.spec.?initContainers.orValue([]).exists(c, c.name == 'mesh')"}
            ],
        ),
        pod(a="b"),
        deployment(0),
    )
    stored = made.pod("web")
    assert [one.name for one in stored.spec.init_containers] == ["mesh"]
    assert (
        stored.spec.init_containers[0].termination_message_path == "/dev/termination-log"
    )  # defaulted after the patch
    assert labels(made) == {"a": "b", "example.com/mesh": "on"}
    assert made.get("Deployment", "web").metadata.labels == {}


def test_mutations_follow_one_another_and_see_what_the_one_before_made() -> None:
    plus = "Object{spec: Object.spec{replicas: object.spec.replicas + variables.some}}"
    patch = "[JSONPatch{op: 'replace', path: '/spec/replicas', value: object.spec.replicas * variables.some}]"
    made = cluster(
        policy(
            "p",
            plus,
            patch,
            rule={**ALL, "resources": ["deployments"]},
            variables=[{"name": "some", "expression": "2"}],
        ),
        deployment(1),
    )
    assert made.get("Deployment", "web").spec.replicas == 6


def test_parameters_of_a_binding_are_used_one_after_the_other() -> None:
    def some(name: str, value: str) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {"p": "y"}},
            "data": {"k": value},
        }

    reference = {"selector": {"matchLabels": {"p": "y"}}, "parameterNotFoundAction": "Deny"}
    made = cluster(some("one", "1"), some("two", "2"))
    made.apply(
        policy(
            "p",
            "Object{metadata: Object.metadata{labels: {'k': object.metadata.?labels.k.orValue('') + params.data.k}}}",
            rule={**ALL, "resources": ["pods"]},
            paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
            binding={"paramRef": reference},
        )
    )
    made.apply(pod())
    assert labels(made) == {"k": "12"}
    made.delete("ConfigMap", "one")
    made.delete("ConfigMap", "two")
    error = refused(made, pod("late"))
    assert error.reason == "Forbidden"
    assert str(error) == (
        "policy 'p' with binding 'bound' denied request: failed to configure binding: no params found for policy "
        "binding with `Deny` parameterNotFoundAction"
    )


def test_a_later_policy_sees_what_an_earlier_one_made_but_not_the_other_way_round() -> None:
    condition = [{"name": "prod", "expression": "object.metadata.?labels.env.orValue('') == 'prod'"}]
    first = policy("a", labelled("early", "'yes'"), again="IfNeeded", matchConditions=condition)
    second = policy("b", labelled("env", "'prod'"), again="IfNeeded")
    third = policy("c", labelled("late", "'yes'"), matchConditions=condition)
    assert labels(cluster(first, second, third, pod())) == {"env": "prod", "late": "yes"}


@pytest.mark.parametrize(("again", "expected"), [("Never", "x"), ("IfNeeded", "xx")])
def test_a_policy_is_asked_a_second_time_if_it_says_so(again: str, expected: str) -> None:
    more = labelled("n", "object.metadata.?labels.n.orValue('') + 'x'")
    assert labels(cluster(policy("a", more, again=again), policy("b", labelled("b", "'1'")), pod())) == {
        "n": expected,
        "b": "1",
    }


def test_the_second_round_comes_after_all_policies_of_the_first() -> None:
    seen = labelled("seen", "object.metadata.?labels.b.orValue('nothing')")
    first = policy("a", seen, again="IfNeeded")
    assert labels(cluster(first, policy("b", labelled("b", "'1'")), pod())) == {"seen": "1", "b": "1"}


def test_policies_see_no_generated_name_and_no_uid_yet() -> None:
    meta = "object.metadata"
    told = f"string(has({meta}.name)) + string(has({meta}.uid)) + request.name"
    seen = f"Object{{metadata: Object.metadata{{annotations: {{'seen': {told}}}}}}}"
    made = cluster(policy("a", seen, rule={**ALL, "resources": ["pods"]}))
    made.apply(pod())
    assert made.pod("web").metadata.annotations["seen"] == "truefalseweb"
    generated = from_dict({**pod(), "metadata": {"generateName": "job-"}}, Pod)
    stored = made.api.create(generated)
    assert stored.metadata.annotations["seen"] == "falsefalse"
    assert stored.metadata.name.startswith("job-")
    assert stored.metadata.uid


WHY = "policy 'p' with binding 'p-bound' denied request: "
APPLY = WHY + "error applying patch: "


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (
            "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}",
            f"{APPLY}invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.selector",
        ),
        (
            "Object{spec: Object.spec{replicasx: 1}}",
            APPLY + "failed to convert patch object to typed object: .spec.replicasx: field not declared in schema",
        ),
        (
            "Object{spec: Object.specx{replicas: 1}}",
            f'{WHY}type mismatch: unexpected type name "Object.specx", expected "Object.spec", which matches field '
            "name path from root Object type",
        ),
        (
            "Object{spec: Object.spec{replicas: object.nothing}}",
            f"{WHY}expression 'Object{{spec: Object.spec{{replicas: object.nothing}}}}' resulted in error: no such "
            "key: nothing",
        ),
        (
            "Object{metadata: Object.metadata{labels: {1: 'x'}}}",
            WHY + 'invalid return type: map key "1" is of type int64, not string',
        ),
        (
            "[JSONPatch{op: 'replace', path: '/spec/template/spec/containers/-', value: 1}]",
            f"{WHY}JSONPath: replace operation does not apply: doc is missing key: /spec/template/spec/containers/-: "
            "missing value",
        ),
        ("true ? null : Object{}", f"{WHY}unsupported return type from ApplyConfiguration expression: null_type"),
        (
            "[JSONPatch{}] + [null]",
            f"{WHY}type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch: null_type",
        ),
        ("[JSONPatch{op: 'spin'}]", WHY + "JSONPath: Unexpected kind: spin"),
        (
            "[JSONPatch{op: 'add', path: '/x', value: Object.a{b: Object.c{}}}]",
            f'{WHY}type mismatch: unexpected type name "Object.c", expected "Object.a.b", which matches field name '
            "path from root Object type",
        ),
    ],
)
def test_a_mutation_that_cannot_be_carried_out_refuses_the_write_unless_failures_are_ignored(
    expression: str, words: str
) -> None:
    rule = {**ALL, "resources": ["deployments"]}
    made = cluster(policy("p", expression, rule=rule))
    error = refused(made, deployment())
    assert str(error) == words
    assert (error.code, error.reason) == (403, "Invalid")
    assert as_kubectl_prints(error) == f'The deployments "web" is invalid: : {words}'
    assert made.api.store.list("Deployment") == []
    label = labelled("after", "'yes'")
    made = cluster(policy("p", expression, label, rule=rule, failurePolicy="Ignore"), deployment())
    assert made.get("Deployment", "web").metadata.labels == {"after": "yes"}


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        (
            "JSONPatch{op: 'add', path: '/spec/containers/-', value: Object.spec.containers{name: 'b', ports: "
            "[Object.spec.containers.ports{containerPortZ: 1}]}}",
            'strict decoding error: unknown field "spec.containers[1].ports[0].containerPortZ"',
        ),
        (
            "JSONPatch{op: 'add', path: '/spec/priority', value: 'high'}",
            "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32",
        ),
    ],
)
def test_a_patch_that_makes_no_object_of_the_kind_fails_whatever_the_policy_says(patch: str, words: str) -> None:
    made = cluster(policy("p", f"[{patch}]", rule={**ALL, "resources": ["pods"]}, failurePolicy="Ignore"))
    with pytest.raises(InternalError) as error:
        made.apply(pod())
    assert str(error.value) == f"Internal error occurred: {words}"


def test_a_patch_finds_the_empty_fields_that_a_type_always_has() -> None:
    limits = "[JSONPatch{op: 'add', path: '/spec/containers/0/resources/limits', value: {'cpu': '1'}}]"
    condition = [{"name": "none", "expression": "!has(object.spec.containers[0].resources.limits)"}]
    made = cluster(policy("p", limits, rule={**ALL, "resources": ["pods"]}, matchConditions=condition), pod())
    assert str(made.pod("web").spec.containers[0].resources.limits["cpu"]) == "1"


def test_fields_that_the_kit_does_not_know_stay_where_a_patch_leaves_them() -> None:
    made = cluster(
        policy("p", "[JSONPatch{op: 'add', path: '/spec/priority', value: 0}]", rule={**ALL, "resources": ["pods"]})
    )
    strange = pod()
    strange["spec"]["future"] = {"a": 1}
    assert to_dict(made.api.create(from_dict(strange)))["spec"]["future"] == {"a": 1}


def test_a_patch_whose_test_fails_changes_nothing() -> None:
    place = "path: '/spec/replicas'"
    patch = f"[JSONPatch{{op: 'test', {place}, value: 100}}, JSONPatch{{op: 'replace', {place}, value: 3}}]"
    rule = {**ALL, "resources": ["deployments"]}
    assert cluster(policy("p", patch, rule=rule), deployment(1)).get("Deployment", "web").spec.replicas == 1
    assert cluster(policy("p", patch, rule=rule), deployment(100)).get("Deployment", "web").spec.replicas == 3


def test_a_condition_that_cannot_be_evaluated_refuses_or_skips() -> None:
    condition = [{"name": "broken", "expression": "object.nothing == 1"}]
    rule = {**ALL, "resources": ["pods"]}
    error = refused(cluster(policy("p", labelled("a", "'b'"), rule=rule, matchConditions=condition)), pod())
    assert str(error) == f"{WHY}expression 'object.nothing == 1' resulted in error: no such key: nothing"
    ignored = policy("p", labelled("a", "'b'"), rule=rule, matchConditions=condition, failurePolicy="Ignore")
    assert labels(cluster(ignored, pod())) == {}


def test_several_failures_are_all_told() -> None:
    rule = {**ALL, "resources": ["pods"]}
    bad = "[JSONPatch{op: 'remove', path: '/metadata/labels/none'}]"
    error = refused(cluster(policy("p", bad, rule=rule), policy("q", bad, rule=rule)), pod())
    assert as_kubectl_prints(error).count("\n* : policy ") == len(error.causes) == 2


def test_a_kind_of_parameters_that_there_is_not_refuses_by_the_policy_alone() -> None:
    kind = {"apiVersion": "example.com/v1", "kind": "Nothing"}
    reference = {"name": "a", "parameterNotFoundAction": "Allow"}
    rule = {**ALL, "resources": ["pods"]}
    made = cluster(policy("p", labelled("a", "'b'"), rule=rule, paramKind=kind, binding={"paramRef": reference}))
    assert as_kubectl_prints(refused(made, pod())) == (
        'Error from server (Forbidden): policy "p" denied request: failed to configure policy: failed to find resource '
        "referenced by paramKind: 'example.com/v1, Kind=Nothing'"
    )


def test_what_a_mutation_makes_is_validated_and_judged() -> None:
    wrong = "Object{metadata: Object.metadata{labels: {'a b': 'c'}}}"
    with pytest.raises(Invalid, match="a b"):
        cluster(policy("p", wrong, rule={**ALL, "resources": ["pods"]}), pod())
    moved = "Object{metadata: Object.metadata{namespace: 'kube-system'}}"
    with pytest.raises(KitError, match="does not match the namespace sent on the request"):
        cluster(policy("p", moved, rule={**ALL, "resources": ["pods"]}), pod())


def test_an_object_may_not_grow_beyond_what_is_kept() -> None:
    text = "x" * 30_000
    large = f"[{', '.join(['variables.text'] * 60)}].join()"
    grown = f"Object{{metadata: Object.metadata{{annotations: {{'a': {large}}}}}}}"
    variables = [{"name": "text", "expression": f"'{text}'"}]
    with pytest.raises(RequestTooLarge):
        cluster(policy("p", grown, rule={**ALL, "resources": ["pods"]}, variables=variables), pod())


def test_policies_and_bindings_are_not_mutated_themselves() -> None:
    made = cluster(policy("p", labelled("a", "'b'")), policy("q", labelled("c", "'d'")))
    assert made.get("MutatingAdmissionPolicy", "q").metadata.labels == {}


def _definition() -> dict[str, Any]:
    items = {
        "type": "object",
        "required": ["id"],
        "properties": {"id": {"type": "string"}, "size": {"type": "integer"}},
    }
    parts = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"], "items": items}
    fields = {"parts": parts, "plain": {"type": "array", "items": {"type": "string"}}, "size": {"type": "integer"}}
    spec = {"type": "object", "properties": fields}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def test_custom_objects_are_merged_by_their_schema() -> None:
    definition = _definition()
    widget = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w"},
        "spec": {"parts": [{"id": "a", "size": 1}]},
    }
    rule = {**ALL, "apiGroups": ["example.com"]}
    grown = "Object{spec: Object.spec{parts: [Object.spec.parts{id: 'a', size: 2}, Object.spec.parts{id: 'b'}]}}"
    made = cluster(definition, policy("p", grown, rule=rule), widget)
    (stored,) = made.api.store.list(resource_by_rule("Widget", "example.com", True))
    assert stored.unknown_fields["spec"]["parts"] == [{"id": "a", "size": 2}, {"id": "b"}]
    made = cluster(definition, policy("p", "Object{spec: Object.spec{plain: ['a']}}", rule=rule))
    assert str(refused(made, widget)).endswith("may not mutate atomic arrays, maps or structs: .spec.plain")


def test_parameters_may_be_custom_objects() -> None:
    made = cluster(_definition())
    meta = {"name": "w", "namespace": "default"}
    made.apply({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": meta, "spec": {"size": 7}})
    reference = {"name": "w", "parameterNotFoundAction": "Deny"}
    rule = {**ALL, "resources": ["pods"]}
    kind = {"apiVersion": "example.com/v1", "kind": "Widget"}
    said = labelled("size", "string(params.spec.size)")
    made.apply(policy("p", said, rule=rule, paramKind=kind, binding={"paramRef": reference}))
    made.apply(pod())
    assert labels(made) == {"size": "7"}
