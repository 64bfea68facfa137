"""Many watchers hear every change, in order, while changes come fast.

A short sample; `KITLIB_NIGHTLY=1` has 50 watchers and 3,000 changes.
"""

from __future__ import annotations

import os
import re
import threading
import time
from typing import Any

from kitlib.apiserver.http import serve
from kitlib.cluster import Cluster
from tests.apiserver.http.test_server import fetch

NIGHTLY = bool(os.environ.get("KITLIB_NIGHTLY"))
WATCHERS, CHANGES = (50, 3_000) if NIGHTLY else (8, 200)
MAPS = "/api/v1/namespaces/default/configmaps"
_TURN = re.compile(rb'"turn":\s*"(\d+)"')


def changed(cluster: Cluster, turn: int) -> None:
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "clock"}, "data": {"turn": str(turn)}})


def heard_by(service: Any, version: int, heard: list[int]) -> None:
    with fetch(service, f"{MAPS}?watch=true&resourceVersion={version}&timeoutSeconds=600") as lines:
        for line in lines:
            found = _TURN.search(line)
            assert found is not None, line
            heard.append(int(found[1]))
            if heard[-1] == CHANGES:
                return


def test_every_watcher_hears_every_change_in_order(capsys: Any) -> None:
    with Cluster.simulated(0) as cluster, serve(cluster, pace=0) as service:
        changed(cluster, 0)
        heard: list[list[int]] = [[] for _ in range(WATCHERS)]
        version = cluster.api.store.version
        threads = [threading.Thread(target=heard_by, args=(service, version, one), daemon=True) for one in heard]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        for turn in range(1, CHANGES + 1):
            changed(cluster, turn)
        written = time.monotonic() - began
        for thread in threads:
            thread.join(120)
        read = time.monotonic() - began
    assert all(one == list(range(1, CHANGES + 1)) for one in heard)
    if NIGHTLY:
        with capsys.disabled():
            rate = f"{CHANGES / written:.0f} changes a second written, {CHANGES / read:.0f} read by each"
            print(f"\n{WATCHERS} watchers, {CHANGES} changes: {rate}")
