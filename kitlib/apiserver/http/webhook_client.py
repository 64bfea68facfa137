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
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import urlsplit

from kitlib.apiserver.admission.webhook_calls import Answer, Attempts, WebhookCall, WebhookError, WebhookServer

MAX_ANSWER = 3 << 20
"""The maximum number of a response's bytes that are read."""


class WebhookClient:
    """A synchronous caller of webhooks."""

    def __init__(self) -> None:
        self.defers = False

    def perform(self, call: WebhookCall) -> Answer:
        """Call a webhook; an error is returned, not raised."""
        return perform(call)

    def start(self, calls: Sequence[WebhookCall], attempts: Attempts, again: Callable[[], object]) -> None:
        """Call webhooks at once and continue."""
        attempts.answers |= {call.key: self.perform(call) for call in calls}
        again()


class BackgroundClient(WebhookClient):
    """A caller of webhooks in the background, during which a controller continues with other keys.

    The lock is free during the calls, so that a webhook may read from the API.

    Args:
        lock: the cluster's lock.
        settle: lets the controllers run; called with the lock held.
    """

    def __init__(self, lock: AbstractContextManager[Any], settle: Callable[[], object]) -> None:
        self._lock, self._settle = lock, settle
        self.defers = True

    def start(self, calls: Sequence[WebhookCall], attempts: Attempts, again: Callable[[], object]) -> None:
        """Call webhooks in a thread; `again` is called with the lock held after they have responded."""
        arguments = (calls, attempts, again)
        threading.Thread(target=self._run, args=arguments, name="kitlib-webhooks", daemon=True).start()

    def _run(self, calls: Sequence[WebhookCall], attempts: Attempts, again: Callable[[], object]) -> None:
        made = [self.perform(call) for call in calls]
        with self._lock:
            attempts.answers |= {call.key: answer for call, answer in zip(calls, made, strict=True)}
            again()
            self._settle()


def perform(call: WebhookCall) -> Answer:
    """Call a webhook; an error is returned, not raised."""
    try:
        return _post(call.target, json.dumps(call.review, default=str).encode())
    except WebhookError as error:
        return error


def _post(target: WebhookServer, body: bytes) -> dict[str, Any]:
    parts = urlsplit(target.url)
    query = f"{parts.query}&" if parts.query else ""
    path = f"{parts.path or '/'}?{query}timeout={target.timeout:g}s"
    url = f"{parts.scheme}://{parts.netloc}{path}"
    authority = target.authority.decode("ascii", "replace") or None
    try:
        context = ssl.create_default_context(cadata=authority)
        with socket.create_connection((target.host, target.port), target.timeout) as plain:
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
        raise WebhookError(f"the server returned the status {answer.status}: {text[:200].decode('utf-8', 'replace')}")
    try:
        made = json.loads(text)
    except ValueError:
        made = None
    if not isinstance(made, dict):
        raise WebhookError("the answer is no JSON object")
    return made
