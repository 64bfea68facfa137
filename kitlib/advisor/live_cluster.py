"""A running cluster: its objects are read through the official client, with the user's own rights, read-only.

    dump = read_cluster(context="production")       # as `kubectl --context production get …` would see it
    dump.explain(dump.pod("web-0"))

Only `get` and `list` are used. A kind that the user cannot list, or that the cluster does not have, is omitted, and
`dump.left_out` names it.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import msgspec

from kitlib.advisor.dump import Dump
from kitlib.api.errors import KitError
from kitlib.api.release import RELEASES, Release
from kitlib.node.kubernetes.client import api_client
from kitlib.scheduler.profile import Profile

NEEDED = (("", "v1", "nodes", "Node"), ("", "v1", "pods", "Pod"))
"""Required kinds: group, version, plural, kind."""
HELPFUL = (
    ("", "v1", "namespaces", "Namespace"),
    ("", "v1", "services", "Service"),
    ("", "v1", "replicationcontrollers", "ReplicationController"),
    ("", "v1", "resourcequotas", "ResourceQuota"),
    ("", "v1", "limitranges", "LimitRange"),
    ("apps", "v1", "deployments", "Deployment"),
    ("apps", "v1", "daemonsets", "DaemonSet"),
    ("batch", "v1", "jobs", "Job"),
    ("batch", "v1", "cronjobs", "CronJob"),
    ("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
    ("apps", "v1", "replicasets", "ReplicaSet"),
    ("apps", "v1", "statefulsets", "StatefulSet"),
    ("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    ("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass"),
    ("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    ("", "v1", "persistentvolumes", "PersistentVolume"),
    ("storage.k8s.io", "v1", "storageclasses", "StorageClass"),
    ("storage.k8s.io", "v1", "csinodes", "CSINode"),
    ("storage.k8s.io", "v1", "csidrivers", "CSIDriver"),
    ("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity"),
    ("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment"),
)
OPTIONAL = (
    ("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup"),
    ("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup"),
    ("scheduling.k8s.io", "v1alpha1", "workloads", "Workload"),
    ("kueue.x-k8s.io", "v1beta2", "workloads", "Workload"),
    ("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue"),
    ("kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue"),
    ("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"),
    ("scheduling.volcano.sh", "v1beta1", "queues", "Queue"),
    ("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup"),
    ("karpenter.sh", "v1", "nodepools", "NodePool"),
    ("karpenter.sh", "v1", "nodeclaims", "NodeClaim"),
    ("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject"),
    ("autoscaling.k8s.io", "v1", "verticalpodautoscalers", "VerticalPodAutoscaler"),
    ("metrics.k8s.io", "v1beta1", "pods", "PodMetrics"),
)
"""Kinds that many clusters do not have; a missing one is not reported."""
DEVICES = (
    ("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"),
    ("resource.k8s.io", "v1", "deviceclasses", "DeviceClass"),
    ("resource.k8s.io", "v1", "resourceslices", "ResourceSlice"),
)
"""Kinds that are read if a pod claims devices; releases before 1.34 do not have them."""
PAGE = 500
"""Number of objects per request; a large cluster is read in pages, as by kubectl."""
TIMEOUT = 30


def read_cluster(
    kubeconfig: str = "",
    *,
    context: str = "",
    release: Release | str | None = None,
    profile: Profile | None = None,
) -> Dump:
    """Read the objects that the scheduler uses from a running cluster.

    Args:
        kubeconfig: path of the file; "" = $KUBECONFIG or ~/.kube/config, inside a pod its service account.
        context: context in that file; "" = the current one.
        release: release of the scheduler; None = the cluster's own version, if the kit supports it.
        profile: plugins of the scheduler; None = the defaults.

    Raises:
        KitError: the client is not installed, the cluster does not respond, or the user cannot list nodes and pods.
    """
    client = api_client(kubeconfig, context)
    items: list[dict[str, Any]] = []
    missing: list[str] = []
    listed: list[str] = []
    wanted = [*NEEDED, *HELPFUL, *OPTIONAL]
    for group, version, plural, kind in wanted:
        try:
            found = _list(client, group, version, plural, kind)
        except _Refused as refused:
            if kind in ("Node", "Pod"):
                raise KitError(
                    f"cannot list {plural}: {refused}; kitlib cannot explain scheduling without them"
                ) from None
            optional = (group, version, plural, kind) in OPTIONAL
            if not (refused.absent and optional):
                missing.append(f"{plural}.{group}" if optional else plural)
            continue
        items += found
        listed.append(kind)
        if kind == "Pod" and any((pod.get("spec") or {}).get("resourceClaims") for pod in found):
            # This extends the list of the running loop: the kinds of devices are read only if a pod needs them.
            wanted += DEVICES
    server = _version_of(client)
    name = ".".join(server.removeprefix("v").split(".")[:2])
    own = Release(name) if name in RELEASES else None
    dump = Dump.of_items(items, release=release or own, profile=profile, listed=listed)
    dump.server = server
    if missing:
        said = f"{', '.join(missing)}: they cannot be listed"
        dump.left_out = f"{dump.left_out}; {said}" if dump.left_out else said
    return dump


class _Refused(Exception):
    """An error for a kind that cannot be listed; `absent`: the cluster does not have it."""

    absent = False


def _get(client: Any, path: str, **query: Any) -> dict[str, Any]:
    """Send a GET request and return plain data.

    Raises:
        _Refused: 401, 403, 404, and 503, with which the API server answers while an aggregated API is unavailable.
        KitError: there is no response, or an unexpected one.
    """
    from kubernetes.client.exceptions import ApiException

    asked = urlencode({name: value for name, value in query.items() if value})
    configuration = client.configuration
    headers = {"Accept": "application/json"}
    for setting in configuration.auth_settings().values():
        headers[setting["key"]] = setting["value"]
    url = f"{configuration.host}{path}{'?' if asked else ''}{asked}"
    try:
        answer = client.rest_client.request("GET", url, headers=headers, _request_timeout=TIMEOUT)
        status, reason = answer.status, answer.reason
        body = answer.read() if hasattr(answer, "read") else answer.data
    except ApiException as error:  # older clients raise it here, newer ones when the response is decoded
        status, reason, body = error.status, error.reason, b""
    except Exception as error:  # urllib3's errors: no route, no DNS name, an invalid certificate
        raise KitError(f"{configuration.host}: {error}") from None
    if status in (401, 403, 404, 503):
        refused = _Refused(f"{status} {reason}")
        refused.absent = status == 404
        raise refused
    if not 200 <= status < 300:
        raise KitError(f"{configuration.host}{path}: {status} {reason}")
    try:
        return dict(msgspec.json.decode(body))
    except (msgspec.DecodeError, TypeError, ValueError) as error:
        raise KitError(f"{configuration.host}{path}: the response is not a JSON object: {error}") from None


def _list(client: Any, group: str, version: str, plural: str, kind: str) -> list[dict[str, Any]]:
    """Return all objects of a kind, page by page, with apiVersion and kind, which a list's items lack."""
    path = f"/apis/{group}/{version}/{plural}" if group else f"/api/{version}/{plural}"
    found: list[dict[str, Any]] = []
    token = ""
    while True:
        page = _get(client, path, limit=PAGE, **{"continue": token})
        for item in page.get("items") or ():
            found.append({"apiVersion": f"{group}/{version}" if group else version, "kind": kind, **item})
        token = (page.get("metadata") or {}).get("continue", "")
        if not token:
            return found


def _version_of(client: Any) -> str:
    """Return the API server's version, `v1.37.1`; "" if it is not readable."""
    try:
        said = _get(client, "/version")
    except _Refused:
        return ""
    return str(said.get("gitVersion") or f"v{said.get('major', '')}.{str(said.get('minor', '')).rstrip('+')}")
