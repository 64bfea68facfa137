"""A served cluster without a socket, and one call to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kitlib.apiserver.http.dispatcher import Dispatcher, Response
from kitlib.apiserver.http.request import Request
from kitlib.cluster import Cluster

Call = Callable[..., tuple[int, Any]]


def call_of(dispatcher: Dispatcher) -> Call:
    """A function that sends one request and gives back code and body."""

    def call(method: str, url: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        path, _, query = url.partition("?")
        pairs = [pair.partition("=") for pair in query.split("&") if pair]
        parameters: dict[str, list[str]] = {}
        for name, _, value in pairs:
            parameters.setdefault(name, []).append(value)
        sent = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = dispatcher.handle(Request(method, path, parameters, named, sent))
        if not isinstance(answer, Response):
            return 200, answer
        text = answer.body
        return answer.code, json.loads(text) if answer.content_type.startswith("application/json") else text

    return call


@pytest.fixture
def cluster() -> Any:
    """Two simulated nodes."""
    with Cluster.simulated(2) as made:
        yield made


@pytest.fixture
def call(cluster: Any) -> Call:
    return call_of(Dispatcher(cluster))
