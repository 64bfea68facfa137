"""Single rules of validation that no recorded case holds: manifest, field errors as the API server prints them."""

from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict
from kitlib.apiserver.validation import validate

APPARMOR = "container.apparmor.security.beta.kubernetes.io"
POD_SPEC: dict[str, Any] = {"containers": [{"name": "c", "image": "img"}]}
JOB_POD = {"spec": {**POD_SPEC, "restartPolicy": "Never"}}


def problems(data: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    def made(one: dict[str, Any]) -> Any:
        obj = set_defaults(from_dict(one, strict=True))
        if obj.kind != "Node":
            obj.metadata.namespace = obj.metadata.namespace or "default"
        return obj

    return [str(error) for error in validate(made(data), made(old) if old is not None else None)]


def pod(annotations: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": annotations}, "spec": POD_SPEC}


def failure_rule(**rule: Any) -> dict[str, Any]:
    policy = {"rules": [{"action": "Ignore", **rule}]}
    return cron(template=JOB_POD, podFailurePolicy=policy)


def cron(zone: str | None = None, schedule: str = "* * * * *", **job: Any) -> dict[str, Any]:
    spec = {"schedule": schedule, "timeZone": zone, "jobTemplate": {"spec": {"template": JOB_POD, **job}}}
    return {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "c"}, "spec": spec}


AVOID = "scheduler.alpha.kubernetes.io/preferAvoidPods"


def avoiding(text: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "annotations": {AVOID: text}}}


def lease(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": spec}


RULE = "spec.jobTemplate.spec.podFailurePolicy.rules[0]"
NEW: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a mirror pod without a node": (
        pod({"kubernetes.io/config.mirror": "x"}),
        [
            'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": '
            "must set spec.nodeName if mirror pod annotation is set"
        ],
    ),
    "an unknown seccomp profile in an annotation": (
        pod({"seccomp.security.alpha.kubernetes.io/pod": "x"}),
        [
            'metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "x": '
            "must be a valid seccomp profile"
        ],
    ),
    "a local seccomp profile that leaves its folder": (
        pod({"container.seccomp.security.alpha.kubernetes.io/c": "localhost/../x"}),
        [
            "metadata.annotations.container.seccomp.security.alpha.kubernetes.io/c: "
            "Invalid value: \"../x\": must not contain '..'"
        ],
    ),
    "an AppArmor profile of no container, in no known form": (
        pod({f"{APPARMOR}/z": "x"}),
        [
            f'metadata.annotations[{APPARMOR}/z]: Invalid value: "z": container not found',
            f'metadata.annotations[{APPARMOR}/z]: Invalid value: "x": invalid AppArmor profile name: "x"',
        ],
    ),
    "a pod failure rule without an operator": (
        failure_rule(onExitCodes={"values": [1]}),
        [f'{RULE}.onExitCodes.operator: Required value: valid values: ["In" "NotIn"]'],
    ),
    "an autoscaler with an empty list of policies": (
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h"},
            "spec": {
                "maxReplicas": 2,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                "behavior": {"scaleUp": {"policies": []}},
            },
        },
        ["spec.behavior.scaleUp.policies: Required value: must specify at least one Policy"],
    ),
    "a time zone that leaves its folder": (
        cron("../x"),
        ['spec.timeZone: Invalid value: "../x": unknown time zone ../x'],
    ),
    "the machine's own time zone": (
        cron("Local"),
        [
            'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in '
            "https://www.iana.org/time-zones"
        ],
    ),
    "finalizers of a budget need no domain": (
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "finalizers": ["x"]},
            "spec": {"minAvailable": 1},
        },
        [],
    ),
    "a node that avoids pods of a controller": (
        avoiding('{"preferAvoidPods": [{"podSignature": {"podController": {"controller": true}}}]}'),
        [],
    ),
    "a node that avoids pods of an owner that is no controller, and of nothing": (
        avoiding('{"preferAvoidPods": [{"podSignature": {"podController": {"controller": false}}}, {}]}'),
        [
            f"metadata.annotations.{AVOID}[0].PodSignature.PodController.Controller: Invalid value: false: must point "
            "to a controller",
            f"metadata.annotations.{AVOID}[1].PodSignature: Required value",
        ],
    ),
    "a Lease with a strategy that nobody knows": (
        lease(strategy="Newest"),
        ['spec.strategy.strategy: Unsupported value: "Newest": supported values: "OldestEmulationVersion"'],
    ),
    "a Lease with a strategy of its own": (lease(strategy="example.com/mine", preferredHolder="a"), []),
    "a Lease whose holder is preferred without a strategy": (
        lease(preferredHolder="a"),
        ["spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"],
    ),
    "null in a map is the empty text, and in a list the zero value": (
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "labels": {"a": None}},
            "spec": {"nodeSelector": {"b": None}, "containers": [{"name": "c", "image": "i", "args": [None]}, None]},
        },
        ["spec.containers[1].name: Required value", "spec.containers[1].image: Required value"],
    ),
}


@pytest.mark.parametrize(("data", "expected"), NEW.values(), ids=NEW.keys())
def test_a_new_object(data: dict[str, Any], expected: list[str]) -> None:
    assert problems(data) == expected


def job(suspend: bool = False, *, template: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    status = spec.pop("status", {})
    labels = {"a": "b"}
    made = {"metadata": {"labels": labels}, "spec": {**JOB_POD["spec"], **(template or {})}}
    fixed = {"manualSelector": True, "selector": {"matchLabels": labels}, "suspend": suspend, "template": made}
    data = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {**fixed, **spec}}
    return {**data, "status": status}


