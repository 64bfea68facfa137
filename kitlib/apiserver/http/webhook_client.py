"""Calls of webhooks over HTTPS.

Source: apiserver pkg/util/webhook/client.go (ClientManager.HooksClient).
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from kitlib.api.errors import KitError
from kitlib.apiserver.admission.webhook_calls import Answer, Attempts, WebhookCall, WebhookError, WebhookServer
from kitlib.apiserver.http.pod_sockets import connect

MAX_ANSWER = 3 << 20
"""The maximum number of a response's bytes that are read."""


class WebhookClient:
    """A synchronous caller of webhooks.

    Args:
        cluster: the served `Cluster`, through whose nodes webhooks in pods are reached.
    """

    def __init__(self, cluster: Any) -> None:
        self.defers, self._cluster = False, cluster

    def perform(self, call: WebhookCall) -> Answer:
        """Call a webhook; an error is returned, not raised."""
        try:
            return self._post(call.target, json.dumps(call.review, default=str).encode())
        except WebhookError as error:
            return error

    def start(self, calls: Sequence[WebhookCall], attempts: Attempts, again: Callable[[], object]) -> None:
        """Call webhooks at once and continue."""
        attempts.answers |= {call.key: self.perform(call) for call in calls}
        again()

    def _post(self, target: WebhookServer, body: bytes) -> dict[str, Any]:
        parts = urlsplit(target.url)
        query = f"{parts.query}&" if parts.query else ""
        path = f"{parts.path or '/'}?{query}timeout={target.timeout:g}s"
        url = f"{parts.scheme}://{parts.netloc}{path}"
        authority = target.authority.decode("ascii", "replace") or None
        try:
            context = ssl.create_default_context(cadata=authority)
            with self._connect(target) as plain:
                connection = http.client.HTTPConnection(target.host, target.port, timeout=target.timeout)
                connection.sock = context.wrap_socket(plain, server_hostname=target.server_name)
                headers = {"Content-Type": "application/json", "Accept": "application/json", "Host": parts.netloc}
                connection.request("POST", path, body, headers)
                answer = connection.getresponse()
                text = answer.read(MAX_ANSWER)
                connection.close()
        except TimeoutError:
            raise WebhookError(f'Post "{url}": context deadline exceeded') from None
        except ConnectionRefusedError:
            place = f"{target.host}:{target.port}"
            raise WebhookError(f'Post "{url}": dial tcp {place}: connect: connection refused') from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise WebhookError(f'Post "{url}": {error}') from None
        if answer.status >= 400:
            raise WebhookError(
                f"the server returned the status {answer.status}: {text[:200].decode('utf-8', 'replace')}"
            )
        try:
            made = json.loads(text)
        except ValueError:
            made = None
        if not isinstance(made, dict):
            raise WebhookError("the answer is no JSON object")
        return made

    def _connect(self, target: WebhookServer) -> socket.socket:
        """Connect to a webhook's server, directly or through the node of its pod.

        Raises:
            OSError: it does not answer.
            WebhookError: the pod cannot be reached.
        """
        if target.pod is None:
            return socket.create_connection((target.host, target.port), target.timeout)
        node, namespace, pod, port = target.pod
        try:
            with self._cluster.lock:
                found = self._cluster.node(node)
            if not hasattr(found, "connect"):
                raise KitError("no containers run on a hollow node")
            return connect(found, namespace, pod, port, target.timeout)
        except KitError as error:
            advice = "name the webhook's server by clientConfig.url, or by a Service of type ExternalName"
            raise WebhookError(f"pod {namespace}/{pod} on node {node}, port {port}: {error} ({advice})") from None


class BackgroundClient(WebhookClient):
    """A caller of webhooks in the background, during which a controller continues with other keys.

    The lock is free during the calls, so that a webhook may read from the API.

    """

    def __init__(self, cluster: Any) -> None:
        super().__init__(cluster)
        self.defers = True

    def start(self, calls: Sequence[WebhookCall], attempts: Attempts, again: Callable[[], object]) -> None:
        """Call webhooks in a thread; `again` is called with the lock held after they have responded."""
        arguments = (calls, attempts, again)
        threading.Thread(target=self._run, args=arguments, name="kitlib-webhooks", daemon=True).start()

    def _run(self, calls: Sequence[WebhookCall], attempts: Attempts, again: Callable[[], object]) -> None:
        made = [self.perform(call) for call in calls]
        with self._cluster.lock:
            attempts.answers |= {call.key: answer for call, answer in zip(calls, made, strict=True)}
            again()
            self._cluster.settle()
