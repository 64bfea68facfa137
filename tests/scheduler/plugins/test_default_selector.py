"""The selector of default spread constraints: services and the controller of a pod, of its namespace."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kitlib.api.apps import ReplicaSet, StatefulSet
from kitlib.api.core import Pod, ReplicationController, Service
from kitlib.api.release import Release
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.plugin import Context
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.plugins.default_selector import default_selector

APP, OTHER = {"app": "web"}, {"tier": "front"}
EXPRESSION = {"key": "x", "operator": "Exists"}


def pod(owner: str = "", **owned: Any) -> Pod:
    refs = [{"kind": owner, "name": "w", "controller": True, "apiVersion": "v1", "uid": "u", **owned}] if owner else []
    labels = {**APP, **OTHER}
    return from_dict({"metadata": {"name": "p", "namespace": "n", "labels": labels, "ownerReferences": refs}}, Pod)


def made(kind: Any, selector: dict[str, Any], name: str = "w", namespace: str = "n") -> Any:
    return from_dict({"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}, kind)


def selected(one: Pod, **objects: Any) -> tuple[dict[str, str], list[str]] | None:
    """Return the labels and the keys of the expressions of the selector; None = no selector."""
    context = replace(Context(Snapshot(), Release("1.36")), **{name: [obj] for name, obj in objects.items()})
    found = default_selector(one, context)
    return None if found is None else (found.match_labels, [one.key for one in found.match_expressions])


@pytest.mark.parametrize(
    ("one", "objects", "expected"),
    [
        (pod(), {}, None),
        (pod(), {"services": made(Service, APP)}, (APP, [])),
        (pod(), {"services": made(Service, {**APP, **OTHER})}, ({**APP, **OTHER}, [])),
        (pod(), {"services": made(Service, {"app": "db"})}, None),
        (pod(), {"services": made(Service, {})}, None),
        (pod(), {"services": made(Service, APP, namespace="m")}, None),
        (pod(), {"replica_sets": made(ReplicaSet, {"matchLabels": APP})}, None),
        (pod("ReplicaSet"), {"replica_sets": made(ReplicaSet, {"matchLabels": APP})}, (APP, [])),
        (pod("ReplicaSet"), {"replica_sets": made(ReplicaSet, {"matchExpressions": [EXPRESSION]})}, ({}, ["x"])),
        (pod("ReplicaSet"), {"replica_sets": made(ReplicaSet, {"matchLabels": APP}, name="v")}, None),
        (pod("ReplicaSet"), {"replica_sets": made(ReplicaSet, {"matchLabels": APP}, namespace="m")}, None),
        (pod("ReplicaSet", controller=False), {"replica_sets": made(ReplicaSet, {"matchLabels": APP})}, None),
        (pod("StatefulSet"), {"stateful_sets": made(StatefulSet, {"matchLabels": APP})}, (APP, [])),
        (pod("StatefulSet"), {"replica_sets": made(ReplicaSet, {"matchLabels": APP})}, None),
        (pod("ReplicationController"), {"replication_controllers": made(ReplicationController, APP)}, (APP, [])),
        (pod("ReplicationController"), {"replication_controllers": made(ReplicationController, APP, name="v")}, None),
        (
            pod("ReplicaSet"),
            {"services": made(Service, OTHER), "replica_sets": made(ReplicaSet, {"matchLabels": APP})},
            ({**APP, **OTHER}, []),
        ),
    ],
)
def test_services_and_controller_together(one: Pod, objects: dict[str, Any], expected: Any) -> None:
    """Source: plugins/helper DefaultSelector."""
    assert selected(one, **objects) == expected
