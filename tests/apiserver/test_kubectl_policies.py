"""ValidatingAdmissionPolicy with the real kubectl: what is refused, and in which words it says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.clients import binaries
from tests.apiserver.test_kubectl import DEPLOYMENT, Client, start

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
