"""Workloads: replicas, selectors, templates, strategies, and what an update keeps."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.apps import DaemonSet, Deployment, ReplicaSet, StatefulSet
from kitlib.api.core import PodTemplate, ReplicationController
from kitlib.api.meta import KubeObject
from kitlib.api.names import LABEL_TEXT, PERCENT_TEXT, SUBDOMAIN_TEXT
from kitlib.apiserver.validation import workloads
from tests.apiserver.validation.told import named, told

NEGATIVE = "Invalid must be greater than or equal to 0"
NO_MATCH = "template.metadata.labels Invalid `selector` does not match template `labels`"
IMMUTABLE = "selector Invalid field is immutable"
CONTAINER = {"name": "c", "image": "x", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}
SELECTOR = {"matchLabels": {"a": "b"}}
KINDS: dict[type[KubeObject], dict[str, Any]] = {
    Deployment: {"strategy": {"type": "Recreate"}},
    ReplicaSet: {},
    StatefulSet: {"podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"}},
    DaemonSet: {"updateStrategy": {"type": "OnDelete"}},
    ReplicationController: {"replicas": 1},
}
"""A kind -> the fields that it needs besides selector and template."""
SELECTING = [kind for kind in KINDS if kind is not ReplicationController]
FROZEN = (
    "spec Forbidden updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
    "forbidden"
)


def template(labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    needed = {"terminationGracePeriodSeconds": 30, "restartPolicy": "Always", "dnsPolicy": "ClusterFirst"}
    meta = {"labels": {"a": "b"} if labels is None else labels}
    return {"metadata": meta, "spec": {"containers": [CONTAINER], **needed, **spec}}


def made(kind: type[KubeObject], **fields: Any) -> Any:
    selector: dict[str, Any] = {"a": "b"} if kind is ReplicationController else SELECTOR
    return named(kind, "w", "n", spec={**KINDS[kind], "selector": selector, "template": template(), **fields})


def errors(obj: Any, old: Any = None) -> list[str]:
    create, update = workloads.KINDS[type(obj)]
    assert update is not None
    found = create(obj) if old is None else update(obj, old)
    return [text.removeprefix("spec.") for text in told(found)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(kind: type[KubeObject]) -> None:
    """Metadata, a template that is checked as a pod's, and pods that run for ever."""
    good = made(kind)
    assert errors(good) == errors(good, good) == []
    wrong = made(kind, template=template(containers=[]))
    assert errors(wrong) == ["template.spec.containers Required"]
    nameless, renamed = made(kind), made(kind)
    nameless.metadata.name, renamed.metadata.name = "", "v"
    assert errors(nameless) == ["metadata.name Required name or generateName is required"]
    assert errors(renamed, good) == ["metadata.name Invalid field is immutable"]
    once = errors(made(kind, template=template(restartPolicy="OnFailure", activeDeadlineSeconds=1)))
    name = "ReplicaSet" if kind is Deployment else kind.__name__
    assert once == [
        'template.spec.restartPolicy NotSupported supported values: "Always"',
        f"template.spec.activeDeadlineSeconds Forbidden activeDeadlineSeconds in {name} is not Supported",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers(kind: type[KubeObject]) -> None:
    names = ["minReadySeconds", *(["replicas"] if kind is not DaemonSet else [])]
    names += ["revisionHistoryLimit"] if kind in (Deployment, DaemonSet) else []
    for name in names:
        assert errors(made(kind, **{name: 0})) == []
        assert errors(made(kind, **{name: -1})) == [f"{name} {NEGATIVE}"]


def test_the_order_of_numbers() -> None:
    negative = {"replicas": -1, "minReadySeconds": -2, "revisionHistoryLimit": -1, "progressDeadlineSeconds": -1}
    assert errors(made(Deployment, **negative)) == [
        f"{name} {NEGATIVE}"
        for name in ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    ]
    for kind in (ReplicaSet, StatefulSet):
        found = errors(made(kind, replicas=-1, minReadySeconds=-1))
        assert found == [f"replicas {NEGATIVE}", f"minReadySeconds {NEGATIVE}"]
    found = errors(made(ReplicationController, replicas=-1, minReadySeconds=-1))
    assert found == [f"minReadySeconds {NEGATIVE}", f"replicas {NEGATIVE}"]


@pytest.mark.parametrize(("ready", "deadline", "valid"), [(0, 1, True), (0, 0, False), (5, 5, False), (5, 6, True)])
def test_the_deadline_of_progress(ready: int, deadline: int, valid: bool) -> None:
    """Source: ValidateDeploymentSpec."""
    found = errors(made(Deployment, minReadySeconds=ready, progressDeadlineSeconds=deadline))
    text = "progressDeadlineSeconds Invalid must be greater than minReadySeconds"
    assert found == ([] if valid else [text])


EMPTY = {Deployment: "deployment", ReplicaSet: "deployment", StatefulSet: "statefulset", DaemonSet: "daemonset"}


@pytest.mark.parametrize("kind", SELECTING)
def test_selectors(kind: type[KubeObject]) -> None:
    """A ReplicaSet's message names a deployment. Source: ValidateReplicaSetSpec."""
    text = f"selector Invalid empty selector is invalid for {EMPTY[kind]}"
    assert errors(made(kind, selector={})) == [text]
    expressions = [{"key": "a", "operator": "In", "values": ["b", "c"]}]
    assert errors(made(kind, selector={"matchExpressions": expressions})) == []
    assert errors(made(kind, template=template({"a": "c"}))) == [NO_MATCH]
    assert errors(made(kind, template=template({}))) == [NO_MATCH]
    both = {**SELECTOR, "matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}
    assert errors(made(kind, selector=both)) == [NO_MATCH]


@pytest.mark.parametrize("kind", SELECTING)
def test_no_selector(kind: type[KubeObject]) -> None:
    """No template matches a missing selector. Source: LabelSelectorAsSelector(nil), which is labels.Nothing."""
    assert errors(made(kind, selector=None)) == ([] if kind is DaemonSet else ["selector Required"]) + [NO_MATCH]


@pytest.mark.parametrize("kind", SELECTING)
def test_selectors_that_cannot_be_parsed(kind: type[KubeObject]) -> None:
    """The template is not checked with them, but for a DaemonSet's."""
    wrong = {"matchExpressions": [{"key": "a", "operator": "x"}]}
    found = errors(made(kind, selector=wrong, template=template(containers=[])))
    assert found[0] == "selector.matchExpressions[0].operator Invalid not a valid selector operator"
    last = {
        Deployment: "selector Invalid invalid label selector",
        ReplicaSet: "selector Invalid invalid label selector",
        StatefulSet: "selector Invalid",
        DaemonSet: "template.spec.containers Required",
    }
    assert found[1:] == [last[kind]]


@pytest.mark.parametrize("kind", SELECTING)
def test_the_selector_is_kept(kind: type[KubeObject]) -> None:
    old = made(kind)
    new = made(kind, selector={"matchLabels": {"a": "c"}}, template=template({"a": "c"}))
    assert errors(new, old) == [FROZEN if kind is StatefulSet else IMMUTABLE]


def test_replication_controllers() -> None:
    """Source: ValidateReplicationControllerSpec, ValidatePodTemplateSpecForRC."""
    assert errors(made(ReplicationController, selector={})) == ["selector Required"]
    assert errors(made(ReplicationController, template=None)) == ["template Required"]
    assert errors(made(ReplicationController, selector={"a": "c"})) == [NO_MATCH]
    assert errors(made(ReplicationController, template=template({"a": "b", "c": "d"}))) == []
    found = errors(made(ReplicationController, selector={"a": "b", "c": "d"}))
    assert found == [NO_MATCH]
    other = made(ReplicationController, selector={"a": "c"}, template=template({"a": "c"}))
    assert errors(other, made(ReplicationController)) == [], "the selector may change"


# Strategies.

UNSUPPORTED: dict[type[KubeObject], str] = {
    Deployment: 'NotSupported supported values: "Recreate", "RollingUpdate"',
    DaemonSet: 'NotSupported supported values: "RollingUpdate", "OnDelete"',
    StatefulSet: "Invalid must be 'RollingUpdate' or 'OnDelete'",
}
FIELDS = {Deployment: "strategy", DaemonSet: "updateStrategy", StatefulSet: "updateStrategy"}


def strategy(kind: type[KubeObject], type_: str, rolling: Any = None) -> list[str]:
    name = FIELDS[kind]
    found = errors(made(kind, **{name: {"type": type_, "rollingUpdate": rolling}}))
    return [text.removeprefix(name).removeprefix(".rollingUpdate.").removeprefix(".") for text in found]


def test_types_of_strategies() -> None:
    for kind, text in UNSUPPORTED.items():
        assert strategy(kind, "x", {}) == [f" {text}"]
    assert strategy(Deployment, "") == [f" {UNSUPPORTED[Deployment]}"]
    assert strategy(DaemonSet, "Recreate") == [f" {UNSUPPORTED[DaemonSet]}"]
    assert strategy(StatefulSet, "") == [" Required"]
    assert strategy(Deployment, "RollingUpdate") == ["rollingUpdate Required this should be defaulted and never be nil"]
    assert strategy(DaemonSet, "RollingUpdate") == ["rollingUpdate Required"]
    assert strategy(StatefulSet, "RollingUpdate") == strategy(StatefulSet, "OnDelete") == []
    text = "may not be specified when strategy `type` is 'Recreate'"
    assert strategy(Deployment, "Recreate", {}) == [f"rollingUpdate Forbidden {text}"]
    text = "rollingUpdate Invalid only allowed for updateStrategy 'RollingUpdate'"
    assert strategy(StatefulSet, "OnDelete", {}) == [text]
    assert strategy(DaemonSet, "OnDelete", {"maxSurge": "x"}) == [], "not looked at"


def test_a_strategy_in_a_message() -> None:
    """A strategy is shown as Go prints it, with 0 for unset numbers."""
    for kind, rolling, shown in (
        (Deployment, {"maxSurge": "5%"}, '{"MaxUnavailable":0,"MaxSurge":"5%"}'),
        (DaemonSet, None, "null"),
        (StatefulSet, {}, '{"Partition":0,"MaxUnavailable":null}'),
        (StatefulSet, {"partition": 2, "maxUnavailable": 1}, '{"Partition":2,"MaxUnavailable":1}'),
    ):
        obj = made(kind, **{FIELDS[kind]: {"type": "x", "rollingUpdate": rolling}})
        [error] = workloads.KINDS[kind][0](obj)
        assert f'value: {{"Type":"x","RollingUpdate":{shown}}}: ' in str(error)


NOT_PERCENT, MORE = f"Invalid {PERCENT_TEXT}", "Invalid must not be greater than 100%"
ZERO = "maxUnavailable Invalid may not be 0 when `maxSurge` is 0"


@pytest.mark.parametrize(
    ("unavailable", "surge", "expected"),
    [
        (1, 0, []),
        (0, 1, []),
        (1, 1, []),
        ("1%", "0%", []),
        ("100%", None, []),
        (None, "200%", []),
        (0, 0, [ZERO]),
        (None, None, [ZERO]),
        ("0%", 0, [ZERO]),
        ("00%", "0%", [ZERO]),
        ("101%", 0, [f"maxUnavailable {MORE}"]),
        (-1, -2, [f"maxUnavailable {NEGATIVE}", f"maxSurge {NEGATIVE}"]),
        ("5", "x", [f"maxUnavailable {NOT_PERCENT}", f"maxSurge {NOT_PERCENT}"]),
        ("0", "x", [f"maxUnavailable {NOT_PERCENT}", f"maxSurge {NOT_PERCENT}", ZERO]),
    ],
)
def test_a_rolling_update_of_a_deployment(unavailable: Any, surge: Any, expected: list[str]) -> None:
    """Source: ValidateRollingUpdateDeployment, getIntOrPercentValue."""
    assert strategy(Deployment, "RollingUpdate", {"maxUnavailable": unavailable, "maxSurge": surge}) == expected


NONE, BOTH = (
    "maxUnavailable Required cannot be 0 when maxSurge is 0",
    "maxSurge Invalid may not be set when maxUnavailable is non-zero",
)


@pytest.mark.parametrize(
    ("unavailable", "surge", "expected"),
    [
        (1, 0, []),
        (0, "100%", []),
        ("100%", "0%", []),
        (1, None, []),
        (None, None, [NONE]),
        ("0%", 0, [NONE]),
        (1, 1, [BOTH]),
        ("101%", "101%", [f"maxUnavailable {MORE}", f"maxSurge {MORE}", BOTH]),
        (-1, 0, [f"maxUnavailable {NEGATIVE}"]),
        ("x", -1, [f"maxUnavailable {NOT_PERCENT}", f"maxSurge {NEGATIVE}"]),
    ],
)
def test_a_rolling_update_of_a_daemon_set(unavailable: Any, surge: Any, expected: list[str]) -> None:
    """Source: ValidateRollingUpdateDaemonSet."""
    assert strategy(DaemonSet, "RollingUpdate", {"maxUnavailable": unavailable, "maxSurge": surge}) == expected


@pytest.mark.parametrize(
    ("rolling", "expected"),
    [
        ({}, []),
        ({"partition": 0, "maxUnavailable": 1}, []),
        ({"maxUnavailable": "100%"}, []),
        ({"partition": -1, "maxUnavailable": 0}, [f"partition {NEGATIVE}", "maxUnavailable Invalid cannot be 0"]),
        ({"maxUnavailable": "0%"}, ["maxUnavailable Invalid cannot be 0"]),
        ({"maxUnavailable": "101%"}, [f"maxUnavailable {MORE}"]),
        ({"maxUnavailable": -1}, [f"maxUnavailable {NEGATIVE}"]),
        ({"maxUnavailable": "x"}, [f"maxUnavailable {NOT_PERCENT}", "maxUnavailable Invalid cannot be 0"]),
    ],
)
def test_a_rolling_update_of_a_stateful_set(rolling: dict[str, Any], expected: list[str]) -> None:
    """Source: validateRollingUpdateStatefulSet."""
    assert strategy(StatefulSet, "RollingUpdate", rolling) == expected


# StatefulSets.


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"podManagementPolicy": "OrderedReady"}, []),
        ({"podManagementPolicy": ""}, ["podManagementPolicy Required"]),
        ({"podManagementPolicy": "x"}, ["podManagementPolicy Invalid must be 'OrderedReady' or 'Parallel'"]),
        ({"ordinals": {"start": 0}, "serviceName": "a"}, []),
        ({"ordinals": {"start": -1}}, [f"ordinals.start {NEGATIVE}"]),
        ({"serviceName": "A"}, [f"serviceName Invalid {LABEL_TEXT}"]),
        ({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"}}, []),
        (
            {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "x"}},
            [
                f'persistentVolumeClaimRetentionPolicy.{name} NotSupported supported values: "Retain", "Delete"'
                for name in ("whenDeleted", "whenScaled")
            ],
        ),
    ],
)
def test_fields_of_a_stateful_set(fields: dict[str, Any], expected: list[str]) -> None:
    """Source: ValidateStatefulSetSpec."""
    assert errors(made(StatefulSet, **fields)) == expected


