"""Mutating policies, objects that they are about, and clusters that have both."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.errors import MutationDenied
from kitlib.cluster import Cluster

GROUP = "admissionregistration.k8s.io/v1"
ALL = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*"]}


def policy(name: str, *expressions: str, again: str = "Never", rule: Any = ALL, **spec: Any) -> list[dict[str, Any]]:
    """A policy and its binding; an expression that begins with a bracket is a JSON patch."""
    mutations = []
    for one in expressions:
        kind, field = (
            ("JSONPatch", "jsonPatch") if one.startswith("[") else ("ApplyConfiguration", "applyConfiguration")
        )
        mutations.append({"patchType": kind, field: {"expression": one}})
    binding = {"policyName": name, **spec.pop("binding", {})}
    made = {"matchConstraints": {"resourceRules": [rule]}, "reinvocationPolicy": again, "mutations": mutations, **spec}
    return [
        {"apiVersion": GROUP, "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": made},
        {"apiVersion": GROUP, "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": "bound"}, "spec": binding},
    ]


def labelled(key: str, value: str) -> str:
    return f"Object{{metadata: Object.metadata{{labels: {{'{key}': {value}}}}}}}"


def pod(name: str = "web", **labels: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "nginx"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def deployment(replicas: int = 1, **pod_spec: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "nginx"}], **pod_spec}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": spec}
    made = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": made}


def cluster(*objects: list[dict[str, Any]] | dict[str, Any]) -> Cluster:
    made = Cluster.simulated(1)
    for one in objects:
        listed = one if isinstance(one, list) else [one]
        for number, each in enumerate(listed):
            if each["kind"].endswith("Binding"):
                each["metadata"]["name"] = f"{listed[number - 1]['metadata']['name']}-bound"
        made.apply(listed)
    return made


def labels(made: Cluster, name: str = "web") -> dict[str, str]:
    return dict(made.pod(name).metadata.labels)


def refused(made: Cluster, obj: dict[str, Any]) -> MutationDenied:
    with pytest.raises(MutationDenied) as found:
        made.apply(obj)
    return found.value
