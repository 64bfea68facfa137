"""Pods refused and changed as upstream does it, in the order of its errors."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import deepcopy, from_dict
from kitlib.apiserver.validation import validate_pod_create
from kitlib.apiserver.validation.pod_update import validate_pod_update

MAIN = {"name": "main", "image": "nginx"}
SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
OF_MAIN = "container.seccomp.security.alpha.kubernetes.io/main"
APPARMOR = "container.apparmor.security.beta.kubernetes.io/main"
MATCH = "type in annotation and field must match"


def pod(annotations: dict[str, str] | None = None, **spec: Any) -> Pod:
    meta = {"name": "web", "namespace": "default", "annotations": annotations or {}}
    whole = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [dict(MAIN)], **spec}}
    return set_defaults(from_dict(whole))


def problems(one: Pod) -> list[str]:
    return [str(error) for error in validate_pod_create(one)]


def profile(kind: str, name: str | None = None) -> dict[str, str]:
    return {"type": kind, **({"localhostProfile": name} if name is not None else {})}


@pytest.mark.parametrize(
    ("annotations", "spec", "wanted"),
    [
        ({SECCOMP: "unconfined"}, {"seccompProfile": profile("Unconfined")}, []),
        ({SECCOMP: "docker/default"}, {"seccompProfile": profile("RuntimeDefault")}, []),
        ({SECCOMP: "localhost/a"}, {"seccompProfile": profile("Localhost", "a")}, []),
        (
            {SECCOMP: "unconfined"},
            {"seccompProfile": profile("RuntimeDefault")},
            [f"spec.securityContext.seccompProfile.type: Forbidden: seccomp {MATCH}"],
        ),
        (
            {SECCOMP: "localhost/a"},
            {"seccompProfile": profile("Localhost", "b")},
            [
                "spec.securityContext.seccompProfile.localhostProfile: Forbidden: "
                "seccomp profile in annotation and field must match"
            ],
        ),
        ({APPARMOR: "runtime/default"}, {"appArmorProfile": profile("RuntimeDefault")}, []),
        (
            {APPARMOR: "unconfined"},
            {"appArmorProfile": profile("Localhost", "a")},
            [f"spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor {MATCH}"],
        ),
        (
            {APPARMOR: "localhost/b"},
            {"appArmorProfile": profile("Localhost", "a")},
            [
                "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden: "
                "apparmor profile in annotation and field must match"
            ],
        ),
    ],
)
def test_a_profile_in_an_annotation_is_that_of_the_field(
    annotations: dict[str, str], spec: dict[str, Any], wanted: list[str]
) -> None:
    assert problems(pod(annotations, securityContext=spec)) == wanted


def test_a_containers_own_profile_is_compared_and_not_on_windows() -> None:
    own = {
        **MAIN,
        "securityContext": {"seccompProfile": profile("Unconfined"), "appArmorProfile": profile("Unconfined")},
    }
    made = pod({OF_MAIN: "runtime/default", APPARMOR: "runtime/default"}, containers=[own])
    place = "spec.containers[0].securityContext"
    seccomp = f"{place}.seccompProfile.type: Forbidden: seccomp {MATCH}"
    assert problems(made) == [seccomp, f"{place}.appArmorProfile.type: Forbidden: apparmor {MATCH}"]
    on_windows = pod({APPARMOR: "runtime/default"}, containers=[own], os={"name": "windows"})
    assert not [text for text in problems(on_windows) if MATCH in text]


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (
            {"dnsPolicy": "x"},
            '"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
        ),
        ({"containers": [{**MAIN, "terminationMessagePolicy": "x"}]}, '"File", "FallbackToLogsOnError"'),
    ],
)
def test_what_is_supported_is_listed_in_upstreams_order(spec: dict[str, Any], wanted: str) -> None:
    (said,) = problems(pod(**spec))
    assert said.endswith(f"supported values: {wanted}")


def test_any_init_container_may_have_a_resize_policy() -> None:
    policy = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    assert problems(pod(initContainers=[{"name": "first", "image": "x", "resizePolicy": policy}])) == []


def test_a_namespace_of_an_affinity_term_is_named_without_its_place() -> None:
    term = {"topologyKey": "zone", "namespaces": ["a", "B"], "labelSelector": {}}
    wanted = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    (said,) = problems(pod(affinity=wanted))
    assert said.startswith("spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace: ")


def test_what_a_windows_pod_has_not_is_told_in_upstreams_order() -> None:
    context = {
        "supplementalGroups": [1],
        "seLinuxOptions": {"user": "a"},
        "runAsUser": 1,
        "fsGroup": 1,
        "seccompProfile": profile("Unconfined"),
    }
    made = pod(os={"name": "windows"}, securityContext=context, hostPID=True, shareProcessNamespace=False)
    fields = [text.partition(":")[0].removeprefix("spec.").removeprefix("securityContext.") for text in problems(made)]
    wanted = "seLinuxOptions hostPID seccompProfile fsGroup shareProcessNamespace runAsUser supplementalGroups"
    assert fields == wanted.split()


def test_a_change_is_checked_as_a_new_pod_and_once_more() -> None:
    old = pod(activeDeadlineSeconds=10, tolerations=[{"key": "a", "operator": "Exists"}])
    new = deepcopy(old)
    new.spec.containers[0].image = " nginx"
    new.spec.tolerations[0].toleration_seconds = 5
    image = 'spec.containers[0].image: Invalid value: " nginx": must not have leading or trailing whitespace'
    effect = (
        "spec.tolerations[0].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set"
    )
    assert [str(error) for error in validate_pod_update(new, old)] == [effect, image, image, effect]


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        (10, 11, ["must be less than or equal to previous value"]),
        (None, -1, ["must be between 1 and 2147483647, inclusive", "must be between 0 and 2147483647, inclusive"]),
        (10, 5, []),
    ],
)
def test_a_deadline_out_of_range_ends_the_check(before: int | None, after: int, wanted: list[str]) -> None:
    old = pod(activeDeadlineSeconds=before)
    new = deepcopy(old)
    new.spec.active_deadline_seconds = after
    if wanted:
        new.spec.host_network = True  # not told any more
    said = [str(error).rpartition(": ")[2] for error in validate_pod_update(new, old)]
    assert said == wanted


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hostUsers", True),
        ("hostUsers", False),
        ("hostPID", True),
        ("hostIPC", True),
        ("shareProcessNamespace", True),
        ("securityContext.seLinuxOptions", {"user": "a"}),
        ("securityContext.seccompProfile", profile("Unconfined")),
        ("securityContext.appArmorProfile", profile("Unconfined")),
        ("securityContext.fsGroup", 1),
        ("securityContext.fsGroupChangePolicy", "Always"),
        ("securityContext.sysctls", [{"name": "net.core.somaxconn", "value": "1"}]),
        ("securityContext.runAsUser", 1),
        ("securityContext.runAsGroup", 1),
        ("securityContext.supplementalGroups", [1]),
        ("securityContext.supplementalGroupsPolicy", "Merge"),
    ],
)
def test_a_windows_pod_may_not_have_a_field_of_linux(field: str, value: Any) -> None:
    """Source: validation.validateWindows."""
    outer, _, inner = field.partition(".")
    spec = {outer: {inner: value} if inner else value}
    said = [text for text in problems(pod(os={"name": "windows"}, **spec)) if "windows pod" in text]
    assert said == [f"spec.{field}: Forbidden: cannot be set for a windows pod"]
    assert not [text for text in problems(pod(os={"name": "linux"}, **spec)) if "windows pod" in text]


@pytest.mark.parametrize("where", ["pod", "containers", "initContainers", "ephemeralContainers"])
def test_a_linux_pod_may_not_have_windows_options(where: str) -> None:
    """Source: validation.validateLinux."""
    own = {"securityContext": {"windowsOptions": {"runAsUserName": "a"}}}
    spec: dict[str, Any] = {"os": {"name": "linux"}}
    if where == "pod":
        spec |= own
    else:
        spec[where] = [{"name": "one", "image": "x", **own}]
    place = "spec" if where == "pod" else f"spec.{where}[0]"
    said = [text for text in problems(pod(**spec)) if "windows options" in text]
    assert said == [f"{place}.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod"]
    assert not [text for text in problems(pod(os={"name": "linux"})) if "windows options" in text]


@pytest.mark.parametrize(("account", "refused"), [("", True), ("default", False)])
def test_a_token_in_a_volume_needs_a_service_account(account: str, refused: bool) -> None:
    """Source: validatePodMetadataAndSpec."""
    token = {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
    said = [
        text for text in problems(pod(serviceAccountName=account, volumes=[token])) if "serviceAccountToken" in text
    ]
    assert bool(said) is refused
    assert all(
        text.startswith("spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: ") for text in said
    )
