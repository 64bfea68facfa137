"""A mutation sees a new object without its generated name and UID, and cannot move it to another namespace."""

from __future__ import annotations

import pytest

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission.plugin import AdmissionPlugin, before_it_is_named
from tests.apiserver.admission.writes import pod, write


def named() -> Pod:
    """Return a pod after its name was generated."""
    return pod("web-x7", metadata={"generateName": "web-", "uid": "u"})


GIVEN = ObjectMeta(generate_name="web-", namespace="default")


def test_a_new_object_has_no_generated_name_and_no_uid() -> None:
    seen: list[tuple[str, str]] = []

    def mutate(obj: KubeObject) -> KubeObject:
        seen.append((obj.metadata.name, obj.metadata.uid))
        made: KubeObject = deepcopy(obj)
        made.metadata.labels = {"a": "b"}
        return made

    made = before_it_is_named(named(), GIVEN, mutate)
    assert made is not None
    assert (made.metadata.name, made.metadata.uid, made.metadata.labels) == ("web-x7", "u", {"a": "b"})
    changed = before_it_is_named(named(), None, mutate)
    assert changed is not None and (changed.metadata.name, changed.metadata.uid) == ("web-x7", "u")
    assert seen == [("", ""), ("web-x7", "u")]


def test_a_mutation_may_set_the_name() -> None:
    def mutate(obj: KubeObject) -> KubeObject:
        made: KubeObject = deepcopy(obj)
        made.metadata.name = "chosen"
        return made

    made = before_it_is_named(named(), GIVEN, mutate)
    assert made is not None and (made.metadata.name, made.metadata.uid) == ("chosen", "u")


def test_no_change_returns_none_and_leaves_the_object() -> None:
    obj = named()
    assert before_it_is_named(obj, GIVEN, lambda seen: seen) is None
    assert before_it_is_named(obj, None, lambda seen: seen) is None
    assert (obj.metadata.name, obj.metadata.uid) == ("web-x7", "u")


@pytest.mark.parametrize(("namespace", "moved"), [("", False), ("default", False), ("other", True)])
def test_the_namespace_of_the_request_stays(namespace: str, moved: bool) -> None:
    """Source: EnsureObjectNamespaceMatchesRequestNamespace."""

    def mutate(obj: KubeObject) -> KubeObject:
        made: KubeObject = deepcopy(obj)
        made.metadata.namespace = namespace
        return made

    if moved:
        with pytest.raises(KitError, match="does not match the namespace sent on the request"):
            before_it_is_named(named(), None, mutate)
    else:
        made = before_it_is_named(named(), None, mutate)
        assert made is not None and made.metadata.namespace == "default"


def test_a_plugin_that_overrides_nothing_allows_everything() -> None:
    about, around = write(pod())
    plugin = AdmissionPlugin()
    assert (plugin.admit(about, around), plugin.admit_again(about, around)) == (None, None)
    assert plugin.asks_again() is False
    plugin.validate(about, around)
    assert around.warnings == []