def claim(name: str, size: str = "1") -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"metadata": {"name": name}, "spec": spec}


def test_claim_templates_are_volumes_of_the_pods() -> None:
    """A claim takes the place of a volume of its name. Source: volumesToAddForTemplates."""
    mounted = [{**CONTAINER, "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]
    lost = ["template.spec.containers[0].volumeMounts[0].name NotFound"]
    assert errors(made(StatefulSet, template=template(containers=mounted))) == lost
    assert errors(made(StatefulSet, template=template(containers=mounted), volumeClaimTemplates=[claim("data")])) == []
    assert errors(made(StatefulSet, template=template(containers=mounted), volumeClaimTemplates=[claim("x")])) == lost
    wrong = template(containers=mounted, volumes=[{"name": "data", "hostPath": {"path": ""}}])
    assert errors(made(StatefulSet, template=wrong, volumeClaimTemplates=[claim("data")])) == []
    assert len(errors(made(StatefulSet, template=wrong))) > 0
    text = "volumeClaimTemplates[1].spec.resources[storage] Invalid must be greater than zero"
    assert errors(made(StatefulSet, volumeClaimTemplates=[claim("a"), claim("b", "0")])) == [text]


def test_the_name_of_a_stateful_set_is_a_label_of_its_pods() -> None:
    dotted = made(StatefulSet)
    dotted.metadata.name = "a.b"
    assert errors(dotted) == ["metadata.name Invalid must not contain dots"]
    for kind in KINDS:
        if kind is not StatefulSet:
            other = made(kind)
            other.metadata.name = "a.b"
            assert errors(other) == []
            other.metadata.name = "A"
            assert errors(other) == [f"metadata.name Invalid {SUBDOMAIN_TEXT}"]


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({"replicas": 5}, True),
        ({"ordinals": {"start": 1}}, True),
        ({"template": template({"a": "b", "c": "d"})}, True),
        ({"updateStrategy": {"type": "RollingUpdate"}}, True),
        ({"revisionHistoryLimit": 5}, True),
        ({"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"}}, True),
        ({"minReadySeconds": 5}, True),
        ({"serviceName": "b"}, False),
        ({"podManagementPolicy": "OrderedReady"}, False),
        ({"volumeClaimTemplates": [claim("a")]}, False),
    ],
)
def test_an_update_of_a_stateful_set(fields: dict[str, Any], allowed: bool) -> None:
    """Source: ValidateStatefulSetUpdate."""
    assert errors(made(StatefulSet, **fields), made(StatefulSet)) == ([] if allowed else [FROZEN])


def test_a_stored_service_name_is_not_checked_again() -> None:
    stored = made(StatefulSet, serviceName="A")
    assert errors(stored, stored) == []


def test_pod_templates() -> None:
    """Source: ValidatePodTemplate, ValidatePodTemplateUpdate."""
    create, update = workloads.KINDS[PodTemplate]
    assert update is not None
    good = named(PodTemplate, "t", "n", template=template())
    once = named(PodTemplate, "t", "n", template=template(restartPolicy="Never", activeDeadlineSeconds=1))
    assert create(good) == update(once, good) == create(once) == []
    wrong = named(PodTemplate, "T", template=template(containers=[]))
    text = "template.spec.containers Required"
    assert told(create(wrong)) == [f"metadata.name Invalid {SUBDOMAIN_TEXT}", "metadata.namespace Required", text]
    assert told(update(wrong, good)) == [
        "metadata.name Invalid field is immutable",
        "metadata.namespace Invalid field is immutable",
        text,
    ]
