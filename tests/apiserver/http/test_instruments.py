"""`/metrics`: names, labels and values as those of kube-apiserver and kube-scheduler."""

from __future__ import annotations

import re
from typing import Any

from kitlib.apiserver.http.dispatcher import Dispatcher
from kitlib.apiserver.http.instruments import Instruments
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.users import User
from tests.apiserver.http.conftest import Call

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "x:1"}]}}
LINE = re.compile(r"(# (HELP|TYPE) \w+ .*|[a-z_]+(\{\w+=\"[^\"]*\"(,\w+=\"[^\"]*\")*\})? [0-9.e+-]+)")


def scraped(call: Call) -> dict[str, float]:
    code, text = call("GET", "/metrics")
    assert code == 200
    lines = text.decode().splitlines()
    assert all(LINE.fullmatch(line) for line in lines), next(line for line in lines if not LINE.fullmatch(line))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def labelled(name: str, *, code: str = "", dry_run: str = "", **labels: str) -> str:
    """A sample of a request metric, with its labels in order."""
    given = {"group": "", "resource": "pods", "scope": "", "subresource": "", "verb": "", "version": "v1", **labels}
    head = {"code": code} if code else {}
    pairs = {**head, "component": "apiserver", "dry_run": dry_run, **given}
    shown = [f'{key}="{value}"' for key, value in pairs.items()]
    return f"{name}{{{','.join(shown)}}}"


def test_requests_are_counted_by_verb_scope_and_code(call: Call) -> None:
    assert call("POST", f"{PODS}?dryRun=All", POD)[0] == 201
    assert call("POST", PODS, POD)[0] == 201
    assert call("POST", PODS, b"{")[0] == 400
    assert call("GET", f"{PODS}/a")[0] == 200
    assert call("GET", PODS)[0] == 200
    assert call("GET", "/api/v1/pods")[0] == 200
    apply = {"content_type": "application/apply-patch+yaml"}
    assert call("PATCH", f"{PODS}/a?fieldManager=m", {"metadata": {"labels": {"a": "b"}}}, **apply)[0] == 200
    assert call("GET", "/api/v1/nothing")[0] == call("GET", "/no/such/path")[0] == 404
    assert call("GET", "/healthz/ping")[0] == 200
    found, total = scraped(call), "apiserver_request_total"
    assert found[labelled(total, code="201", dry_run="All", scope="resource", verb="POST")] == 1
    assert found[labelled(total, code="201", scope="resource", verb="POST")] == 1
    assert found[labelled(total, code="400", scope="resource", verb="POST")] == 1
    assert found[labelled(total, code="200", scope="resource", verb="GET")] == 1
    assert found[labelled(total, code="200", scope="namespace", verb="LIST")] == 1
    assert found[labelled(total, code="200", scope="cluster", verb="LIST")] == 1
    assert found[labelled(total, code="200", scope="resource", verb="APPLY")] == 1
    plain = {"resource": "", "verb": "GET", "version": ""}
    assert found[labelled(total, code="200", subresource="/healthz", **plain)] == 1
    assert not any("nothing" in name or "/no" in name for name in found)
    duration = "apiserver_request_duration_seconds"
    assert found[labelled(f"{duration}_count", scope="resource", verb="POST")] == 2
    assert found[labelled(f"{duration}_bucket", scope="resource", verb="POST").replace("}", ',le="60"}')] == 2
    assert found['apiserver_current_inflight_requests{request_kind="mutating"}'] == 1
    assert sum(value for name, value in found.items() if name.startswith("apiserver_response_sizes_count")) == 4


def test_stored_objects_and_the_schedulers_work_are_told(call: Call) -> None:
    call("POST", PODS, POD)
    huge = {"requests": {"cpu": "1000"}}
    containers = [{"name": "c", "image": "x:1", "resources": huge}]
    call("POST", PODS, {"metadata": {"name": "huge"}, "spec": {"containers": containers}})
    gated = {**POD["spec"], "schedulingGates": [{"name": "example.com/g"}]}
    call("POST", PODS, {"metadata": {"name": "gated"}, "spec": gated})
    found = scraped(call)
    assert found['apiserver_storage_objects{resource="pods"}'] == 3
    assert found['apiserver_resource_objects{group="",resource="nodes"}'] == 2
    assert found['apiserver_resource_objects{group="apps",resource="deployments"}'] == 0
    attempts = 'scheduler_schedule_attempts_total{profile="default-scheduler",result='
    assert (found[f'{attempts}"scheduled"}}'], found[f'{attempts}"unschedulable"}}']) == (1, 1)
    assert found["scheduler_pod_scheduling_attempts_count"] == 1
    assert found['scheduler_pod_scheduling_attempts_bucket{le="1"}'] == 1
    assert found['scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"}'] == 1
    assert found["scheduler_preemption_attempts_total"] == 1
    queues = {name: found[f'scheduler_pending_pods{{queue="{name}"}}'] for name in ("active", "backoff", "gated")}
    assert queues == {"active": 0, "backoff": 0, "gated": 1}
    assert found['scheduler_pending_pods{queue="unschedulable"}'] == 1


def test_open_streams_are_counted_while_they_last(cluster: Any) -> None:
    made = Dispatcher(cluster)
    resources, instruments = made.rest.resources, Instruments()
    watch = Request("GET", PODS, {"watch": ["true"]})
    shell = Request("GET", f"{PODS}/a/exec")
    with instruments.long_running(watch, resources), instruments.long_running(shell, resources):
        text = instruments.exposition(made.rest)
        assert re.search(
            r'longrunning_requests{.*scope="namespace",subresource="",verb="WATCH",version="v1"} 1\n', text
        )
        assert re.search(r'longrunning_requests{.*scope="resource",subresource="exec",verb="CONNECT".*} 1\n', text)
    text = instruments.exposition(made.rest)
    assert re.search(r'longrunning_requests{.*verb="WATCH",version="v1"} 0\n', text)
    assert re.search(r'request_total{code="200",.*verb="WATCH",version="v1"} 1\n', text)
    assert re.search(r'request_total{code="101",.*verb="CONNECT",version="v1"} 1\n', text)


def test_who_may_scrape_is_said_by_rules_for_the_path(cluster: Any, call: Call) -> None:
    user, dispatcher = User("prometheus", ("system:authenticated",)), Dispatcher(cluster)
    scrape = Request("GET", "/metrics", user=user)
    assert dispatcher.handle(scrape).code == 403
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    roles = "/apis/rbac.authorization.k8s.io/v1"
    assert call("POST", f"{roles}/clusterroles", {"metadata": {"name": "scrape"}, "rules": rules})[0] == 201
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "scrape"}
    subjects = [{"kind": "User", "name": "prometheus", "apiGroup": "rbac.authorization.k8s.io"}]
    binding = {"metadata": {"name": "scrape"}, "roleRef": reference, "subjects": subjects}
    assert call("POST", f"{roles}/clusterrolebindings", binding)[0] == 201
    answer = dispatcher.handle(scrape)
    assert (answer.code, answer.content_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
