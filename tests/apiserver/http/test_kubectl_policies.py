"""Admission policies with the real kubectl: what is refused, in which words it says so, and what is changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.http.clients import binaries
from tests.apiserver.http.test_kubectl import DEPLOYMENT, Client, start

pytestmark = pytest.mark.kubectl

POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-replicas}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  validations:
  - {expression: "object.spec.replicas <= 3 || request.userInfo.username == 'jane'"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: few-replicas, validationActions: [ACTION]}
"""
SAID = "ValidatingAdmissionPolicy 'few-replicas' with binding 'everywhere'"
WHY = "failed expression: object.spec.replicas <= 3 || request.userInfo.username == 'jane'"


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Client]:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    process = start(tmp_path)
    try:
        yield Client(tmp_path, programs)
    finally:
        process.terminate()
        process.wait(20)


def test_a_deployment_is_refused_until_it_fits_or_its_sender_may_do_more(kubectl: Client) -> None:
    kubectl("apply", "-f", kubectl.file("policy.yaml", POLICY.replace("ACTION", "Deny")))
    large, small = (kubectl.file(f"{n}.yaml", DEPLOYMENT.replace("REPLICAS", n)) for n in ("4", "2"))
    result = kubectl.run("apply", "-f", large)
    assert result.returncode == 1
    assert result.stderr == f'The deployments "web" is invalid: : {SAID} denied request: {WHY}\n'
    assert "created (server dry run)" in kubectl("apply", "--dry-run=server", "-f", small)
    kubectl("apply", "-f", small)
    result = kubectl.run("apply", "-f", large)
    assert SAID in result.stderr
    assert "configured" in kubectl("apply", "--as=jane", "--as-group=system:masters", "-f", large)


def test_a_binding_that_warns_and_an_expression_that_is_none(kubectl: Client) -> None:
    kubectl("apply", "-f", kubectl.file("policy.yaml", POLICY.replace("ACTION", "Warn")))
    result = kubectl.run("create", "deployment", "web", "--image=x", "--replicas=4")
    assert result.returncode == 0
    assert result.stderr == f"Warning: Validation failed for {SAID}: {WHY}\n"
    bad = POLICY.replace("ACTION", "Deny").replace("object.spec.replicas <= 3", "objects.spec").replace("few", "no")
    result = kubectl.run("apply", "-f", kubectl.file("bad.yaml", bad))
    assert (
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'objects' (in container '')" in result.stderr
    )


MUTATING = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: mesh}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  matchConditions:
  - {name: unmeshed, expression: "!has(object.spec.template.spec.initContainers)"}
  variables:
  - {name: image, expression: "params.data.image"}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: |
        Object{
          spec: Object.spec{
            template: Object.spec.template{
              spec: Object.spec.template.spec{
                initContainers: [Object.spec.template.spec.initContainers{name: "mesh", image: variables.image}]
              }
            }
          }
        }
  - patchType: JSONPatch
    jsonPatch:
      expression: |
        [
          JSONPatch{op: "add", path: "/metadata/annotations", value: object.metadata.?annotations.orValue({})},
          JSONPatch{
            op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("example.com/by"),
            value: request.userInfo.username
          }
        ]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: mesh, paramRef: {name: mesh, namespace: default, parameterNotFoundAction: Deny}}
"""
SHOWN = "{.spec.template.spec.initContainers[*].image} {.metadata.annotations.example\\.com/by} {.spec.replicas}"
DENIED = "policy 'mesh' with binding 'everywhere' denied request"


def test_a_deployment_is_changed_as_its_policy_says_and_stays_so(kubectl: Client) -> None:
    applied = kubectl("apply", "-f", kubectl.file("mutating.yaml", MUTATING))
    assert applied.splitlines() == [
        "mutatingadmissionpolicy.admissionregistration.k8s.io/mesh created",
        "mutatingadmissionpolicybinding.admissionregistration.k8s.io/everywhere created",
    ]
    path = kubectl.file("web.yaml", DEPLOYMENT.replace("REPLICAS", "2"))
    result = kubectl.run("apply", "-f", path)
    missing = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert result.stderr == f'Error from server (Forbidden): error when creating "{path}": {DENIED}: {missing}\n'
    kubectl("create", "configmap", "mesh", "--from-literal=image=mesh:1")
    assert "initContainers" in kubectl("apply", "--dry-run=server", "-o", "yaml", "-f", path)
    kubectl("apply", "--as=jane", "--as-group=system:masters", "-f", path)
    assert kubectl("get", "deployment", "web", "-o", f"jsonpath={SHOWN}") == "mesh:1 jane 2"
    kubectl("scale", "deployment", "web", "--replicas=3")
    assert kubectl("get", "deployment", "web", "-o", f"jsonpath={SHOWN}") == "mesh:1 jane 3"
    for said in ("configured", "unchanged"):
        assert said in kubectl("apply", "-f", kubectl.file("web.yaml", DEPLOYMENT.replace("REPLICAS", "3")))


def test_a_mutation_that_fails_and_one_that_is_none(kubectl: Client) -> None:
    kubectl("create", "configmap", "mesh", "--from-literal=image=mesh:1")
    atomic = MUTATING.replace('name: "mesh", image: variables.image', 'name: "mesh", args: [variables.image]')
    kubectl("apply", "-f", kubectl.file("atomic.yaml", atomic))
    result = kubectl.run("apply", "-f", kubectl.file("web.yaml", DEPLOYMENT.replace("REPLICAS", "2")))
    path = ".spec.template.spec.initContainers[0].args"
    why = f"error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {path}"
    assert (result.returncode, result.stderr) == (1, f'The deployments "web" is invalid: : {DENIED}: {why}\n')
    bad = MUTATING.replace("Object{", "Objects{", 1).replace('op: "add"', "op: 1")
    result = kubectl.run("apply", "-f", kubectl.file("bad.yaml", bad))
    place = "spec.mutations[{}].{}.expression"
    assert place.format(0, "applyConfiguration") in result.stderr
    assert "undeclared reference to 'Objects' (in container '')" in result.stderr
    assert place.format(1, "jsonPatch") in result.stderr
    assert "expected type of field 'op' is 'string' but provided type is 'int'" in result.stderr
