"""The cluster's own last word beside the computed answer."""

from __future__ import annotations

from typing import Any

from tests.advisor.dumps import asked, dump, node, pod

AT = "2026-08-01T10:00:00Z"


def refused(message: str = "0/1 nodes are available: 1 Insufficient cpu.") -> dict[str, Any]:
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"conditions": [{**said, "lastTransitionTime": AT}]}


def beat(at: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": at}]}}


def test_a_pod_that_fits_now_is_tried_again_within_five_and_a_half_minutes() -> None:
    """kubernetes/kubernetes#141953: a label was set after the last attempt."""
    answer = asked(dump(node("n1", **beat("2026-08-01T10:02:00Z")), pod("p", status=refused())))
    assert answer.exit_code == 0
    assert "Insufficient cpu. That no longer holds" in answer.said.text
    assert "at the latest five and a half minutes after its last attempt" in answer.said.text


def failed(at: str) -> dict[str, Any]:
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    meta = {"name": "e", "namespace": "default"}
    event = {"reason": "FailedScheduling", "message": "0/1 nodes are available: 1 Insufficient cpu.", "type": "Warning"}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": meta,
        "involvedObject": about,
        "lastTimestamp": at,
        **event,
    }


def test_the_last_attempt_is_the_newest_event_and_the_next_one_is_told() -> None:
    found = dump(node("n1", **beat("2026-08-01T10:40:00Z")), failed("2026-08-01T10:38:00Z"), pod("p", status=refused()))
    answer = asked(found)
    assert answer.exit_code == 0 and "Nothing holds the pod" in answer.said.text
    assert "after its last attempt (2026-08-01 10:43 UTC)" in answer.said.text


def test_a_pod_on_which_no_scheduler_has_reported_is_uncertain() -> None:
    made = {"creationTimestamp": AT}
    old = asked(dump(node("n1", **beat("2026-08-01T10:20:00Z")), pod("p", meta=made)))
    assert (old.verdict, old.exit_code) == ("uncertain", 3) and "Does kube-scheduler run?" in old.said.text
    new = asked(dump(node("n1", **beat("2026-08-01T10:00:02Z")), pod("p", meta=made)))
    assert new.exit_code == 0 and "the scheduler tries a new pod at once" in new.said.text


def test_an_older_release_tries_again_earlier() -> None:
    answer = asked(dump(node("n1"), pod("p", status=refused()), release="1.23"))
    assert "at the latest one and a half minutes" in answer.said.text


def test_a_contradiction_that_outlasts_an_attempt_is_uncertain() -> None:
    answer = asked(dump(node("n1", **beat("2026-08-01T10:20:00Z")), pod("p", status=refused())))
    assert (answer.verdict, answer.exit_code) == ("uncertain", 3)
    assert "something that is not in this dump decides" in answer.said.text


def test_a_change_that_the_dump_shows_explains_the_contradiction() -> None:
    newer = node("n2", **beat("2026-08-01T10:20:00Z"))
    newer["metadata"]["creationTimestamp"] = "2026-08-01T10:19:00Z"
    answer = asked(dump(node("n1", cpu="0"), newer, pod("p", status=refused())))
    assert answer.exit_code == 0 and "since then Node n2 was created" in answer.said.text


def test_reasons_that_still_hold_and_reasons_that_differ_are_told_apart() -> None:
    small = node("n1", cpu="500m")
    assert asked(dump(small, pod("p", status=refused()))).said.text.endswith("That still holds.")
    other = refused("0/1 nodes are available: 1 node(s) were unschedulable.")
    assert "Now the reasons differ: 0/1" in asked(dump(small, pod("p", status=other))).said.text
