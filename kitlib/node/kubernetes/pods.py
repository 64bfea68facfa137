"""The life of a node's pod: creation, start, attachment, deletion, and the removal of orphans.

The node ends with its stream: the end of the attached connection closes the container's standard input, at which the
watchdog exits. The pod object is then deleted by its owner; by the process `reaper` if the owner was killed; by the
garbage collector if the owner's own pod is deleted. The pod's deadline applies in any case.

Source: kubelet and CRI `stdin`, `stdinOnce`; SelfSubjectAccessReview; garbage collection by ownerReferences.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kitlib.api.errors import KitError
from kitlib.node.kubernetes import manifest, refusals
from kitlib.node.kubernetes.attach import AttachStream
from kitlib.node.kubernetes.client import Api, KubernetesError, Place, RequestFailed, own_namespace
from kitlib.node.kubernetes.manifest import CONTAINER, NODE, OWNED_BY, OWNER, PodOwner
from kitlib.node.real.container import owner as this_process
from kitlib.node.real.container import runs_here
from kitlib.node.real.link import Link
from kitlib.node.real.reaper import until_none_comes

RIGHTS = (
    *(("create", "pods"), ("get", "pods"), ("list", "pods"), ("delete", "pods")),
    *(("get", "pods/attach"), ("create", "pods/attach"), ("get", "pods/log")),
)
"""Rights that a user needs in the namespace: (verb, resource). Since 1.35 attach over WebSocket needs `create` too."""
_FIRST, _SLOWEST = 0.1, 2.0
"""Minimum and maximum seconds between two reads of a starting pod."""
GONE_WITHIN = 10.0
LOOKS_FOR, LOOKS_EVERY = 6.0, 1.0
"""Duration and interval, in seconds, of the search for a killed owner's pods: a creation may still be in progress."""
LEFT_AFTER = 120.0
"""Seconds after its end from which any process of the kit may delete a node's pod: its owner has read the reason."""


@dataclass
class NodePod:
    """A pod that runs a node's agent (`kitlib.cluster.nodes.handle.NodeHandle`).

    Attributes:
        api: API of the cluster.
        pod: name of the pod.
        id: id of the container, as in the machine's cgroup paths and kernel log.
        link: the container's streams.
        maps_users: whether the pod asked for a user namespace (`hostUsers: false`).
    """

    api: Api
    pod: str
    id: str
    link: Link
    maps_users: bool = False

    def check(self, facts: Mapping[str, Any]) -> None:
        """Check from inside the node that `hostUsers: false` had an effect: old runtimes ignore it without an error.

        Raises:
            KubernetesError: root of the node is root of the machine.
        """
        if self.maps_users and not facts.get("root_mapped"):
            raise KubernetesError(
                f"pod {self.api.namespace}/{self.pod}: spec.hostUsers: false had no effect: user 0 of the node is user "
                "0 of the machine (/proc/self/uid_map in the node). It requires Linux 6.3, containerd 2.0 and runc 1.2 "
                "on the machine; update them, or omit hostUsers"
            )

    def close(self) -> None:
        """End the node and delete its pod; an unreachable cluster is not an error."""
        self.link.close()
        delete(self.api, self.pod)
        wait_until_gone(self.api, [self.pod])


def check_rights(api: Api) -> None:
    """Check all rights that node pods need.

    Raises:
        KubernetesError: rights are missing (the message lists all of them), or the cluster does not answer.
    """
    missing = []
    for verb, resource in RIGHTS:
        name, _, subresource = resource.partition("/")
        attributes = {"namespace": api.namespace, "verb": verb, "resource": name, "subresource": subresource}
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {k: v for k, v in attributes.items() if v}},
        }
        try:
            said = api.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
        except RequestFailed as error:
            if error.code in (0, 401):
                raise KubernetesError(f"node pods: {refusals.explained(error, api.namespace)}") from None
            return  # without reviews of access the later request itself fails, with the API server's reason
        if not ((said.get("status") or {}).get("allowed")):
            missing.append((verb, resource))
    if missing and ("create", "pods/attach") in missing and ("get", "pods/attach") not in missing:
        missing.remove(("create", "pods/attach"))  # releases before 1.35 check only `get`
    if missing and ("get", "pods/log") in missing:
        missing.remove(("get", "pods/log"))  # optional: it only adds the log to messages
    if missing:
        raise refusals.missing_rights(missing, api.namespace)


def owner_of(api: Api) -> PodOwner:
    """Return this process as an owner of pods, with an ownerReference if its own pod is in the same namespace."""
    run, reference = os.environ.get("KITLIB_RUN", ""), None
    if own_namespace() == api.namespace:
        with suppress(RequestFailed):  # the pod cannot be read, or its name is not the host's
            own = api.request("GET", api.pods(os.environ.get("POD_NAME") or platform.node()))
            reference = {"apiVersion": "v1", "kind": "Pod"} | {k: own["metadata"][k] for k in ("name", "uid")}
    return PodOwner(this_process(), run, reference)


