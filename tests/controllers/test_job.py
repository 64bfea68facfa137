"""Jobs: completions, indexes, failures and their policies, deadlines, suspension, time to live."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.api.batch import Job
from kitlib.api.core import Pod
from kitlib.api.serialize import from_dict
from kitlib.cluster import Cluster
from kitlib.cluster.control_plane.simulated import SimulatedCluster
from kitlib.controllers.job.pods import (
    FAILURES,
    FINALIZER,
    format_indexes,
    index_of,
    match_failure_policy,
    new_pod,
    parse_indexes,
)
from kitlib.controllers.job.progress import JobProgress
from tests.controllers.builders import conditions, hollow, pod, told


def job(name: str, does: str = "sleep 2", restart: str = "Never", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "app:1", "command": ["sh", "-c", does]}
    template = {"spec": {"restartPolicy": restart, "containers": [container]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {**spec, "template": template}}


def after(seconds: float, *jobs: dict[str, Any]) -> SimulatedCluster:
    cluster = Cluster.simulated(2)
    cluster.apply(list(jobs))
    cluster.advance(seconds)
    assert not cluster.controllers.errors
    return cluster


def indexed(completions: int) -> dict[str, Any]:
    return {"completions": completions, "completionMode": "Indexed"}


def finish(cluster: SimulatedCluster, pod: Pod, code: int) -> Pod:
    """End a pod, as its kubelet would."""
    now = cluster.api.store.now()
    ended = {"name": "c", "state": {"terminated": {"exitCode": code, "finishedAt": now.isoformat()}}}
    status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [ended]}
    pod.status = from_dict({"metadata": {"name": "p"}, "status": status}, Pod).status
    cluster.api.update_status(pod)
    cluster.settle()
    return pod


def end(cluster: SimulatedCluster, index: int, code: int = 0) -> Pod:
    """End the pod of an index that runs."""
    (found,) = [one for one in cluster.pods() if index_of(one) == index and one.status.phase == "Running"]
    return finish(cluster, found, code)


def test_completions_with_parallelism():
    cluster = after(1, job("a", completions=5, parallelism=2))
    assert cluster.get("Job", "a").status.active == 2
    cluster.advance(20)
    status = cluster.get("Job", "a").status
    assert (status.active, status.succeeded, status.failed) == (0, 5, 0)
    assert conditions(status) == {
        "SuccessCriteriaMet": ("True", "CompletionsReached"),
        "Complete": ("True", "CompletionsReached"),
    }
    assert status.completion_time is not None
    assert told(cluster, "Job")[-1] == ("Completed", "Job completed")
    assert all(not pod.metadata.finalizers for pod in cluster.pods())


def test_indexed_jobs_have_one_pod_an_index():
    cluster = after(15, job("a", completions=3, parallelism=3, completionMode="Indexed"))
    assert cluster.get("Job", "a").status.completed_indexes == "0-2"
    found = {pod.metadata.annotations["batch.kubernetes.io/job-completion-index"]: pod for pod in cluster.pods()}
    assert sorted(found) == ["0", "1", "2"]
    assert found["1"].spec.hostname == "a-1"
    assert "JOB_COMPLETION_INDEX" in [one.name for one in found["1"].spec.containers[0].env]


def test_failures_wait_for_their_back_off_and_end_the_job():
    cluster = after(5, job("a", "exit 3", backoffLimit=1))
    assert (cluster.get("Job", "a").status.failed, len(cluster.pods())) == (1, 1)
    cluster.advance(12)
    status = cluster.get("Job", "a").status
    assert (status.failed, len(cluster.pods())) == (2, 2)
    assert conditions(status)["Failed"] == ("True", "BackoffLimitExceeded")
    assert ("BackoffLimitExceeded", "Job has reached the specified backoff limit") in told(cluster, "Job")


def test_an_index_that_fails_too_often_fails_alone():
    cluster = after(
        30, job("a", "exit 1", completions=2, parallelism=2, completionMode="Indexed", backoffLimitPerIndex=0)
    )
    status = cluster.get("Job", "a").status
    assert status.failed_indexes == "0,1" and conditions(status)["Failed"] == ("True", "FailedIndexes")


def test_the_active_deadline_ends_a_job_and_its_pods():
    cluster = after(4, job("a", "sleep 1000", activeDeadlineSeconds=5))
    assert cluster.get("Job", "a").status.active == 1
    cluster.advance(40)
    status = cluster.get("Job", "a").status
    assert conditions(status)["Failed"] == ("True", "DeadlineExceeded") and status.active == 0


def test_a_suspended_job_has_no_pods_until_it_is_resumed():
    cluster = after(3, job("a", suspend=True))
    status = cluster.get("Job", "a").status
    assert conditions(status)["Suspended"] == ("True", "JobSuspended")
    assert not cluster.pods() and status.start_time is None
    cluster.patch("Job", "a", {"spec": {"suspend": False}})
    cluster.advance(10)
    status = cluster.get("Job", "a").status
    assert status.succeeded == 1 and conditions(status)["Suspended"] == ("False", "JobResumed")
    assert told(cluster, "Job")[0][0] == "Suspended"


def test_a_finished_job_goes_with_its_pods_after_its_time_to_live():
    cluster = after(6, job("a", ttlSecondsAfterFinished=10))
    assert conditions(cluster.get("Job", "a").status)["Complete"][0] == "True"
    cluster.advance(12)
    assert cluster.list("Job") == [] and cluster.pods() == []


def test_a_deleted_job_leaves_no_pod_behind():
    cluster = after(2, job("a", "sleep 1000"))
    cluster.delete("Job", "a")
    cluster.advance(40)
    assert cluster.pods() == []


POLICY = {
    "rules": [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "FailIndex", "onExitCodes": {"containerName": "c", "operator": "NotIn", "values": [1, 2]}},
    ]
}


@pytest.mark.parametrize(
    ("code", "disrupted", "action"),
    [(42, False, "FailJob"), (1, False, "Count"), (1, True, "Ignore"), (7, False, "FailIndex")],
)
def test_what_the_failure_policy_does(code, disrupted, action):
    found: Job = from_dict(job("a", podFailurePolicy=POLICY), Job)
    states = [{"type": "DisruptionTarget", "status": "True"}] if disrupted else []
    ended = [{"name": "c", "state": {"terminated": {"exitCode": code}}}]
    status = {"phase": "Failed", "conditions": states, "containerStatuses": ended}
    pod: Pod = from_dict({"metadata": {"name": "p", "namespace": "ns"}, "status": status}, Pod)
    match = match_failure_policy(found.spec.pod_failure_policy, pod)
    assert match.action == action
    if action == "FailJob":
        assert match.message == "Container c for pod ns/p failed with exit code 42 matching FailJob rule at index 0"


def test_pods_that_a_smaller_parallelism_or_a_suspension_ends_have_not_failed():
    """Source: deleteJobPods takes the finalizer first, so that they are not counted."""
    cluster = after(3, job("a", "sleep 1000", completions=9, parallelism=4))
    cluster.patch("Job", "a", {"spec": {"parallelism": 1}})
    cluster.advance(40)
    status = cluster.get("Job", "a").status
    assert (status.active, status.failed, len(cluster.pods())) == (1, 0, 1)
    cluster.patch("Job", "a", {"spec": {"suspend": True}})
    cluster.advance(40)
    status = cluster.get("Job", "a").status
    assert (status.active, status.ready, status.terminating, status.failed) == (0, 0, 0, 0)
    assert status.start_time is None and conditions(status)["Suspended"] == ("True", "JobSuspended")


def test_pods_that_a_deadline_ends_have_failed_and_those_of_a_success_policy_have_not():
    late = after(45, job("a", "sleep 1000", completions=3, parallelism=3, activeDeadlineSeconds=5))
    assert late.get("Job", "a").status.failed == 3
    cluster = hollow()
    cluster.apply(job("a", successPolicy={"rules": [{"succeededIndexes": "0"}]}, parallelism=3, **indexed(3)))
    end(cluster, 0)
    status = cluster.get("Job", "a").status
    assert conditions(status)["Complete"] == ("True", "SuccessPolicy")
    assert (status.succeeded, status.failed, status.completed_indexes) == (1, 0, "0")


def test_an_index_waits_for_its_own_back_off_and_its_failed_pod_is_kept_until_then():
    cluster = hollow()
    cluster.apply(job("a", parallelism=2, backoffLimitPerIndex=1, **indexed(4)))
    end(cluster, 0, 1)
    end(cluster, 1)
    status = cluster.get("Job", "a").status
    assert (status.active, status.failed, status.completed_indexes) == (1, 0, "1")  # 2 does not wait
    (failed,) = [pod for pod in cluster.pods() if pod.status.phase == "Failed"]
    assert failed.metadata.finalizers == [FINALIZER]
    end(cluster, 2)
    cluster.advance(11)
    status = cluster.get("Job", "a").status
    assert (status.active, status.failed, status.failed_indexes) == (2, 1, "")
    assert cluster.pod(failed.name).metadata.finalizers == []
    assert end(cluster, 0, 1).metadata.annotations[FAILURES] == "1"
    end(cluster, 3)
    status = cluster.get("Job", "a").status
    assert (status.failed, status.failed_indexes, status.completed_indexes) == (2, "0", "1-3")
    assert conditions(status)["Failed"] == ("True", "FailedIndexes")


def test_an_ignored_failure_is_noted_by_itself_and_counts_against_no_limit():
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [9]}}
    spec = {"podFailurePolicy": {"rules": [rule]}, "backoffLimitPerIndex": 0}
    cluster = after(16, job("a", "exit 9", **spec, **indexed(1)))
    last = max(cluster.pods(), key=lambda pod: pod.metadata.creation_timestamp).metadata.annotations
    assert last["batch.kubernetes.io/job-index-failure-count"] == "0"
    assert last["batch.kubernetes.io/job-index-ignored-failure-count"] == "1"
    status = cluster.get("Job", "a").status
    assert (status.failed, status.failed_indexes) == (0, "")


def test_an_adopted_pod_gets_the_finalizer_and_a_released_one_loses_it():
    cluster = hollow()
    cluster.apply(job("a", parallelism=2, completions=2))
    one, two = cluster.pods()
    cluster.patch("Pod", one.name, {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "other"}}})
    released = cluster.pod(one.name).metadata
    assert (released.finalizers, released.owner_references) == ([], [])
    cluster.patch("Pod", one.name, {"metadata": {"labels": two.metadata.labels}})
    adopted = [one for one in cluster.pods() if one.metadata.deletion_timestamp is None]
    assert [one.metadata.finalizers for one in adopted] == [[FINALIZER]] * 2


def test_more_successes_than_were_asked_for_are_told():
    cluster = hollow()
    cluster.apply(job("a", parallelism=2, completions=2))
    found = cluster.pods()
    extra = from_dict(pod("extra") | {"metadata": {"name": "extra", "labels": found[0].metadata.labels}}, Pod)
    with cluster.api.store.transaction():
        cluster.api.create(extra)
        for one in [*found, cluster.pod("extra")]:
            one.status.phase = "Succeeded"
            cluster.api.update_status(one)
    cluster.settle()
    assert cluster.get("Job", "a").status.succeeded == 3
    assert [reason for reason, _ in told(cluster, "Job")][-2:] == ["TooManySucceededPods", "Completed"]


@pytest.mark.parametrize(("name", "prefix"), [("a", "a-3-"), ("a" * 63, "a" * 55 + "-3-")])
def test_a_long_name_is_cut_before_the_index(name, prefix):
    made: Job = from_dict(job(name, **indexed(4)), Job)
    assert new_pod(made, 3).metadata.generate_name == prefix


def test_the_status_says_what_is_counted_before_it_counts():
    """Two writes, as upstream's: the UIDs with the target, then the counts with the end."""
    cluster = after(1, job("a", "sleep 4"))
    watch = cluster.watch("Job")
    cluster.advance(10)
    seen = [one.object.status for one in watch]
    (first,) = [status for status in seen if status.uncounted_terminated_pods.succeeded]
    assert [one.type for one in first.conditions] == ["SuccessCriteriaMet"] and first.succeeded == 0
    assert [one.type for one in seen[-1].conditions] == ["SuccessCriteriaMet", "Complete"] and seen[-1].succeeded == 1


