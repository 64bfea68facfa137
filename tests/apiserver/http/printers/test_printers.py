"""Rows of `kubectl get` that the recorded ones do not cover: pods in every state, and kinds of which there was none."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kitlib.api.release import Release
from kitlib.apiserver.http.printers import cells
from kitlib.apiserver.http.resources import ResourceTable, custom

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
CREATED = "2026-01-01T11:00:00Z"
TABLE = ResourceTable([])


def row(kind: str, **obj: Any) -> list[Any]:
    """The cells of an object that is an hour old, without name and age."""
    resource = next(one for one in TABLE.resources if one.kind == kind)
    meta = {"name": "x", "creationTimestamp": CREATED, **obj.pop("metadata", {})}
    found = cells(resource, {"metadata": meta, **obj}, NOW)
    assert len(found) == len(resource.columns)
    return [cell for cell in found if cell not in ("x", "60m")]


def container(name: str, ready: bool = False, restarts: int = 0, last: str = "", **state: Any) -> dict[str, Any]:
    made = {"name": name, "ready": ready, "restartCount": restarts, "state": state, "started": "running" in state}
    ended = {"exitCode": 1, "finishedAt": last}
    return {**made, "lastState": {"terminated": ended} if last else {}}


RUNNING = {"running": {"startedAt": CREATED}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}
READY = [{"type": "Ready", "status": "True"}]
INITIALIZED = [{"type": "Initialized", "status": "True"}]


def waiting(reason: str) -> dict[str, Any]:
    return {"waiting": {"reason": reason}}


def pod(
    phase: str = "Pending",
    mains: list[dict[str, Any]] | None = None,
    inits: list[dict[str, Any]] | None = None,
    sidecars: tuple[str, ...] = (),
    meta: dict[str, Any] | None = None,
    **status: Any,
) -> list[Any]:
    """Ready, status, restarts."""
    mains, inits = mains or [container("c", **waiting("ContainerCreating"))], inits or []
    spec: dict[str, Any] = {
        "containers": [{"name": one["name"]} for one in mains],
        "initContainers": [
            {"name": one["name"], **({"restartPolicy": "Always"} if one["name"] in sidecars else {})} for one in inits
        ],
    }
    found = {"phase": phase, "containerStatuses": mains, "initContainerStatuses": inits, **status}
    return row("Pod", metadata=meta or {}, spec=spec, status=found)[:3]


DELETED = {"deletionTimestamp": CREATED}
PODS = {
    "a container is being made": (pod(), ["0/1", "ContainerCreating", "0"]),
    "an init container of two runs": (
        pod(mains=[container("c", **waiting("PodInitializing"))], inits=[container("i", **RUNNING), container("j")]),
        ["0/1", "Init:0/2", "0"],
    ),
    "the second init container waits": (
        pod(inits=[container("i", **DONE), container("j", **waiting("PodInitializing"))]),
        ["0/1", "Init:1/2", "0"],
    ),
    "all init containers have ended": (
        pod(mains=[container("c", **waiting("PodInitializing"))], inits=[container("i", **DONE)]),
        ["0/1", "PodInitializing", "0"],
    ),
    "an init container crashes": (
        pod(inits=[container("i", restarts=3, last="2026-01-01T11:55:00Z", **waiting("CrashLoopBackOff"))]),
        ["0/1", "Init:CrashLoopBackOff", "3 (5m ago)"],
    ),
    "an init container failed without a reason": (
        pod(inits=[container("i", terminated={"exitCode": 2})]),
        ["0/1", "Init:ExitCode:2", "0"],
    ),
    "an init container was killed by a signal": (
        pod(inits=[container("i", terminated={"exitCode": 137, "signal": 9})]),
        ["0/1", "Init:Signal:9", "0"],
    ),
    "a sidecar is ready while the next init container runs": (
        pod(
            inits=[container("s", ready=True, restarts=1, last="2026-01-01T11:58:00Z", **RUNNING), container("i")],
            sidecars=("s",),
        ),
        ["1/2", "Init:1/2", "1 (2m ago)"],
    ),
    "restarts of init containers are forgotten, those of sidecars are not": (
        pod(
            "Running",
            [container("c", ready=True, **RUNNING)],
            [
                container("i", restarts=4, last="2026-01-01T11:59:00Z", **DONE),
                container("s", ready=True, restarts=1, last="2026-01-01T11:50:00Z", **RUNNING),
            ],
            ("s",),
        ),
        ["2/2", "Running", "1 (10m ago)"],
    ),
    "a crash loop": (
        pod("Running", [container("c", restarts=5, last="2026-01-01T11:55:00Z", **waiting("CrashLoopBackOff"))]),
        ["0/1", "CrashLoopBackOff", "5 (5m ago)"],
    ),
    "killed for memory": (
        pod("Running", [container("c", terminated={"exitCode": 137, "reason": "OOMKilled"})]),
        ["0/1", "OOMKilled", "0"],
    ),
    "one of two has ended and the pod is ready": (
        pod("Running", [container("a", **DONE), container("b", ready=True, **RUNNING)], conditions=READY),
        ["1/2", "Running", "0"],
    ),
    "one of two has ended and the pod is not ready": (
        pod("Running", [container("a", **DONE), container("b", ready=True, **RUNNING)]),
        ["1/2", "NotReady", "0"],
    ),
    "all have ended": (pod("Succeeded", [container("c", **DONE)]), ["0/1", "Completed", "0"]),
    "evicted": (
        row("Pod", spec={"containers": [{}]}, status={"phase": "Failed", "reason": "Evicted"}, metadata=dict(DELETED))[
            :3
        ],
        ["0/1", "Evicted", "0"],
    ),
    "its node has gone": (pod("Running", reason="NodeLost", meta=DELETED), ["0/1", "Unknown", "0"]),
    "terminating": (pod("Running", [container("c", ready=True, **RUNNING)], meta=DELETED), ["1/1", "Terminating", "0"]),
    "it could not be located": (
        pod("Failed", [container("c", terminated={"exitCode": 137, "reason": "ContainerStatusUnknown"})]),
        ["0/1", "ContainerStatusUnknown", "0"],
    ),
    "gated": (
        row(
            "Pod",
            spec={"containers": [{}]},
            status={"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
        )[:3],
        ["0/1", "SchedulingGated", "0"],
    ),
    "an initialized pod shows its containers, whatever its init containers do": (
        pod(
            "Running",
            [container("c", ready=True, **RUNNING)],
            [container("i", **waiting("CrashLoopBackOff"))],
            conditions=INITIALIZED,
        ),
        ["1/1", "Init:CrashLoopBackOff", "0"],
    ),
}


@pytest.mark.parametrize(("shown", "expected"), PODS.values(), ids=PODS)
def test_a_pods_status(shown: list[Any], expected: list[Any]) -> None:
    assert shown == expected


def balanced(*addresses: str) -> dict[str, Any]:
    return {"loadBalancer": {"ingress": [{"ip": one} for one in addresses]}}


def slices(*ports: dict[str, Any], addresses: int = 0) -> list[Any]:
    endpoints = [{"addresses": [f"10.0.0.{i}" for i in range(addresses)]}]
    return row("EndpointSlice", addressType="IPv4", ports=list(ports), endpoints=endpoints)


def subsets(*ips: str, ports: tuple[int, ...] = ()) -> list[Any]:
    return [{"addresses": [{"ip": one} for one in ips], "ports": [{"port": one} for one in ports]}]


def hpa(**metric: Any) -> str:
    spec = {"maxReplicas": 3, "metrics": [metric], "scaleTargetRef": {"kind": "Deployment", "name": "web"}}
    return str(row("HorizontalPodAutoscaler", spec=spec)[1])


OTHERS = {
    "addresses of a load balancer are sorted, each once": (
        row("Service", spec={"type": "LoadBalancer", "ports": []}, status=balanced("9.9.9.9", "1.1.1.1", "9.9.9.9"))[2],
        "1.1.1.1,9.9.9.9",
    ),
    "a load balancer without address": (row("Service", spec={"type": "LoadBalancer"})[2], "<pending>"),
    "hosts beyond the third": (
        row("Ingress", spec={"rules": [{"host": f"h{i}"} for i in range(5)]})[1],
        "h0,h1,h2 + 2 more...",
    ),
    "a rule without host among three": (
        row("Ingress", spec={"rules": [{"host": "a"}, {}, {"host": "b"}, {"host": "c"}]})[1],
        "a,b,c",
    ),
    "no host": (row("Ingress", spec={"rules": [{}]})[1], "*"),
    "no endpoints": (row("Endpoints"), ["<none>"]),
    "none of the endpoints is ready": (row("Endpoints", subsets=[{"notReadyAddresses": [{"ip": "1.1.1.1"}]}]), [""]),
    "endpoints of two ports": (
        row("Endpoints", subsets=subsets("1.1.1.1", "1.1.1.2", ports=(80, 81))),
        ["1.1.1.1:80,1.1.1.2:80,1.1.1.1:81 + 1 more..."],
    ),
    "an endpoint with an IPv6 address": (row("Endpoints", subsets=subsets("fd00::1", ports=(80,))), ["[fd00::1]:80"]),
    "a slice's port by its name": (slices({"name": "http"}, {}), ["IPv4", "http,*", "<unset>"]),
    "a slice with four addresses": (
        slices({"port": 80}, addresses=4),
        ["IPv4", "80", "10.0.0.0,10.0.0.1,10.0.0.2 + 1 more..."],
    ),
    "a claim that is bound and whose size is not known": (
        row("PersistentVolumeClaim", spec={"volumeName": "v"}, status={"phase": "Bound"})[2],
        "0",
    ),
    "a claim's class by annotation": (
        row("PersistentVolumeClaim", metadata={"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}})[4],
        "old",
    ),
    "a default class by the old annotation": (
        cells(
            next(one for one in TABLE.resources if one.kind == "StorageClass"),
            {
                "metadata": {
                    "name": "s",
                    "annotations": {"storageclass.beta.kubernetes.io/is-default-class": "true"},
                }
            },
            NOW,
        )[0],
        "s (default)",
    ),
    "a resource metric without a target": (hpa(type="Resource", resource={"name": "cpu"}), "cpu: <unknown>/<auto>"),
    "a metric of an unknown type": (hpa(type="Other"), "<unknown type>"),
    "an average of an external metric": (
        hpa(type="External", external={"target": {"averageValue": "5"}}),
        "<unknown>/5 (avg)",
    ),
    "webhooks are counted": (row("MutatingWebhookConfiguration", webhooks=[{}, {}]), [2]),
    "a policy with a parameter": (
        row("ValidatingAdmissionPolicy", spec={"validations": [{}], "paramKind": {"apiVersion": "v1", "kind": "P"}}),
        [1, "v1/P"],
    ),
    "a binding of a policy": (
        row(
            "ValidatingAdmissionPolicyBinding",
            spec={"policyName": "p", "paramRef": {"name": "n", "namespace": "s"}},
        ),
        ["p", "s/n"],
    ),
    "a flow schema": (
        row("FlowSchema", spec={"priorityLevelConfiguration": {"name": "l"}, "matchingPrecedence": 9}),
        ["l", 9, "<none>", "?"],
    ),
    "a priority level without queues": (
        row("PriorityLevelConfiguration", spec={"type": "Limited", "limited": {"nominalConcurrencyShares": 5}}),
        ["Limited", 5, "<none>", "<none>", "<none>"],
    ),
    "a certificate that was issued": (
        row(
            "CertificateSigningRequest",
            spec={"signerName": "s", "username": "u", "expirationSeconds": 86400},
            status={"conditions": [{"type": "Approved"}], "certificate": "eA=="},
        ),
        ["s", "u", "24h", "Approved,Issued"],
    ),
    "ranges of services": (row("ServiceCIDR", spec={"cidrs": ["10.96.0.0/12", "fd00::/9"]}), ["10.96.0.0/12,fd00::/9"]),
    "an API of this server": (
        row("APIService", status={"conditions": [{"type": "Available", "status": "True"}]}),
        ["Local", "True"],
    ),
}


@pytest.mark.parametrize(("shown", "expected"), OTHERS.values(), ids=OTHERS)
def test_a_row_of_another_kind(shown: Any, expected: Any) -> None:
    assert shown == expected


COLUMN_VALUES = [
    ("string", ".t", "text"),
    ("string", ".i", "5"),
    ("string", ".l", "[1,2]"),
    ("string", ".b", "true"),
    ("integer", ".i", 5),
    ("integer", ".f", 1),
    ("integer", ".t", None),
    ("integer", ".b", None),
    ("number", ".i", 5.0),
    ("number", ".t", None),
    ("boolean", ".b", True),
    ("boolean", ".t", None),
    ("date", ".d", "60m"),
    ("date", ".i", None),
    ("string", ".none", None),
    ("string", ".null", None),
    ("string", ".l[7]", None),
    ("string", ".l[", None),
]


@pytest.mark.parametrize(("kind", "path", "expected"), COLUMN_VALUES)
def test_a_cell_of_a_custom_column_has_the_columns_type(kind: str, path: str, expected: Any) -> None:
    """Source: apiextensions tableconvertor.cellForJSONValue."""
    values = {"t": "text", "i": 5, "f": 1.5, "b": True, "l": [1, 2], "null": None, "d": CREATED}
    column = {"name": "C", "type": kind, "jsonPath": path}
    version = {"name": "v1", "served": True, "schema": {}, "additionalPrinterColumns": [column]}
    (served,) = custom({"spec": {"group": "g.io", "names": {"kind": "Thing"}, "versions": [version]}})
    (found,) = cells(served, {"metadata": {"name": "x"}, **values}, NOW)[1:]
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    ("release", "columns", "shown"),
    [
        ("1.36", ["Name", "Created At"], ["d", CREATED]),
        (
            "1.37",
            ["Name", "Scope", "Versions", "Created At", "Group", "Kind", "ShortNames", "Established"],
            ["d", "Namespaced", "v1(storage),v1beta1", CREATED, "g.io", "Thing", "th,tg", True],
        ),
    ],
)
def test_definitions_show_their_served_versions_since_1_37(release: str, columns: list[str], shown: list[Any]) -> None:
    table = ResourceTable([], Release(release))
    resource = next(one for one in table.resources if one.kind == "CustomResourceDefinition")
    versions = [
        {"name": "v1beta1", "served": True, "storage": False},
        {"name": "v1", "served": True, "storage": True},
        {"name": "v1alpha1", "served": False, "storage": False},
    ]
    names = {"kind": "Thing", "plural": "things", "shortNames": ["th", "tg"]}
    definition = {
        "metadata": {"name": "d", "creationTimestamp": CREATED},
        "spec": {"group": "g.io", "scope": "Namespaced", "names": names, "versions": versions},
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    }
    assert [one.name for one in resource.columns] == columns
    assert cells(resource, definition, NOW) == shown
