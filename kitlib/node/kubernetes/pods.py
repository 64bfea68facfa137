"""A node's pod: created, waited for, attached to, deleted; and what keeps any of it from being left behind.

The node ends with its stream: the container's standard input is closed when the attached connection ends, and the
watchdog with it. The pod object is then deleted by its owner, by the small process beside it (`reaper`) where the owner
was killed, by the garbage collector where the owner's own pod goes; a deadline in the pod holds in any case.

Source: kubelet and CRI `stdin`, `stdinOnce`; SelfSubjectAccessReview; garbage collection by ownerReferences.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable, Iterable
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

RIGHTS = (
    *(("create", "pods"), ("get", "pods"), ("list", "pods"), ("delete", "pods")),
    *(("get", "pods/attach"), ("create", "pods/attach"), ("get", "pods/log")),
)
"""Verb and resource: what a user needs in the namespace. Since 1.35 an attach over WebSocket needs `create` too."""
_FIRST, _SLOWEST = 0.1, 2.0
"""Seconds between two looks at a pod that starts."""
GONE_WITHIN = 10.0
LOOKS_FOR, LOOKS_EVERY = 6.0, 1.0
"""Seconds for which the pods of an owner that was killed are looked for: a request may still be under way."""
LEFT_AFTER = 120.0
"""Seconds after its end from which any process of the kit may delete a node's pod: its owner has read why it ended."""


@dataclass
class NodePod:
    """A pod that runs a node's agent (`kitlib.cluster.nodes.handle.NodeHandle`).

    Attributes:
        api: of the cluster.
        pod: its name.
        id: of the container, as the machine's cgroups and kernel log name it.
        link: the stream.
    """

    api: Api
    pod: str
    id: str
    link: Link

    def close(self) -> None:
        """End the node and delete its pod; a cluster that has gone is no reason to complain."""
        self.link.close()
        delete(self.api, self.pod)
        wait_until_gone(self.api, [self.pod])


def check_rights(api: Api) -> None:
    """Refuse to start where rights are missing; all of them are named at once.

    Raises:
        KubernetesError: naming verbs and resources; or the cluster does not answer.
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
            return  # a cluster that answers no reviews refuses the request itself, and says why
        if not ((said.get("status") or {}).get("allowed")):
            missing.append((verb, resource))
    if missing and ("create", "pods/attach") in missing and ("get", "pods/attach") not in missing:
        missing.remove(("create", "pods/attach"))  # releases before 1.35 ask for `get` alone
    if missing and ("get", "pods/log") in missing:
        missing.remove(("get", "pods/log"))  # it only makes messages better
    if missing:
        raise refusals.missing_rights(missing, api.namespace)


def owner_of(api: Api) -> PodOwner:
    """This process as the owner of pods; with the pod in which it runs, where that is in the same namespace."""
    run, reference = os.environ.get("KITLIB_RUN", ""), None
    if own_namespace() == api.namespace:
        with suppress(RequestFailed):  # it may not be read, or has another name than this host
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
    """Create a pod, wait until it runs, attach to it; where that fails nothing is left.

    Args:
        api: of the cluster.
        node: its name, for messages.
        body: the manifest.
        link: makes the stream's owner of a name and the stream.
        timeout: seconds until its container must run.
        given_up: set where nobody wants the node any more.

    Raises:
        KubernetesError: naming the rule that keeps it from starting.
    """
    name, held = body["metadata"]["name"], None
    try:
        api.request("POST", api.pods(), body)
        running = _wait(api, node, name, timeout, given_up or threading.Event())
        held = link(node, _attach(api, node, name))
        statuses = running["status"]["containerStatuses"]
        return NodePod(api, name, str(statuses[0].get("containerID") or "").rpartition("//")[2] or name, held)
    except BaseException as error:  # an interrupted cell too
        if held is not None:
            held.close()
        delete(api, name)
        if isinstance(error, RequestFailed):
            raise refusals.of_request(error, node, api.namespace) from None
        raise


def _wait(api: Api, node: str, name: str, timeout: float, given_up: threading.Event) -> dict[str, Any]:
    """The pod, once its container runs.

    Raises:
        KubernetesError: it will not, or not in time.
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
    """The stream of a pod that runs; one that ends just now says why.

    Raises:
        RequestFailed, KubernetesError: naming the rule, or the container's last words.
    """
    try:
        return AttachStream(api.attach(name, CONTAINER))
    except RequestFailed as error:
        if error.code in (400, 404, 500):
            _wait(api, node, name, 0.0, threading.Event())
        raise


def _last_words(api: Api, name: str) -> str:
    """The end of a container's log; "" where there is none, or it may not be read."""
    try:
        return " / ".join(str(api.request("GET", api.pods(name, "log"), tailLines=5)).splitlines())[-400:]
    except RequestFailed:
        return ""


def delete(api: Api, name: str) -> bool:
    """Delete a pod; False where the cluster does not answer or refuses."""
    try:
        api.request("DELETE", api.pods(name), timeout=GONE_WITHIN, gracePeriodSeconds=manifest.GRACE)
    except RequestFailed as error:
        return error.code == 404
    return True


def wait_until_gone(api: Api, names: Iterable[str], within: float = GONE_WITHIN) -> list[str]:
    """Wait until pods do not exist any more; those that still do: the kubelet is about to end them."""
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
    """Delete node pods that nobody holds any more: of processes of this machine that have gone, or ended for a while.

    Returns:
        Their names; nothing where pods may not be listed.
    """
    removed = []
    with suppress(RequestFailed):
        for pod in api.request("GET", api.pods(), labelSelector=NODE)["items"]:
            held = str((pod["metadata"].get("annotations") or {}).get(OWNED_BY, ""))
            if (runs_here(held) is False or _left(pod)) and delete(api, pod["metadata"]["name"]):
                removed.append(str(pod["metadata"]["name"]))
    return removed


def _left(pod: dict[str, Any]) -> bool:
    """Whether a pod has ended so long ago that its owner must have seen it."""
    from datetime import UTC, datetime

    if pod["status"].get("phase") not in ("Succeeded", "Failed"):
        return False
    for one in pod["status"].get("containerStatuses") or ():
        with suppress(KeyError, TypeError, ValueError):
            ended = datetime.fromisoformat(one["state"]["terminated"]["finishedAt"].replace("Z", "+00:00"))
            return (datetime.now(UTC) - ended).total_seconds() > LEFT_AFTER
    return False


def reap(label: str, kubeconfig: str, context: str, namespace: str) -> None:
    """Delete the pods of an owner that has gone, until none has come for a while (called by `reaper`).

    Args:
        label: the owner, as its pods' labels name it.
        kubeconfig, context, namespace: the cluster.
    """
    with suppress(KitError):
        api = Api(Place(kubeconfig, context, namespace))
        last = time.monotonic()
        while time.monotonic() < last + LOOKS_FOR:
            with suppress(RequestFailed):  # the cluster may be about to come back
                for pod in api.request("GET", api.pods(), labelSelector=f"{OWNER}={label}")["items"]:
                    if not pod["metadata"].get("deletionTimestamp"):
                        last = time.monotonic()
                        delete(api, pod["metadata"]["name"])
            time.sleep(LOOKS_EVERY)
