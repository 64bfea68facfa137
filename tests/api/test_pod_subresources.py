"""The bodies of `binding` and `eviction`."""

from __future__ import annotations

from kitlib.api.meta import ObjectMeta
from kitlib.api.pod_subresources import binding_of, eviction_of
from kitlib.api.serialize import to_dict


def test_the_binding_that_the_scheduler_sends() -> None:
    """Source: DefaultBinder.Bind."""
    made = binding_of("p", "n", "node-1")
    assert (made.api_version, made.kind, made.target.kind, made.target.name) == ("v1", "Binding", "Node", "node-1")
    assert to_dict(made)["metadata"] == {"name": "p", "namespace": "n"}


def test_a_binding_keeps_given_metadata_and_names_the_pod() -> None:
    given = ObjectMeta(name="other", namespace="m", uid="u", labels={"a": "b"})
    assert to_dict(binding_of("p", "n", "node-1", given))["metadata"] == {
        "name": "p",
        "namespace": "n",
        "uid": "u",
        "labels": {"a": "b"},
    }
    assert (given.name, given.namespace) == ("other", "m")


def test_an_eviction_has_options_only_for_a_period() -> None:
    """Source: kubectl drain EvictPod."""
    plain = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": "n"}}
    assert to_dict(eviction_of("p", "n", None)) == plain
    assert to_dict(eviction_of("p", "n", 0)) == {**plain, "deleteOptions": {"gracePeriodSeconds": 0}}
