"""Updates of Jobs: what stays, and what may change while a Job is suspended."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kitlib.api.batch import Job
from kitlib.api.defaults import set_defaults
from kitlib.apiserver.validation.job_update import validate_job_update
from tests.apiserver.validation.told import named, told

POD: dict[str, Any] = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"},
}


def job(status: Any = None, template: Any = None, **spec: Any) -> Job:
    whole = {"selector": {"matchLabels": {"a": "b"}}, "template": template or POD, **spec}
    made: Job = set_defaults(named(Job, "j", "n", spec=whole, status=status or {}))
    return made


def changed(**parts: Any) -> dict[str, Any]:
    made = copy.deepcopy(POD)
    made["spec"].update(parts)
    return made


@pytest.mark.parametrize(
    ("old", "new", "errors"),
    [
        ({"parallelism": 2}, {"parallelism": 3, "suspend": True, "activeDeadlineSeconds": 5}, []),
        ({"completions": 1}, {"completions": 2}, ["spec.completions Invalid field is immutable"]),
        ({"backoffLimit": 1}, {"backoffLimit": 2}, []),
        ({}, {"selector": {"matchLabels": {}}}, ["spec.selector Invalid field is immutable"]),
        ({"managedBy": "a.b/c"}, {"managedBy": "a.b/d"}, ["spec.managedBy Invalid field is immutable"]),
        (
            {},
            {"podFailurePolicy": {"rules": []}},
            ["spec.podFailurePolicy Invalid field is immutable"],
        ),
        ({}, {"template": changed(hostNetwork=True)}, ["spec.template Invalid field is immutable"]),
        ({}, {"template": changed(nodeSelector={"x": "y"})}, ["spec.template Invalid field is immutable"]),
    ],
)
def test_fields_that_stay(old: dict[str, Any], new: dict[str, Any], errors: list[str]) -> None:
    """Source: ValidateJobSpecUpdate."""
    assert told(validate_job_update(job(**new), job(**old))) == errors


@pytest.mark.parametrize(
    ("completions", "parallelism", "valid"), [(2, 1, True), (5, 5, True), (5, 4, False), (1, 1, True), (1, 2, False)]
)
def test_an_indexed_job_grows_with_its_parallelism(completions: int, parallelism: int, valid: bool) -> None:
    """Source: validateCompletions, KEP-3715."""
    old = job(completionMode="Indexed", completions=2, parallelism=2)
    new = job(completionMode="Indexed", completions=completions, parallelism=parallelism)
    errors = [] if valid else ["spec.completions Invalid can only be modified in tandem with spec.parallelism"]
    assert told(validate_job_update(new, old)) == errors


SUSPENDED = {"conditions": [{"type": "Suspended", "status": "True"}], "startTime": "2024-01-01T00:00:00Z"}
STARTED = {"startTime": "2024-01-01T00:00:00Z"}
TERM = {"topologyKey": "z", "labelSelector": {"matchLabels": {"a": "b"}}}
POD_AFFINITY = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}


@pytest.mark.parametrize(
    ("status", "suspend", "may"),
    [(None, True, True), (SUSPENDED, True, True), (STARTED, True, False), (None, False, False)],
)
@pytest.mark.parametrize(
    ("part", "scheduling"),
    [
        ({"nodeSelector": {"x": "y"}}, True),
        ({"tolerations": [{"operator": "Exists"}]}, True),
        ({"schedulingGates": [{"name": "g"}]}, True),
        (
            {
                "affinity": {
                    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}
                }
            },
            True,
        ),
        ({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}, True),
        ({"affinity": POD_AFFINITY}, False),
        ({"hostNetwork": True}, False),
        ({"containers": [{"name": "c", "image": "j"}]}, False),
    ],
)
def test_scheduling_fields_of_a_stopped_job(
    part: dict[str, Any], scheduling: bool, status: Any, suspend: bool, may: bool
) -> None:
    """Source: validatePodTemplateUpdate, KEP-2926."""
    old, new = job(status, suspend=suspend), job(status, changed(**part), suspend=suspend)
    errors = [] if scheduling and may else ["spec.template Invalid field is immutable"]
    assert told(validate_job_update(new, old)) == errors


def test_pod_affinity_stays_when_node_affinity_changes() -> None:
    old = job(None, changed(affinity=POD_AFFINITY), suspend=True)
    terms: dict[str, Any] = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}
    both = job(None, changed(affinity={**POD_AFFINITY, "nodeAffinity": terms}), suspend=True)
    assert told(validate_job_update(both, old)) == []
    assert told(validate_job_update(job(suspend=True), old)) == ["spec.template Invalid field is immutable"]
