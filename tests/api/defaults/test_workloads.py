"""Defaults of workloads: replicas, strategies, histories, Jobs; templates get those of pods, but no requests."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.defaults import set_defaults
from kitlib.api.serialize import from_dict, to_dict


def spec_of(kind: str, spec: dict[str, Any], version: str = "apps/v1") -> dict[str, Any]:
    """The specification of an object with its defaults."""
    made = set_defaults(from_dict({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}))
    return dict(to_dict(made).get("spec", {}))


TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x:1"}]}}


def without_template(kind: str, spec: dict[str, Any], version: str = "apps/v1") -> dict[str, Any]:
    made = spec_of(kind, {"template": TEMPLATE, **spec}, version)
    assert made.pop("template")["spec"]["restartPolicy"] == "Always"
    return made


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (
            "Deployment",
            {},
            {
                "progressDeadlineSeconds": 600,
                "replicas": 1,
                "revisionHistoryLimit": 10,
                "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}, "type": "RollingUpdate"},
            },
        ),
        (
            "Deployment",
            {
                "replicas": 0,
                "progressDeadlineSeconds": 1,
                "revisionHistoryLimit": 0,
                "strategy": {"rollingUpdate": {"maxSurge": 0}},
            },
            {
                "progressDeadlineSeconds": 1,
                "replicas": 0,
                "revisionHistoryLimit": 0,
                "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "25%"}, "type": "RollingUpdate"},
            },
        ),
        (
            "Deployment",
            {"strategy": {"type": "Recreate"}},
            {"progressDeadlineSeconds": 600, "replicas": 1, "revisionHistoryLimit": 10,
             "strategy": {"type": "Recreate"}},
        ),
        ("ReplicaSet", {}, {"replicas": 1}),
        ("ReplicaSet", {"replicas": 0}, {"replicas": 0}),
        (
            "DaemonSet",
            {},
            {
                "revisionHistoryLimit": 10,
                "updateStrategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}, "type": "RollingUpdate"},
            },
        ),
        (
            "DaemonSet",
            {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 2}}},
            {
                "revisionHistoryLimit": 10,
                "updateStrategy": {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}, "type": "RollingUpdate"},
            },
        ),
        (
            "StatefulSet",
            {},
            {
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
                "podManagementPolicy": "OrderedReady",
                "replicas": 1,
                "revisionHistoryLimit": 10,
                "updateStrategy": {"rollingUpdate": {"partition": 0}, "type": "RollingUpdate"},
            },
        ),
        (
            "StatefulSet",
            {"updateStrategy": {"type": "OnDelete"}, "replicas": 0, "podManagementPolicy": "Parallel",
             "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}},
            {
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Delete"},
                "podManagementPolicy": "Parallel",
                "replicas": 0,
                "revisionHistoryLimit": 10,
                "updateStrategy": {"type": "OnDelete"},
            },
        ),
    ],
)  # fmt: skip
def test_a_workload(kind: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    """Source: pkg/apis/apps/v1/defaults.go."""
    made = without_template(kind, given)
    assert {name: value for name, value in made.items() if name not in ("selector", "serviceName")} == expected


JOB = {"backoffLimit": 6, "completionMode": "NonIndexed", "completions": 1, "manualSelector": False, "parallelism": 1,
       "podReplacementPolicy": "TerminatingOrFailed", "suspend": False}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "changes"),
    [
        ({}, {}),
        ({"parallelism": 3}, {"parallelism": 3, "completions": None}),
        ({"completions": 3}, {"completions": 3, "parallelism": 1}),
        ({"parallelism": 0, "completions": 2}, {"parallelism": 0, "completions": 2}),
        ({"backoffLimit": 0}, {"backoffLimit": 0}),
        ({"backoffLimitPerIndex": 1}, {"backoffLimit": 2**31 - 1, "backoffLimitPerIndex": 1}),
        ({"suspend": True, "completionMode": "Indexed"}, {"suspend": True, "completionMode": "Indexed"}),
    ],
)
def test_a_job(given: dict[str, Any], changes: dict[str, Any]) -> None:
    """Source: batch/v1 SetDefaults_Job."""
    expected = {name: value for name, value in {**JOB, **changes}.items() if value is not None}
    assert without_template("Job", given, "batch/v1") == expected


def test_a_jobs_failure_policy() -> None:
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    made = without_template("Job", {"podFailurePolicy": policy}, "batch/v1")
    assert made["podReplacementPolicy"] == "Failed"
    assert made["podFailurePolicy"]["rules"][0]["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]


def test_a_cron_job() -> None:
    made = spec_of("CronJob", {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}}, "batch/v1")
    assert "backoffLimit" not in made["jobTemplate"]["spec"]
    assert made.pop("jobTemplate")["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
    assert made == {
        "concurrencyPolicy": "Allow",
        "failedJobsHistoryLimit": 1,
        "schedule": "* * * * *",
        "successfulJobsHistoryLimit": 3,
        "suspend": False,
    }


def test_a_template_gets_no_requests_from_limits() -> None:
    limited = {"name": "c", "image": "x", "resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 80}]}
    template = {**TEMPLATE, "spec": {"containers": [limited], "hostNetwork": True}}
    (one,) = spec_of("Deployment", {"template": template})["template"]["spec"]["containers"]
    assert one["resources"] == {"limits": {"cpu": "1"}}
    assert one["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


def test_a_replication_controller_has_its_templates_labels() -> None:
    made = spec_of("ReplicationController", {"template": TEMPLATE}, "v1")
    assert (made["selector"], made["replicas"]) == ({"a": "b"}, 1)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        ({"type": "RollingUpdate"}, {"type": "RollingUpdate"}),
        ({"type": "RollingUpdate", "rollingUpdate": {}}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        ({"type": "OnDelete"}, {"type": "OnDelete"}),
        ({"rollingUpdate": {"partition": 3}}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 3}}),
    ],
)
def test_the_update_strategy_of_a_stateful_set(given: dict[str, Any], expected: dict[str, Any]) -> None:
    """Source: SetDefaults_StatefulSet."""
    data = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "s"},
        "spec": {"updateStrategy": given},
    }
    made: Any = set_defaults(from_dict(data))
    assert to_dict(made.spec.update_strategy) == expected
