"""Custom objects with the real kubectl: unknown fields, defaults, and rules in CEL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.http.clients import binaries
from tests.apiserver.http.test_kubectl import Client, start

pytestmark = pytest.mark.kubectl

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lakes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: lakes, singular: lake, kind: Lake, listKind: LakeList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              depth: {type: integer}
              limit: {type: integer, default: 9}
            x-kubernetes-validations:
            - {rule: "RULE", message: too deep}
"""
LAKE = """
apiVersion: example.com/v1
kind: Lake
metadata: {name: a}
spec: SPEC
"""


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


def test_a_custom_object_is_defaulted_pruned_and_ruled(kubectl: Client) -> None:
    def lake(spec: str) -> str:
        return kubectl.file("lake.yaml", LAKE.replace("SPEC", spec))

    result = kubectl.run("apply", "-f", kubectl.file("wrong.yaml", DEFINITION.replace("RULE", "self.wide > 1")))
    assert "undefined field 'wide'" in result.stderr
    kubectl("apply", "-f", kubectl.file("crd.yaml", DEFINITION.replace("RULE", "self.depth <= self.limit")))
    result = kubectl.run("apply", "-f", lake("{depth: 10}"))
    assert result.stderr == 'The Lake "a" is invalid: spec: Invalid value: "object": too deep\n'
    result = kubectl.run("apply", "-f", lake("{depth: 3, wide: 1}"))
    assert 'strict decoding error: unknown field "spec.wide"' in result.stderr
    kubectl("apply", "--validate=ignore", "-f", lake("{depth: 3, wide: 1}"))
    assert kubectl("get", "lake", "a", "-o", "jsonpath={.spec}") == '{"depth":3,"limit":9}'