def start(
    api: Api,
    node: str,
    body: dict[str, Any],
    *,
    link: Callable[[str, Any], Link] = Link,
    timeout: float,
    given_up: threading.Event | None = None,
) -> NodePod:
    """Create a pod, wait until it runs, and attach to it; after a failure the pod is deleted.

    Args:
        api: API of the cluster.
        node: name of the node, for messages.
        body: the pod's manifest.
        link: returns the owner of a stream, from the node's name and the stream.
        timeout: maximum seconds until the container runs.
        given_up: event that is set when the node is no longer needed.

    Raises:
        KubernetesError: the pod cannot start; the message names the rule that prevents it.
    """
    name, held = body["metadata"]["name"], None
    try:
        api.request("POST", api.pods(), body)
        running = _wait(api, node, name, timeout, given_up or threading.Event())
        held = link(node, _attach(api, node, name))
        statuses = running["status"]["containerStatuses"]
        identity = str(statuses[0].get("containerID") or "").rpartition("//")[2] or name
        return NodePod(api, name, identity, held, body["spec"].get(manifest.HOST_USERS) is False)
    except BaseException as error:  # also KeyboardInterrupt: the pod must not be left
        if held is not None:
            held.close()
        delete(api, name)
        if isinstance(error, RequestFailed):
            raise refusals.of_request(error, node, api.namespace) from None
        raise


def _wait(api: Api, node: str, name: str, timeout: float, given_up: threading.Event) -> dict[str, Any]:
    """Return the pod as soon as its container runs.

    Raises:
        KubernetesError: the container cannot run, does not run in time, or is no longer needed.
    """
    deadline, pause = time.monotonic() + timeout, _FIRST
    while True:
        found: dict[str, Any] = api.request("GET", api.pods(name))
        if refusals.is_running(found):
            return found
        if why := refusals.of_pod(found):
            said = _last_words(api, name)
            why += f"; it said: {said}" if said else ""
            raise KubernetesError(f"node {node}: pod {api.namespace}/{name}: {why}")
        left = deadline - time.monotonic()
        if left <= 0:
            raise KubernetesError(
                f"node {node}: pod {api.namespace}/{name} does not run after {timeout:g} s: {refusals.waits_for(found)}"
            )
        if given_up.wait(min(pause, left)):
            raise KubernetesError(f"node {node}: it is not wanted any more")
        pause = min(_SLOWEST, pause * 1.5)


def _attach(api: Api, node: str, name: str) -> AttachStream:
    """Return the streams of a running pod.

    Raises:
        RequestFailed: the API server rejects the request.
        KubernetesError: the container has just ended; the message has the end of its log.
    """
    try:
        return AttachStream(api.attach(name, CONTAINER))
    except RequestFailed as error:
        if error.code in (400, 404, 500):
            _wait(api, node, name, 0.0, threading.Event())
        raise


def _last_words(api: Api, name: str) -> str:
    """Return the end of a container's log; "" if it is empty or cannot be read."""
    try:
        return " / ".join(str(api.request("GET", api.pods(name, "log"), tailLines=5)).splitlines())[-400:]
    except RequestFailed:
        return ""


def delete(api: Api, name: str) -> bool:
    """Delete a pod; return False if the cluster rejects the request or does not answer."""
    try:
        api.request("DELETE", api.pods(name), timeout=GONE_WITHIN, gracePeriodSeconds=manifest.GRACE)
    except RequestFailed as error:
        return error.code == 404
    return True


def wait_until_gone(api: Api, names: Iterable[str], within: float = GONE_WITHIN) -> list[str]:
    """Wait until pods do not exist, and return the names of those that still exist after `within` seconds."""
    left, deadline, pause = list(names), time.monotonic() + within, _FIRST
    while left:
        try:
            left = [name for name in left if _exists(api, name)]
        except RequestFailed:
            return left
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(pause)
        pause = min(1.0, pause * 1.5)
    return left


def _exists(api: Api, name: str) -> bool:
    try:
        api.request("GET", api.pods(name), timeout=GONE_WITHIN)
    except RequestFailed as error:
        if error.code == 404:
            return False
        raise
    return True


def sweep(api: Api) -> list[str]:
    """Delete node pods whose owner on this machine has ended, or that ended more than `LEFT_AFTER` seconds ago.

    Returns:
        The names of the deleted pods; none if pods cannot be listed.
    """
    removed = []
    with suppress(RequestFailed):
        for pod in api.request("GET", api.pods(), labelSelector=NODE)["items"]:
            held = str((pod["metadata"].get("annotations") or {}).get(OWNED_BY, ""))
            if (runs_here(held) is False or _left(pod)) and delete(api, pod["metadata"]["name"]):
                removed.append(str(pod["metadata"]["name"]))
    return removed


def _left(pod: dict[str, Any]) -> bool:
    """Return whether a pod ended more than `LEFT_AFTER` seconds ago."""
    from datetime import UTC, datetime

    if pod["status"].get("phase") not in ("Succeeded", "Failed"):
        return False
    for one in pod["status"].get("containerStatuses") or ():
        with suppress(KeyError, TypeError, ValueError):
            ended = datetime.fromisoformat(one["state"]["terminated"]["finishedAt"].replace("Z", "+00:00"))
            return (datetime.now(UTC) - ended).total_seconds() > LEFT_AFTER
    return False


def reap(label: str, kubeconfig: str, context: str, namespace: str) -> None:
    """Delete the pods of an ended owner until no new one has appeared for `LOOKS_FOR` seconds (called by `reaper`).

    Args:
        label: the owner's label value.
        kubeconfig: path of the kubeconfig; "" = kubectl's default.
        context: name of a context; "" = the current one.
        namespace: namespace of the node pods.
    """
    with suppress(KitError):
        api = Api(Place(kubeconfig, context, namespace))

        def remove() -> bool:
            found = api.request("GET", api.pods(), labelSelector=f"{OWNER}={label}")["items"]
            standing = [pod["metadata"]["name"] for pod in found if not pod["metadata"].get("deletionTimestamp")]
            for name in standing:
                delete(api, name)
            return bool(standing)

        until_none_comes(remove, LOOKS_FOR, LOOKS_EVERY)
