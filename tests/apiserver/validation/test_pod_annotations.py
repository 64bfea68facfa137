"""Annotations of pods that the API server interprets: values, and updates."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation.pod_annotations import (
    validate_annotations_and_fields_match,
    validate_pod_specific_annotation_updates,
    validate_pod_specific_annotations,
)

APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
COST = "controller.kubernetes.io/pod-deletion-cost"
MIRROR = "kubernetes.io/config.mirror"
TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"


def pod(annotations: dict[str, str], **spec: Any) -> Pod:
    given = {
        "initContainers": [{"name": "i"}],
        "containers": [{"name": "c"}],
        "ephemeralContainers": [{"name": "e"}],
        **spec,
    }
    return from_dict({"metadata": {"name": "p", "annotations": annotations}, "spec": given}, Pod)


def told(made: Pod) -> list[str]:
    return [str(error) for error in validate_pod_specific_annotations(made.metadata, made.spec, "f")]


@pytest.mark.parametrize("cost", ["0", "1", "-1", "10", "2147483647", "-2147483648"])
def test_a_deletion_cost_is_a_whole_number_of_32_bits(cost: str) -> None:
    assert told(pod({COST: cost})) == []


@pytest.mark.parametrize("cost", ["", "01", "-0", "+1", "1.5", "x", "2147483648", "-2147483649", " 1", "1\n"])
def test_other_deletion_costs_are_refused(cost: str) -> None:
    (error,) = told(pod({COST: cost}))
    assert error.startswith(f"f[{COST}]: Invalid value")
    assert error.endswith("must be a 32bit integer")


@pytest.mark.parametrize(("node", "refused"), [("", True), ("n", False)])
def test_a_mirror_pod_is_on_a_node(node: str, refused: bool) -> None:
    assert bool(told(pod({MIRROR: ""}, nodeName=node))) is refused
    assert told(pod({}, nodeName=node)) == []


@pytest.mark.parametrize("key", [SECCOMP_POD, SECCOMP + "c"])
@pytest.mark.parametrize(
    ("profile", "valid"),
    [("runtime/default", True), ("docker/default", True), ("unconfined", True), ("localhost/a/b", True),
     ("localhost/../b", False), ("localhost//b", False), ("localhost", False), ("", False), ("x", False)],
)  # fmt: skip
def test_seccomp_profiles(key: str, profile: str, valid: bool) -> None:
    found = told(pod({key: profile}))
    assert bool(found) is not valid
    assert all(error.startswith(f"f.{key}: ") for error in found)


@pytest.mark.parametrize(
    ("container", "profile", "problem"),
    [
        ("c", "runtime/default", ""),
        ("i", "unconfined", ""),
        ("e", "", ""),
        ("c", "localhost/a", ""),
        ("other", "unconfined", "container not found"),
        ("c", "docker/default", "invalid AppArmor profile name"),
        ("c", "local", "invalid AppArmor profile name"),
    ],
)
def test_apparmor_profiles_of_any_container(container: str, profile: str, problem: str) -> None:
    found = told(pod({APPARMOR + container: profile}))
    assert len(found) == bool(problem)
    assert all(problem in error for error in found)


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        (json.dumps([{"key": "a", "operator": "Exists"}]), True),
        (json.dumps([{"key": "a", "operator": "Exists", "value": "v"}]), False),
        ("[]", True),
        ("", True),
        ("{", False),
        ('{"key": "a"}', False),
    ],
)
def test_tolerations_of_the_time_before_the_field(text: str, valid: bool) -> None:
    assert bool(told(pod({TOLERATIONS: text}))) is not valid


def profile(kind: str, name: str | None = None) -> dict[str, Any]:
    return {"type": kind, **({"localhostProfile": name} if name is not None else {})}


@pytest.mark.parametrize(
    ("what", "annotation", "field", "problem"),
    [
        ("seccomp", "unconfined", profile("Unconfined"), ""),
        ("seccomp", "runtime/default", profile("RuntimeDefault"), ""),
        ("seccomp", "docker/default", profile("RuntimeDefault"), ""),
        ("seccomp", "runtime/default", profile("Unconfined"), "type"),
        ("seccomp", "localhost/x", profile("Unconfined"), "type"),
        ("seccomp", "unconfined", profile("Localhost", "x"), "type"),
        ("seccomp", "localhost/x", profile("Localhost", "x"), ""),
        ("seccomp", "localhost/y", profile("Localhost", "x"), "localhostProfile"),
        ("seccomp", "anything", None, ""),
        ("seccomp", "anything", profile("Unknown"), ""),
        ("appArmor", "docker/default", profile("RuntimeDefault"), "type"),
        ("appArmor", "runtime/default", profile("RuntimeDefault"), ""),
        ("appArmor", "unconfined", None, ""),
    ],
)
@pytest.mark.parametrize("where", ["i", "c", "e"])
def test_annotation_and_field_of_a_container_agree(
    where: str, what: str, annotation: str, field: dict[str, Any] | None, problem: str
) -> None:
    """Source: validateSeccompAnnotationsAndFieldsMatch."""
    lists = {"i": "initContainers", "c": "containers", "e": "ephemeralContainers"}
    own = {"name": where, "securityContext": {f"{what}Profile": field} if field else {}}
    key = (SECCOMP if what == "seccomp" else APPARMOR) + where
    made = pod({key: annotation}, **{lists[where]: [own]})
    found = [str(error) for error in validate_annotations_and_fields_match(made.metadata, made.spec, "spec")]
    place = f"spec.{lists[where]}[0].securityContext.{what}Profile.{problem}: Forbidden"
    assert [error.startswith(place) for error in found] == [True] * bool(problem)
    assert not validate_annotations_and_fields_match(pod({}).metadata, made.spec, "spec")


def test_the_pods_apparmor_profile_counts_for_a_container_without_one_and_not_on_windows() -> None:
    of_pod = {"securityContext": {"appArmorProfile": profile("Unconfined")}}
    made = pod({APPARMOR + "c": "runtime/default"}, **of_pod)
    assert len(validate_annotations_and_fields_match(made.metadata, made.spec, "spec")) == 1
    own = {"containers": [{"name": "c", "securityContext": {"appArmorProfile": profile("RuntimeDefault")}}]}
    made = pod({APPARMOR + "c": "runtime/default"}, **of_pod, **own)
    assert validate_annotations_and_fields_match(made.metadata, made.spec, "spec") == []
    for system, count in (("windows", 0), ("linux", 1)):
        made = pod({APPARMOR + "c": "runtime/default"}, **of_pod, os={"name": system})
        assert len(validate_annotations_and_fields_match(made.metadata, made.spec, "spec")) == count


def test_the_pods_seccomp_profile_agrees_with_its_annotation() -> None:
    for kind, count in (("Unconfined", 0), ("RuntimeDefault", 1)):
        made = pod({SECCOMP_POD: "unconfined"}, securityContext={"seccompProfile": profile(kind)})
        assert len(validate_annotations_and_fields_match(made.metadata, made.spec, "spec")) == count
    without = pod({}, securityContext={"seccompProfile": profile("RuntimeDefault")})
    assert validate_annotations_and_fields_match(without.metadata, without.spec, "spec") == []


@pytest.mark.parametrize("key", [APPARMOR + "c", MIRROR])
@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        (None, None, ""),
        ("x", "x", ""),
        ("x", "y", "may not remove or update"),
        ("x", None, "may not remove or update"),
        (None, "x", "may not add"),
        ("", None, "may not remove or update"),
    ],
)
def test_what_is_interpreted_is_not_changed(key: str, before: str | None, after: str | None, problem: str) -> None:
    made = [pod({} if value is None else {key: value}) for value in (before, after)]
    found = [str(error) for error in validate_pod_specific_annotation_updates(made[1], made[0], "f")]
    assert len(found) == bool(problem)
    assert all(error.startswith(f"f[{key}]: Forbidden: {problem}") for error in found)
    assert all(("mirror pod annotation" in error) is (key == MIRROR) for error in found)


def test_other_annotations_may_change() -> None:
    assert validate_pod_specific_annotation_updates(pod({"a": "1", COST: "2"}), pod({"a": "2", "b": "1"}), "f") == []
