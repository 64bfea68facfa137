"""What real API servers and kubelets say when they refuse a node's pod, and what a user reads then."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitlib.node.kubernetes.client import refused
from kitlib.node.kubernetes.refusals import is_running, of_pod, of_request, waits_for

POD_SECURITY = (
    'pods "kitlib-node-1-0a1b2c3d" is forbidden: violates PodSecurity "restricted:latest": non-default capabilities '
    '(container "node" must not include "CHOWN", "SYS_ADMIN" in securityContext.capabilities.add), '
    'runAsUser=0 (container "node" must not set runAsUser=0)'
)
QUOTA = (
    'pods "kitlib-node-1-0a1b2c3d" is forbidden: exceeded quota: room, requested: limits.cpu=4, used: limits.cpu=8, '
    "limited: limits.cpu=10"
)
NO_REQUEST = (
    'pods "x" is forbidden: failed quota: disk: must specify limits.ephemeral-storage for: node; '
    "requests.ephemeral-storage for: node"
)
RBAC = (
    'pods "kitlib-node-1-0a1b2c3d" is forbidden: User "system:serviceaccount:hub:learner" cannot get resource '
    '"pods/attach" in API group "" in the namespace "nodes"'
)
LIMIT = 'pods "x" is forbidden: maximum memory usage per Container is 1Gi, but limit is 8690597888'
WEBHOOK = 'admission webhook "validation.gatekeeper.sh" denied the request: [psp-privileged] not allowed: node'
POLICY = (
    "pods \"x\" is forbidden: ValidatingAdmissionPolicy 'kitlib-nodes' with binding 'kitlib-nodes' denied request: "
    "only the kit's image"
)
NAMESPACE = 'namespaces "nodes" not found'
TERMINATING = 'pods "x" is forbidden: unable to create new content in namespace nodes because it is being terminated'
ACCOUNT = 'pods "x" is forbidden: error looking up service account nodes/default: serviceaccount "default" not found'
INVALID = 'Pod "x" is invalid: spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy'


def status(code: int, reason: str, message: str) -> bytes:
    told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return json.dumps({**told, "message": message, "reason": reason, "code": code}).encode()


@pytest.mark.parametrize(
    ("code", "reason", "message", "rule", "way"),
    [
        (403, "Forbidden", POD_SECURITY, "Pod Security restricted:latest of namespace nodes", "enforce: privileged"),
        (403, "Forbidden", QUOTA, "the quota of namespace nodes", "ResourceQuota raised"),
        (403, "Forbidden", NO_REQUEST, "the quota of namespace nodes", "requests="),
        (
            403,
            "Forbidden",
            RBAC,
            "RBAC: system:serviceaccount:hub:learner may not get pods/attach",
            "--namespace nodes",
        ),
        (403, "Forbidden", LIMIT, "a LimitRange of namespace nodes", "memory="),
        (403, "Forbidden", WEBHOOK, "an admission policy of the cluster", "except nodes"),
        (422, "Invalid", POLICY, "an admission policy of the cluster", "except nodes"),
        (404, "NotFound", NAMESPACE, "there is no namespace nodes", "--namespace nodes"),
        (403, "Forbidden", TERMINATING, "namespace nodes is being deleted", "terminated"),
        (403, "Forbidden", ACCOUNT, "no default service account yet", "try again"),
        (422, "Invalid", INVALID, "finds the pod invalid", "disallowed by cluster policy"),
        (401, "Unauthorized", "Unauthorized", "does not know who asks", "renew the credentials"),
        (500, "InternalError", "etcdserver: request timed out", "the API server refuses: 500", "etcdserver"),
    ],
)
def test_a_refusal_names_its_rule_what_was_said_and_the_way_out(
    code: int, reason: str, message: str, rule: str, way: str
) -> None:
    text = str(of_request(refused(code, status(code, reason, message)), "node-1", "nodes"))
    assert text.startswith("node node-1: ")
    assert rule in text and way in text
    assert message.split("forbidden: ")[-1][-30:] in text


def test_an_answer_that_is_no_status_is_shown_as_it_came() -> None:
    text = str(of_request(refused(502, b"<html>Bad Gateway</html>\n"), "n", "nodes"))
    assert text == "node n: the API server refuses: 502 : <html>Bad Gateway</html>"


def pod(state: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    statuses = [{"name": "node", "state": state}] if state else []
    return {"metadata": {}, "spec": {"nodeName": "m"}, "status": {"containerStatuses": statuses, **status}}


def waiting(reason: str, message: str = "why") -> dict[str, Any]:
    return pod({"waiting": {"reason": reason, "message": message}}, phase="Pending")


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (waiting("ImagePullBackOff", 'Back-off pulling image "kitlib-node:1"'), "Back-off pulling image"),
        (waiting("ErrImageNeverPull", "Container image is not present"), "cannot be pulled (ErrImageNeverPull)"),
        (waiting("InvalidImageName"), "cannot be pulled (InvalidImageName)"),
        (waiting("CreateContainerConfigError"), "cannot be made (CreateContainerConfigError): why"),
        (pod({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}), "ended with 137 (OOMKilled)"),
        (pod(phase="Failed", reason="Evicted", message="low on memory"), "it ended (Evicted): low on memory"),
        (pod(phase="Failed", reason="DeadlineExceeded", message="too long"), "it ended (DeadlineExceeded)"),
        (pod(phase="Failed", reason="OutOfcpu", message="Node didn't have enough"), "it ended (OutOfcpu)"),
        ({**pod(), "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, "it was deleted while it started"),
        (waiting("ErrImagePull"), ""),
        (waiting("ContainerCreating"), ""),
        (pod({"running": {}}), ""),
        ({"metadata": {}, "spec": {}}, ""),
    ],
)
def test_a_pod_that_will_never_run_is_told_from_one_that_only_waits(found: dict[str, Any], says: str) -> None:
    assert says in of_pod(found) and bool(says) == bool(of_pod(found))


UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available: 3 Insufficient cpu.",
}


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (pod(conditions=[UNSCHEDULABLE]), "no machine of the cluster takes it (Unschedulable): 0/3 nodes"),
        (waiting("ContainerCreating", ""), "ContainerCreating: the kubelet is at work"),
        ({"metadata": {}, "spec": {}}, "no scheduler has looked at it"),
        (pod(), "the kubelet has not reported yet"),
    ],
)
def test_what_a_pod_waits_for_is_said(found: dict[str, Any], says: str) -> None:
    assert says in waits_for(found) and not is_running(found)
