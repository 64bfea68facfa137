"""Manifests, by property: what is written is read back, garbage is refused in words, a refusal leaves nothing."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kitlib.api.errors import KitError, ManifestError
from kitlib.api.serialize import from_dict, load, to_dict, to_yaml
from kitlib.apiserver.store.merge import strategic_patch, three_way
from kitlib.cluster import Cluster

names = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
cpu = st.integers(1, 4000).map(lambda n: f"{n}m")
memory = st.integers(1, 4096).map(lambda n: f"{n}Mi")
labels = st.dictionaries(names, names, max_size=3)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=6), below, max_size=3),
    max_leaves=8,
)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """Valid pods: requests never above limits, names all different."""
    containers = []
    for name in draw(st.lists(names, min_size=1, max_size=3, unique=True)):
        requests = draw(st.fixed_dictionaries({}, optional={"cpu": cpu, "memory": memory}))
        limits = dict(requests) if draw(st.booleans()) else {}
        containers.append({"name": name, "image": "nginx", "resources": {"requests": requests, "limits": limits}})
    spec = {
        "containers": containers,
        "nodeName": "node-1",
        **draw(st.fixed_dictionaries({}, optional={"hostPID": st.just(True)})),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": draw(names), "labels": draw(labels)}, "spec": spec}


@given(pods())
def test_a_pod_survives_being_written_and_read(data: dict[str, Any]) -> None:
    pod = from_dict(data)
    (again,) = load(to_yaml(pod))
    assert again == pod and to_dict(again) == to_dict(pod)


@given(pods(), st.dictionaries(names.map(lambda n: f"x{n}"), plain, min_size=1, max_size=3))
def test_unknown_fields_are_kept_wherever_they_stand(data: dict[str, Any], extra: dict[str, Any]) -> None:
    for place in (data, data["metadata"], data["spec"], data["spec"]["containers"][0]):
        place.update(extra)
    (again,) = load(to_yaml(from_dict(data)))
    written = to_dict(again)
    for place in (written, written["metadata"], written["spec"], written["spec"]["containers"][0]):
        assert {key: place.get(key) for key in extra} == extra


@given(st.one_of(st.text(max_size=60), plain.map(lambda value: yaml.safe_dump(value)), st.binary(max_size=40)))
def test_garbage_is_refused_as_a_manifest_error_or_holds_no_object(source: str | bytes) -> None:
    try:
        found = load(source if isinstance(source, bytes) else source + "\n")
    except ManifestError as error:
        assert str(error)
    else:
        assert found == []


@settings(max_examples=30)
@given(st.lists(pods(), min_size=1, max_size=3, unique_by=lambda pod: pod["metadata"]["name"]))
def test_applying_the_same_again_changes_nothing(manifests: list[dict[str, Any]]) -> None:
    cluster = Cluster.simulated(kubelets=False)
    cluster.apply(manifests)
    standing = cluster.snapshot()
    cluster.apply(manifests)
    assert cluster.snapshot() == standing


@settings(max_examples=30)
@given(
    st.lists(pods(), min_size=1, max_size=3, unique_by=lambda pod: pod["metadata"]["name"]),
    st.sampled_from(["cpu: -1", "cpu: 1e", "cpu: {}", "memory: [1]"]),
    st.data(),
)
def test_one_bad_object_and_nothing_is_applied(
    manifests: list[dict[str, Any]], amount: str, data: st.DataObject
) -> None:
    cluster = Cluster.simulated(kubelets=False)
    before = cluster.snapshot()
    at = data.draw(st.integers(0, len(manifests) - 1))
    manifests[at]["spec"]["containers"][0]["resources"] = {"requests": yaml.safe_load(amount)}
    with pytest.raises(KitError) as refused:
        cluster.apply(yaml.safe_dump_all(manifests))
    assert f"document {at + 1}" in str(refused.value)
    assert "spec.containers[0].resources.requests" in str(refused.value)
    assert cluster.snapshot() == before


small = st.dictionaries(st.sampled_from("abc"), st.integers(0, 3) | st.just("x"), max_size=3)
nested = st.dictionaries(st.sampled_from("abcde"), small | st.integers(0, 3), max_size=4)


@given(nested, nested)
def test_applying_to_nothing_gives_the_manifest_and_applying_twice_the_same(new: dict, current: dict) -> None:
    assert three_way({}, new, {}) == new
    once = three_way({}, new, current)
    assert three_way(new, new, once) == once


@given(nested, nested)
def test_what_was_applied_and_is_left_out_goes_and_what_others_set_stays(last: dict, current: dict) -> None:
    merged = three_way(last, {}, {**current, **last})
    assert merged == {key: value for key, value in current.items() if key not in last}


def test_lists_with_a_key_are_merged_item_by_item() -> None:
    def pod(containers: list[dict[str, object]]) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": containers}}

    current = pod([{"name": "a", "image": "1", "imagePullPolicy": "Always"}, {"name": "side", "image": "s"}])
    new = pod([{"name": "a", "image": "2"}])
    changed = {"name": "a", "image": "2", "imagePullPolicy": "Always"}
    assert three_way({}, new, current) == pod([changed, {"name": "side", "image": "s"}])
    assert three_way(pod([{"name": "side", "image": "s"}]), new, current) == pod([changed])
    patch = {"spec": {"containers": [{"name": "side", "image": None}, {"name": "b", "image": "b"}]}}
    patched = strategic_patch(current, patch)["spec"]["containers"]
    assert [c["name"] for c in patched] == ["a", "side", "b"] and "image" not in patched[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1\nb: 2", "document 1: not YAML"),
        ("- just\n- a list", "document 1: not a Kubernetes object: a mapping is expected, found list"),
        ("kind: Pod\nmetadata: {name: a}", "document 1, apiVersion: not a Kubernetes object: apiVersion is missing"),
        ("apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: 5", "document 2, kind: not a Kubernetes object"),
        (
            "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, resources: {limits: {cpu: 1x}}}]}",
            r"document 1, spec.containers\[0\].resources.limits\[cpu\]: Pod in version .* quantities must match",
        ),
        (
            "apiVersion: v1\nkind: Pod\nspec: {containers: 5}",
            r"document 1, spec.containers: .* json: cannot unmarshal number into Go struct field .*v1.Container",
        ),
    ],
)
def test_what_is_no_manifest_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(ManifestError, match=words):
        load(text)


DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "labels": {"a": "b", "c": "d"}},
    "spec": {
        "replicas": 3,
        "minReadySeconds": 5,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}]},
        },
    },
}


def test_null_removes_a_field_of_any_writer_and_its_default_comes_back() -> None:
    cluster = Cluster.simulated(1, kubelets=False)
    cluster.apply(DEPLOYMENT)
    stored = cluster.api.store.get("Deployment", "d", "default")
    stored.metadata.labels["other"] = "writer"
    stored.spec.replicas, stored.spec.paused = 7, True
    created = cluster.api.update(stored).metadata.creation_timestamp
    text = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, creationTimestamp: null, labels: {a: b, c: null, other: null, never: null}}
spec:
  replicas: null
  minReadySeconds: null
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}, annotations: {x: null}}
    spec:
      containers: [{name: c, image: i, resources: null}]
"""
    cluster.apply(text)
    found = cluster.api.store.get("Deployment", "d", "default")
    assert found.metadata.labels == {"a": "b"}
    assert found.metadata.creation_timestamp == created
    assert (found.spec.replicas, found.spec.min_ready_seconds, found.spec.paused) == (1, 0, True)
    template = to_dict(found.spec.template)
    assert "annotations" not in template["metadata"]
    assert "limits" not in template["spec"]["containers"][0].get("resources", {})
