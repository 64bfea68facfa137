"""A scenario as a link: it opens the same cluster elsewhere, and a hostile link is refused before anything is made."""

from __future__ import annotations

import base64
import json
import random
import zlib

import pytest

from kitlib.advisor import first_kill as kill
from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.lab import share

NODE = {"name": "a", "cpus": 1, "memory": "1Gi"}
GOOD = {"version": 1, "release": "1.36", "cgroups": 2, "nodes": [NODE], "journal": []}


def packed(data) -> str:
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(zlib.compress(text)).decode().rstrip("=")


@pytest.mark.parametrize("version", [1, 2], ids=["cgroup v1", "cgroup v2"])
def test_a_link_opens_the_same_cluster_with_the_same_victim(version):
    with Cluster.simulated(nodes=[dict(kill.NODE)], cgroup_version=version, release="1.34") as cluster:
        assert kill.run(cluster).killed == "cache"
        link, code, snapshot = (
            share.link(cluster, "https://example.org/kit/#old"),
            share.code(cluster),
            cluster.snapshot(),
        )
    assert link.startswith("https://example.org/kit/#kitlib=") and "\n" not in code
    with share.opened(link) as again:
        assert again.snapshot() == snapshot
        assert again.node("node-1").desired().version == version
    names: dict = {}
    exec(code, names)
    assert names["cluster"].snapshot() == snapshot
    names["cluster"].close()


def test_labels_taints_and_what_was_done_by_hand_come_along():
    node = {"name": "a", "cpus": 2, "labels": {"zone": "x"}, "taints": ["gpu=yes:NoSchedule"]}
    with Cluster.simulated(nodes=[node]) as cluster:
        cluster.cordon("a")
        with share.opened(share.state_of(cluster)) as again:
            assert again.snapshot() == cluster.snapshot()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a link must end with"),
        ("#kitlib=<script>", "a link must end with"),
        ("#kitlib=" + "A" * 60_000, "a link must end with"),
        ("#kitlib=AAAA", "damaged"),
        (packed(b"\0" * (1 << 22)), "larger than"),
        (packed(b"not json"), "(?i)expect|json"),
        (packed(b"[" * 5000), "(?i)nest|deep|levels|recursion|expect"),
        (packed({**GOOD, "extra": 1}), "extra"),
        (packed({**GOOD, "version": 2}), "update kitlib"),
        (packed({**GOOD, "nodes": []}), "nodes"),
        (packed({**GOOD, "nodes": [NODE] * 101}), "nodes"),
        (packed({**GOOD, "nodes": [{**NODE, "cpus": 10**9}]}), "cpus"),
        (
            packed({**GOOD, "nodes": [{**NODE, "kubelet": ["--config=/etc/passwd"]}]}),
            "a flag that does not name a file",
        ),
        (packed({**GOOD, "nodes": [{**NODE, "kubelet": ["/etc/passwd"]}]}), "a flag that does not name a file"),
        (packed({**GOOD, "nodes": [{**NODE, "memory": "lots"}]}), "quantities"),
        (packed({**GOOD, "release": "9.99"}), "9.99"),
        (packed({**GOOD, "journal": [{"action": "exec"}]}), "exec"),
        (packed({**GOOD, "journal": [{"action": "advance", "seconds": 366 * 86_400}] * 3}), "at most"),
        (packed({**GOOD, "journal": [{"action": "apply", "objects": "/etc/passwd"}]}), "objects"),
    ],
)
def test_a_hostile_link_is_refused_with_the_reason(text, says):
    with pytest.raises(KitError, match=says):
        share.opened(text)


def test_random_changes_of_a_link_open_or_are_refused_and_never_crash():
    draw, state = random.Random(7), packed(GOOD)
    for _ in range(200):
        at = draw.randrange(len(state))
        text = state[:at] + draw.choice("AZaz09-_") + state[at + 1 :]
        try:
            share.opened(text).close()
        except KitError:
            continue


def test_what_cannot_be_put_into_a_link_is_named():
    with (
        Cluster.simulated(nodes=[{"name": "a", "ephemeral_storage": "20Gi", "images": {"web:1": "600Mi"}}]) as cluster,
        pytest.raises(KitError, match="node a: images"),
    ):
        share.link(cluster)
