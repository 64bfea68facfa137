"""A server that has answered many requests and watches holds no more files, threads and memory than after the first.

A short sample; `KITLIB_NIGHTLY=1` sends 10,000 requests and opens 500 watches.
"""

from __future__ import annotations

import gc
import http.client
import json
import os
import ssl
import threading
import time
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kitlib.apiserver.http import serve
from kitlib.cluster import Cluster
from tests.apiserver.http.test_server import fetch

NIGHTLY = bool(os.environ.get("KITLIB_NIGHTLY"))
REQUESTS, WATCHES = (10_000, 500) if NIGHTLY else (100, 25)
AT_ONCE = 25
MAPS = "/api/v1/namespaces/default/configmaps"


def client(service: Any) -> http.client.HTTPSConnection:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return http.client.HTTPSConnection("127.0.0.1", service.port, timeout=60, context=context)


def ask(connection: http.client.HTTPSConnection, service: Any, method: str, path: str, body: Any = None) -> int:
    head = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), head)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def worked(service: Any, requests: int, watches: int) -> None:
    with closing(client(service)) as connection:
        for number in range(requests // 5):
            name = f"{MAPS}/a-{number % 7}"
            made = {"metadata": {"name": f"a-{number % 7}"}, "data": {"x": str(number)}}
            codes = [
                ask(connection, service, *one)
                for one in (("POST", MAPS, made), ("GET", name), ("GET", MAPS), ("GET", "/nothing"), ("DELETE", name))
            ]
            assert codes == [201, 200, 200, 404, 200]
    for _ in range(0, watches, AT_ONCE):
        opened = [fetch(service, f"{MAPS}?watch=true&timeoutSeconds=600") for _ in range(AT_ONCE)]
        for one in opened:
            one.close()


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.thorough
def test_many_requests_and_watches_leave_nothing() -> None:
    with Cluster.simulated(1) as cluster, serve(cluster, pace=0) as service:
        worked(service, 50, AT_ONCE)
        settled(service)
        files, threads = descriptors(), threading.active_count()
        if NIGHTLY:
            tracemalloc.start()
        worked(service, REQUESTS, WATCHES)
        settled(service)
        gc.collect()
        # the last connections may still be closing; one for each watch would be more
        assert descriptors() < files + AT_ONCE // 2
        assert threading.active_count() <= threads
        if NIGHTLY:
            grown = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            # what is kept up to a bound (history, audit) fills: 2 KB for each of 10,000, and the strings in it
            assert grown < 64 << 20, f"{grown >> 20} MiB"


def settled(service: Any) -> None:
    """Until the server has noticed that all its clients have gone."""
    end = time.monotonic() + 60
    while service.watches and time.monotonic() < end:
        with closing(client(service)) as connection:  # a change wakes the watches
            ask(connection, service, "POST", MAPS, {"metadata": {"name": "wake"}})
            ask(connection, service, "DELETE", f"{MAPS}/wake")
    assert service.watches == 0