INDEXED = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}
ON_DISK = {"nodeSelector": {"disk": "ssd"}}
STARTED = {"startTime": "2030-01-01T00:00:00Z"}
STOPPED = {**STARTED, "conditions": [{"type": "Suspended", "status": "True"}]}
BIGGER = {"containers": [{"name": "c", "image": "img", "resources": {"requests": {"cpu": "2"}}}]}
NEAR = {
    "affinity": {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
            ]
        }
    }
}
CHANGED: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "an Indexed Job grows with its parallelism": (
        job(**INDEXED),
        job(**{**INDEXED, "completions": 5, "parallelism": 5}),
        [],
    ),
    "an Indexed Job grows without its parallelism": (
        job(**INDEXED),
        job(**{**INDEXED, "completions": 5}),
        ["spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism"],
    ),
    "other completions stay": (
        job(completions=3),
        job(completions=5),
        ["spec.completions: Invalid value: 5: field is immutable"],
    ),
    "a suspended Job that never ran may go to other nodes": (job(True), job(True, template=ON_DISK), []),
    "a suspended Job that ran may, once it is stopped": (
        job(True, status=STOPPED),
        job(True, template=ON_DISK, status=STOPPED),
        [],
    ),
    "a suspended Job may ask for more": (job(True), job(True, template=BIGGER), []),
    "a schedule keeps the time zone that it had": (
        cron(schedule="TZ=UTC * * * * *"),
        cron(schedule="TZ=UTC * * * * *"),
        [],
    ),
    "but not beside a time zone": (
        cron(schedule="TZ=UTC * * * * *"),
        cron("Etc/UTC", schedule="TZ=UTC * * * * *"),
        [
            'spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use both timeZone field and TZ or CRON_TZ in '
            "schedule"
        ],
    ),
    "a time zone that was stored is not checked again": (cron("Mars/Base"), cron("Mars/Base"), []),
}


@pytest.mark.parametrize(("old", "new", "expected"), CHANGED.values(), ids=CHANGED.keys())
def test_a_change(old: dict[str, Any], new: dict[str, Any], expected: list[str]) -> None:
    assert problems(new, old) == expected


@pytest.mark.parametrize(("old", "template"), [(job(status=STARTED), ON_DISK), (job(True), NEAR), (job(), BIGGER)])
def test_the_rest_of_a_jobs_template_stays(old: dict[str, Any], template: dict[str, Any]) -> None:
    new = job(old["spec"]["suspend"], template=template, status=old["status"])
    (problem,) = problems(new, old)
    assert problem.startswith("spec.template: Invalid value: {")
    assert problem.endswith("}: field is immutable")


def autoscaler(**target: str) -> dict[str, Any]:
    reference = {"kind": "Deployment", "name": "d", **target}
    spec = {"maxReplicas": 2, "scaleTargetRef": reference}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}, "spec": spec}


TARGETS: dict[str, tuple[dict[str, str], list[str]]] = {
    "the group is missing": (
        {"apiVersion": "v1"},
        ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
    ),
    "only ReplicationControllers have none": ({"apiVersion": "v1", "kind": "ReplicationController"}, []),
    "a version of three parts": (
        {"apiVersion": "a/b/c"},
        ['spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
    ),
}


@pytest.mark.parametrize(("target", "expected"), TARGETS.values(), ids=TARGETS.keys())
def test_the_target_of_an_autoscaler(target: dict[str, str], expected: list[str]) -> None:
    assert problems(autoscaler(**target)) == expected


def test_a_stateful_set_may_keep_every_revision() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "revisionHistoryLimit": -1}
    assert problems({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"}, "spec": spec}) == []


def revision(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "r"}, **fields}


REVISIONS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "complete": (revision(revision=1, data={"spec": {}}), []),
    "without data": (revision(revision=1), ["data: Required value: data is mandatory"]),
    "a negative number": (
        revision(revision=-1, data={"spec": {}}),
        ["revision: Invalid value: -1: must be greater than or equal to 0"],
    ),
}


@pytest.mark.parametrize(("data", "expected"), REVISIONS.values(), ids=REVISIONS.keys())
def test_controller_revisions(data: dict[str, Any], expected: list[str]) -> None:
    assert problems(data) == expected


def test_the_data_of_a_controller_revision_stays() -> None:
    old, new = revision(revision=1, data={"a": 1}), revision(revision=1, data={"a": 2})
    assert problems(new, old) == ['data: Invalid value: {"a":2}: field is immutable']


@pytest.mark.parametrize(
    ("annotation", "found"),
    [
        ("", []),
        ('[{"key": "a", "operator": "Exists"}]', []),
        (
            '[{"key": "a", "operator": "Exists", "value": "b"}]',
            [
                "metadata.annotations.scheduler.alpha.kubernetes.io/tolerations[0].operator: Invalid value: "
                "\"b\": value must be empty when `operator` is 'Exists'"
            ],
        ),
    ],
)
def test_tolerations_in_the_old_annotation_are_checked_too(annotation: str, found: list[str]) -> None:
    meta = {
        "name": "p",
        "namespace": "default",
        "annotations": {"scheduler.alpha.kubernetes.io/tolerations": annotation},
    }
    spec = {"containers": [{"name": "c", "image": "i"}]}
    made = set_defaults(from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}))
    assert [str(error) for error in validate(made)] == found
