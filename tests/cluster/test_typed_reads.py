"""The types of a cluster's answers: mypy checks the statements (`.ci/run types`), the tests compare the objects."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Literal, assert_type, get_args, get_origin, get_overloads, get_type_hints

import jedi
import pytest

from kitlib.api.api_groups import GROUPS
from kitlib.api.apps import Deployment
from kitlib.api.core import ConfigMap, Event, Node, Pod, Taint
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.apiserver.store.kinds import RESOURCES, Resource
from kitlib.cluster import Cluster
from kitlib.cluster.base import BaseCluster
from kitlib.cluster.control_plane.polling import PollingCluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.cluster.typed_reads import ByKind, ListByKind
from kitlib.scheduler.decision import Decision

POD = {"containers": [{"name": "c", "image": "app"}]}
MANIFESTS = [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": POD},
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD},
        },
    },
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimulatedCluster]:
    with Cluster.simulated(1) as made:
        made.apply(MANIFESTS)
        yield made


def test_get_returns_the_type_of_the_kind(cluster: SimulatedCluster) -> None:
    answers: list[tuple[KubeObject, type[KubeObject]]] = [
        (assert_type(cluster.get("Deployment", "web"), Deployment), Deployment),
        (assert_type(cluster.get("deploy", "web", "default"), Deployment), Deployment),
        (assert_type(cluster.get(kind="deployments", name="web"), Deployment), Deployment),
        (assert_type(cluster.get(Deployment, "web"), Deployment), Deployment),
        (assert_type(cluster.get("po", "p"), Pod), Pod),
        (assert_type(cluster.pod("p"), Pod), Pod),
        (assert_type(cluster.cordon("node-1", False), Node), Node),
    ]
    assert [type(found) for found, _ in answers] == [expected for _, expected in answers]


def test_lists_hold_the_type_of_the_kind(cluster: SimulatedCluster) -> None:
    selected = cluster.list(Pod, selector={"app": "web"})
    answers: list[tuple[list[Any], type[KubeObject]]] = [
        (assert_type(cluster.list("Node"), list[Node]), Node),
        (assert_type(cluster.list("deploy", "default", {}), list[Deployment]), Deployment),
        (assert_type(selected, list[Pod]), Pod),
        (assert_type(cluster.pods("default"), list[Pod]), Pod),
        (assert_type(cluster.nodes, list[Node]), Node),
        (assert_type(cluster.events("p"), list[Event]), Event),
    ]
    assert [{type(one) for one in found} for found, _ in answers] == [{expected} for _, expected in answers]


def test_writes_of_objects_return_their_type(cluster: SimulatedCluster) -> None:
    settings = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))
    assert [one.name for one in assert_type(cluster.create(settings), list[ConfigMap])] == ["a"]
    assert [one.name for one in assert_type(cluster.apply([settings]), list[ConfigMap])] == ["a"]
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}"
    made = assert_type(cluster.apply(text), list[Any])  # the kinds in a text are known after it has been read
    assert [type(one) for one in made] == [ConfigMap]


def test_changes_of_one_object_return_its_type(cluster: SimulatedCluster) -> None:
    paused: dict[str, Any] = {"spec": {"paused": False}}
    answers: list[tuple[KubeObject, type[KubeObject]]] = [
        (assert_type(cluster.patch("deploy", "web", paused), Deployment), Deployment),
        (assert_type(cluster.patch(Deployment, "web", patch=paused, namespace="default"), Deployment), Deployment),
        (assert_type(cluster.patch_status("Node", "node-1", {"status": {}}), Node), Node),
        (assert_type(cluster.scale("Deployment", "web", 0), Deployment), Deployment),
        (assert_type(cluster.scale(Deployment, "web", replicas=1), Deployment), Deployment),
        (assert_type(cluster.resize("p"), Pod), Pod),
    ]
    assert [type(found) for found, _ in answers] == [expected for _, expected in answers]
    with pytest.raises(TypeError):
        cluster.scale("Deployment", "web")  # type: ignore[call-overload]


def test_a_copy_is_a_cluster(cluster: SimulatedCluster) -> None:
    copy = assert_type(cluster.fork(), BaseCluster)
    copy.delete(Deployment, "web")
    assert assert_type(copy.list("Deployment"), list[Deployment]) == []
    assert assert_type(copy.explain("p"), Decision).feasible
    assert cluster.get("Deployment", "web").name == "web"


def waits(cluster: PollingCluster) -> None:
    """State the types of `wait`: the condition gets the cluster, and its answer is returned."""
    assert_type(cluster.wait(lambda one: one.pods()), list[Pod])
    assert_type(cluster.wait(lambda one: one.get("Node", "a").spec.taints, timeout=1), list[Taint])


def test_a_name_that_is_no_literal_may_be_any_kind(cluster: SimulatedCluster) -> None:
    kind: str = ["Pod"][0]
    assert assert_type(cluster.get(kind, "p"), Any).kind == kind
    assert {one.kind for one in assert_type(cluster.list(kind), Any)} == {kind}


def test_a_field_that_the_kind_lacks_is_an_error_before_it_runs(cluster: SimulatedCluster) -> None:
    with pytest.raises(AttributeError):
        _ = cluster.get("Pod", "p").replicas  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        _ = cluster.nodes[0].spec.containers  # type: ignore[attr-defined]


def overloads(protocol: type) -> dict[type, set[str]]:
    """Return the names of each type in a protocol's overloads."""
    found: dict[type, set[str]] = {}
    # `protocol.__call__` is typing's placeholder, so the overloads are looked up by name.
    call: Any = SimpleNamespace(__module__=protocol.__module__, __qualname__=f"{protocol.__name__}.__call__")
    for one in get_overloads(call):
        hints = get_type_hints(one)
        if get_origin(hints["kind"]) is Literal:
            found[next(iter(get_args(hints["return"])), hints["return"])] = set(get_args(hints["kind"]))
    return found


def type_of(resource: Resource) -> type[KubeObject]:
    module = import_module(f"kitlib.api.{GROUPS[resource.group]}")
    found: type[KubeObject] = getattr(module, resource.kind)
    return found


@pytest.mark.parametrize("protocol", [ByKind, ListByKind])
def test_every_kind_has_its_type_under_every_name_of_kubectl(protocol: type) -> None:
    expected = {type_of(one): {one.kind, one.kind.lower(), one.plural, *filter(None, [one.short])} for one in RESOURCES}
    assert overloads(protocol) == expected


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("code", "field"),
    [
        ('cluster.get("Pod", "p").', "metadata"),  # jedi knows no literals: what every kind has
        ('cluster.pod("p").status.', "phase"),
        ("for pod in cluster.pods():\n    pod.spec.", "containers"),
        ("cluster.nodes[0].status.", "allocatable"),
        ('cluster.events("p")[0].', "reason"),
    ],
)
def test_a_notebook_completes_the_fields_of_an_answer(code: str, field: str, cluster: SimulatedCluster) -> None:
    """IPython asks jedi, which reads the types and runs nothing."""
    found = jedi.Interpreter(code, [{"cluster": cluster}]).complete()
    assert field in [one.name for one in found]
