"""Tests that a description and its plugin give the same answers, and that code is loaded for the pods that need it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.release import RELEASES, Release
from kitlib.api.serialize import from_dict
from kitlib.scheduler.framework.on_demand import OnDemandPlugin
from kitlib.scheduler.framework.plugin import SKIP, Affected, Context, Plugin
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.snapshot import Snapshot
from kitlib.scheduler.framework.volumes import claims_used
from kitlib.scheduler.plugins.descriptions import uses_claims
from kitlib.scheduler.profile import POINTS, REGISTRY
from tests.scheduler.builders import node

ON_DEMAND = {name: kind for name, kind in REGISTRY.items() if issubclass(kind, OnDemandPlugin)}
CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
EPHEMERAL = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
DISK = {"name": "v", "awsElasticBlockStore": {"volumeID": "v1"}}
TOKEN = {"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
VOLUMES = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")


def pod(requests: dict[str, str] | None = None, **spec: Any) -> Pod:
    container = {"name": "c", "resources": {"requests": {"cpu": "1", **(requests or {})}}}
    return from_dict({"metadata": {"name": "p", "uid": "p"}, "spec": {"containers": [container], **spec}}, Pod)


PODS = {
    "plain": pod(),
    "scratch directory and token": pod(volumes=[{"name": "s", "emptyDir": {}}, TOKEN]),
    "claim": pod(volumes=[TOKEN, CLAIM]),
    "ephemeral volume": pod(volumes=[EPHEMERAL]),
    "disk": pod(volumes=[DISK]),
    "resource claim": pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "one"}]),
    "extended resource": pod({"example.com/gpu": "1"}),
    "overhead": pod(overhead={"example.com/gpu": "1"}),
}
CONCERNED = {
    "plain": (),
    "scratch directory and token": (),
    "claim": VOLUMES,
    "ephemeral volume": VOLUMES,
    "disk": ("VolumeRestrictions",),
    "resource claim": ("DynamicResources",),
    "extended resource": ("DynamicResources",),
    "overhead": ("DynamicResources",),
}


def plugin_of(kind: type[OnDemandPlugin]) -> type[Plugin]:
    module, _, name = kind.implementation.rpartition(".")
    found: type[Plugin] = getattr(import_module(f"kitlib.scheduler.plugins.{module}"), name)
    return found


def overridden(plugin: type[Plugin]) -> set[str]:
    """The extension points whose methods stand in the plugin's own class."""
    points = {*POINTS.values(), "normalize", "unreserve"}
    own = {point for point in points if point in vars(plugin)}
    return own | ({"pre_enqueue"} if "pre_enqueue_in" in vars(plugin) else set())


@pytest.mark.parametrize("name", ON_DEMAND)
def test_a_description_names_the_points_that_its_plugin_overrides(name: str) -> None:
    kind, plugin = ON_DEMAND[name], plugin_of(ON_DEMAND[name])
    assert kind.points == overridden(plugin)
    assert plugin.name == kind.name == name


@pytest.mark.parametrize("name", ON_DEMAND)
def test_a_plugin_adds_nothing_to_what_its_description_answers(name: str) -> None:
    answers = ("name", "reads", "depends_on", "needs_verdicts", "feature_gate", "missing_state", "missing_score_state")
    methods = ("follows_pods", "concerns", "events_to_register", "affected_by_placement", "incremental_answers")
    assert not {*answers, *methods} & vars(plugin_of(ON_DEMAND[name])).keys()
    assert ON_DEMAND[name].events_to_register is not Plugin.events_to_register


@pytest.mark.parametrize("case", PODS)
def test_the_code_is_loaded_for_the_pods_that_a_plugin_concerns(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: set[str] = set()
    load = OnDemandPlugin.load

    def recorded(plugin: OnDemandPlugin) -> Plugin:
        loaded.add(plugin.name)
        return load(plugin)

    monkeypatch.setattr(OnDemandPlugin, "load", recorded)
    asked = {name: kind() for name, kind in ON_DEMAND.items()}
    context = Context(Snapshot([node("a")]), Release("1.36"))
    info = PodInfo(PODS[case], context.release)
    for plugin in asked.values():
        plugin.pre_filter(info, context)
    assert {name for name, plugin in asked.items() if plugin.concerns(PODS[case])} == set(CONCERNED[case])
    assert loaded == set(CONCERNED[case])
    assert uses_claims(PODS[case]) == bool(claims_used(PODS[case]))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", ON_DEMAND)
def test_pods_that_a_plugin_does_not_concern_get_its_answers(
    name: str, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OnDemandPlugin, "load", lambda plugin: pytest.fail(f"{plugin.name} was loaded"))
    context = Context(Snapshot([node("a"), node("b")]), Release(release))
    described, plugin = ON_DEMAND[name](), plugin_of(ON_DEMAND[name])()
    for case in PODS:
        if name in CONCERNED[case]:
            continue
        info = PodInfo(PODS[case], context.release)
        rows = context.snapshot.every_row()
        info.states = {name: SKIP}
        assert described.affected_by_placement(info, context) is Affected.NOTHING
        assert plugin.pre_enqueue_in(info.pod, context) == described.pre_enqueue_in(info.pod, context)
        assert plugin.pre_filter(info, context) == described.pre_filter(info, context)
        if "score" in described.points:
            states = plugin.pre_score(info, context, rows), described.pre_score(info, context, rows)
            assert states[0] is states[1]
            assert states[0] is SKIP or not plugin.score(states[0], info, context, rows).any()
            assert states[0] is SKIP or not described.score(states[1], info, context, rows).any()