def test_a_failure_policy_ends_the_job_at_once():
    cluster = after(5, job("a", "exit 42", podFailurePolicy={"rules": POLICY["rules"][:2]}))
    status = cluster.get("Job", "a").status
    assert conditions(status)["Failed"] == ("True", "PodFailurePolicy") and status.failed == 1


@pytest.mark.parametrize(
    ("indexes", "text"), [(set(), ""), ({3}, "3"), ({1, 2}, "1,2"), ({0, 1, 2, 5, 7, 8, 9}, "0-2,5,7-9")]
)
def test_indexes_are_written_as_runs(indexes, text):
    assert format_indexes(indexes) == text
    assert parse_indexes(text, 100) == indexes


@pytest.mark.parametrize(
    ("completed", "failed", "reason"),
    [
        ({0, 1}, set(), "SuccessPolicy"),
        ({0, 1}, {2}, "FailedIndexes"),  # all indexes are done, so that the failed one counts before the policy
        ({0, 1, 2}, set(), "SuccessPolicy"),
        ({0}, {1, 2}, "MaxFailedIndexesExceeded"),
        ({0}, {1}, None),
    ],
)
def test_failed_indexes_count_before_the_success_policy(completed, failed, reason):
    rule = {"succeededCount": 2}
    spec = {"completions": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 0, "maxFailedIndexes": 1}
    made = from_dict(
        {"apiVersion": "batch/v1", "kind": "Job", "spec": {**spec, "successPolicy": {"rules": [rule]}}}, Job
    )
    found = JobProgress(len(completed), len(failed), completed=completed, failed_indexes=failed).verdict(
        made, datetime(2026, 1, 5, tzinfo=UTC)
    )
    assert (found and found.reason) == reason
