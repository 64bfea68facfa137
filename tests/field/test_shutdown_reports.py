"""The eight public reports that query 15 of `test_last_reports.py` finds, on graceful node shutdown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kitlib.cluster import Cluster
from tests.field.test_last_reports import DEAF, POLITE, SHUTDOWNS

REPORTS: dict[str, Callable[[], None]] = {}
PERIODS = {"shutdownGracePeriod": "30s", "shutdownGracePeriodCriticalPods": "15s"}


def report(number: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def register(run: Callable[[], None]) -> Callable[[], None]:
        REPORTS[number] = run
        return run

    return register


def spec(command: list[str], **more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "nginx", "command": command}], **more}


def pod(name: str, command: list[str], **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec(command, nodeName="a", **more)}


def deployment(command: list[str], replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": spec(command)}
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": body}


def cluster(*objects: dict[str, Any], nodes: str = "ab") -> Any:
    made = Cluster.simulated([{"name": name, "kubelet": PERIODS} for name in nodes])
    made.apply(list(objects))
    made.advance(3)
    return made


def placed(made: Any) -> list[tuple[str, str, str]]:
    return sorted((one.spec.node_name, one.status.phase, one.status.reason) for one in made.pods())


@report("#102820")
def the_reason_is_terminated_and_the_message_names_the_shutdown() -> None:
    """It was Shutdown until 1.21; the reasons asked for there came with 1.22."""
    with cluster(pod("p", ["sleep", "inf"], terminationGracePeriodSeconds=3)) as made:
        made.node("a").shutdown()
        made.advance(6)
        found = made.pod("p").status
        assert (found.phase, found.reason) == ("Failed", "Terminated")
        assert found.message == "Pod was terminated in response to imminent node shutdown."


@report("#98012")
def terminated_pods_remain_until_they_are_deleted() -> None:
    """As evicted pods: only PodGC removes them, from 12,500 on."""
    with cluster(pod("p", ["sleep", "inf"], terminationGracePeriodSeconds=3)) as made:
        made.node("a").shutdown()
        made.advance(150)
        assert placed(made) == [("a", "Failed", "Terminated")]


@report("#109531")
def a_pod_as_slow_as_its_period_stays_running_and_is_terminating_for_ever_after() -> None:
    """Its end is not reported before the machine is off; the taint deletes it after 300 s, and no kubelet ends it."""
    with cluster(pod("p", DEAF, terminationGracePeriodSeconds=60)) as made:
        made.node("a").shutdown()
        made.advance(40)
        assert placed(made) == [("a", "Running", "")]
        made.advance(400)
        found = made.pod("p")
        assert found.metadata.deletion_timestamp is not None
        assert found.status.phase == "Running"


@report("#100184")
def replacements_do_not_start_on_the_node_that_shuts_down() -> None:
    """They did in 1.20, whose node stayed ready; since 1.21 it is NotReady at once, and rejects what comes late."""
    web = deployment(DEAF, 4)
    web["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 4
    with cluster(web, pod("slow", DEAF, terminationGracePeriodSeconds=60)) as made:
        made.node("a").shutdown()
        made.advance(10)
        assert [one[1:] for one in placed(made) if one[0] == "a"] == [("Failed", "Terminated")] * 2 + [("Running", "")]
        assert [one[1:] for one in placed(made) if one[0] == "b"] == [("Running", "")] * 4


@report("#110755")
def a_period_of_15_s_for_a_pod_of_30_s_leaves_it_running() -> None:
    """`killing pod with gracePeriod 15`, and no line that it has ended."""
    with cluster(pod("client", DEAF, terminationGracePeriodSeconds=30)) as made:
        made.node("a").shutdown()
        made.advance(30)
        steps = [entry for entry in made.node("a").timeline() if entry.action == "killing pod"]
        assert [(entry.about, entry.detail) for entry in steps] == [("default/client", "grace 15 s, period 15 s")]
        assert placed(made) == [("a", "Running", "")]


@report("#120168")
def statuses_of_containers_differ_by_the_way_they_ended() -> None:
    """Completed and Error beside each other: the exit codes of the programs, as after any SIGTERM."""
    quick = {"terminationGracePeriodSeconds": 3}
    with cluster(pod("tidy", POLITE, **quick), pod("rough", DEAF, **quick)) as made:
        made.node("a").shutdown()
        made.advance(6)
        ends = {one.name: one.status.container_statuses[0].state["terminated"] for one in made.pods()}
        assert (ends["tidy"]["reason"], ends["tidy"]["exitCode"]) == ("Completed", 0)
        assert (ends["rough"]["reason"], ends["rough"]["exitCode"]) == ("Error", 137)
        assert {one.status.phase for one in made.pods()} == {"Succeeded", "Failed"}


@report("#104531")
def pods_of_a_deployment_are_failed_so_that_it_replaces_them() -> None:
    """1.22.0 left them in phase Running; later releases set Failed again (kubernetes#106900)."""
    quick = deployment(DEAF, 2)
    quick["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 4
    with cluster(quick) as made:
        before = [one for one in made.pods() if one.spec.node_name == "a"]
        made.node("a").shutdown()
        made.advance(10)
        phases = [one.status.phase for one in made.pods() if one.name in {gone.name for gone in before}]
        assert phases == ["Failed"] * len(before)
        assert [one[:2] for one in placed(made) if one[1] == "Running"] == [("b", "Running")] * 2


@report("#112443")
def of_many_pods_most_stay_running_and_have_one_restart_after_the_boot() -> None:
    """All have ended; in 1.25 the kubelet's client sends 5 requests a second, and the machine does not wait for it."""
    replicas = [pod(f"pause-{i}", ["/pause"]) for i in range(20)]
    with Cluster.simulated([{"name": "a", "kubelet": PERIODS}], release="1.25") as made:
        made.apply(replicas)
        made.advance(3)
        made.node("a").shutdown()
        made.advance(10)
        running = [one.name for one in made.pods() if one.status.phase == "Running"]
        assert 20 > len(running) >= 10
        made.node("a").reboot()
        made.advance(60)
        statuses = {one.name: one.status for one in made.pods()}
        again = {name for name, found in statuses.items() if found.container_statuses[0].restart_count == 1}
        assert again == set(running)
        assert all(statuses[name].phase == "Running" for name in running)


@pytest.mark.parametrize("number", SHUTDOWNS)
def test_a_report_on_node_shutdown_comes_out_as_it_did(number: str) -> None:
    REPORTS[number]()
