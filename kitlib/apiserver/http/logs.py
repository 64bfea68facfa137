"""`kubectl logs`: the container and the options of the log.

Source: pkg/registry/core/pod LogLocation, validateLogOptions; kubelet validateContainerLogStatus.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from kitlib.api.streams import Heard, LogOptions, Stream, StreamNode
from kitlib.apiserver.http.request import Request, Target
from kitlib.apiserver.http.resources import APIResource
from kitlib.apiserver.http.rest import Rest
from kitlib.apiserver.http.status import StatusError


@dataclass(frozen=True)
class LogRequest:
    """A request for a container's log.

    Attributes:
        node: the container's node; None = the log is empty.
        namespace: the pod's namespace.
        pod: the pod's name.
        container: the container's name.
        options: the part of the log to read.
    """

    node: StreamNode | None
    namespace: str
    pod: str
    container: str
    options: LogOptions

    def open(self, heard: Heard) -> Stream | None:
        """Open the log; None if it is empty.

        Raises:
            KitError: the node's error.
        """
        if self.node is None:
            return None
        return self.node.follow(self.namespace, self.pod, self.container, heard, self.options)


def log_request(rest: Rest, served: APIResource, target: Target, request: Request) -> LogRequest:
    """Return the log that a request asks for.

    Raises:
        StatusError: the container does not exist or has not started, or an option is invalid.
    """
    pod = rest.get(served, target.namespace, target.name)
    container = _container(pod, request.get("container"), target.name)
    options = _options(request, target.name)
    node = pod["spec"].get("nodeName")
    if not node:
        return LogRequest(None, target.namespace, target.name, container, options)
    _check_started(pod, container, target.name, options.previous)
    machine = rest.cluster.node(node)
    if not hasattr(machine, "follow"):
        machine = None
    return LogRequest(machine, target.namespace, target.name, container, options)


def _container(pod: dict[str, Any], asked: str, name: str) -> str:
    fields = ("initContainers", "containers", "ephemeralContainers")
    names = {field: [str(one["name"]) for one in pod["spec"].get(field) or ()] for field in fields}
    if asked:
        if asked not in [one for some in names.values() for one in some]:
            raise StatusError(400, f"container {asked} is not valid for pod {name}")
        return asked
    mains = names["containers"]
    if len(mains) > 1:
        why = f"a container name must be specified for pod {name}, choose one of: [{' '.join(mains)}]"
        inits = names["initContainers"]
        raise StatusError(400, f"{why} or one of the init containers: [{' '.join(inits)}]" if inits else why)
    return mains[0]


def _options(request: Request, name: str) -> LogOptions:
    wrong = ""
    tail, limit = request.number("tailLines"), request.number("limitBytes")
    seconds = request.number("sinceSeconds")
    if tail is not None and tail < 0:
        wrong = f"tailLines: Invalid value: {tail}: must be greater than or equal to 0"
    elif limit is not None and limit < 1:
        wrong = f"limitBytes: Invalid value: {limit}: must be greater than 0"
    elif seconds is not None and seconds < 1:
        wrong = f"sinceSeconds: Invalid value: {seconds}: must be greater than 0"
    elif seconds is not None and request.get("sinceTime"):
        wrong = "sinceTime: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
    if wrong:
        raise StatusError(422, f'PodLogOptions "{name}" is invalid: {wrong}', "Invalid")
    since = time.time() - seconds if seconds is not None else _time(request.get("sinceTime"))
    flags = {option: request.flag(option) for option in ("follow", "previous", "timestamps")}
    return LogOptions(**flags, tail=tail, limit=limit, since=since)


def _time(text: str) -> float:
    from datetime import datetime

    if not text:
        return 0.0
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise StatusError(400, f'parsing time "{text[:40]}" as RFC 3339: cannot parse') from None


def _check_started(pod: dict[str, Any], container: str, name: str, previous: bool) -> None:
    status = pod.get("status") or {}
    fields = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
    found = next((one for field in fields for one in status.get(field) or () if one["name"] == container), None)
    what = f'container "{container}" in pod "{name}"'
    if found is None:
        raise StatusError(400, f"{what} is not available")
    state, last = found.get("state") or {}, found.get("lastState") or {}
    if previous and "terminated" not in last:
        raise StatusError(400, f'previous terminated container "{container}" in pod "{name}" not found')
    if not previous and "waiting" in state and "terminated" not in last:
        waiting = state["waiting"] or {}
        reason = waiting.get("reason", "")
        if reason in ("ErrImagePull", "ImagePullBackOff"):
            why = "image can't be pulled" if reason == "ErrImagePull" else "trying and failing to pull image"
            raise StatusError(400, f"{what} is waiting to start: {why}")
        raise StatusError(400, f"{what} is waiting to start: {reason}")
