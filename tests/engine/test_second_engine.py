"""An engine that is killed, restarted, reached over TLS, or whose disk is full: words, and nothing left half-done."""

from __future__ import annotations

import hashlib
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.node.real import engine, host, image
from kitlib.node.real.link import NodeGone
from kitlib.node.real.root_check import PROGRAMS
from tests.engine.helpers import ROOT, SLOW, pod, state
from tests.engine.own_engine import OwnEngine, give_image, own_engine

ROOM = 60 << 20
HERE = ("process", "container")
BUILD_KILLS = int(os.environ.get("KITLIB_KILLS", "12")) // 2


@pytest.fixture(scope="module")
def second() -> Iterator[OwnEngine]:
    for made in own_engine("700m"):
        give_image(made)
        yield made


@pytest.fixture
def there(second: OwnEngine, monkeypatch: pytest.MonkeyPatch) -> OwnEngine:
    """The second engine is where the kit finds one; it runs as at first."""
    monkeypatch.setenv("DOCKER_HOST", second.url)
    return second


def ready(cluster: Any) -> dict[str, str]:
    return {n.name: next(c.status for c in n.status.conditions if c.type == "Ready") for n in cluster.nodes}


def test_an_engine_that_is_killed_ends_the_nodes_and_not_the_process(there: OwnEngine) -> None:
    cluster = Cluster.docker(2, cpus=2, memory="256Mi", control_plane="process")
    cluster.apply([pod(name="a"), pod("while :; do :; done", name="b", limits={"cpu": "50m"})])
    there.kill()
    began = time.monotonic()
    with pytest.raises(NodeGone, match="node node-1 has ended"):
        cluster.node("node-1").tree()
    cluster.wait(lambda c: ready(c) == {"node-1": "Unknown", "node-2": "Unknown"}, 5)
    with pytest.raises(KitError, match=r"node more: the engine does not answer any more: connection refused"):
        cluster.add_nodes([{"name": "more"}])
    cluster.close()
    with pytest.raises(KitError, match="no container engine answers"):
        Cluster.docker(1)
    assert time.monotonic() - began < 5
    there.start()
    assert there.gone(5) == []


def test_with_the_control_plane_in_a_container_too(there: OwnEngine) -> None:
    cluster = Cluster.docker(1, cpus=2, memory="256Mi", control_plane="container")
    cluster.apply(pod(name="a"))
    there.kill()
    with pytest.raises(NodeGone, match="has ended"):
        cluster.apply(pod(name="b"))
    with pytest.raises(NodeGone, match="has ended"):
        cluster.node().tree()
    cluster.close()
    there.start()
    assert there.gone(5) == []


def test_an_engine_that_is_stopped_takes_its_nodes_along(there: OwnEngine) -> None:
    cluster = Cluster.docker(1, cpus=2, memory="256Mi", control_plane="process")
    cluster.apply(pod("while :; do :; done", name="a", limits={"cpu": "50m"}))
    there.stop()
    assert there.gone(5) == []
    with pytest.raises(NodeGone, match="has ended"):
        cluster.node().tree()
    cluster.close()
    there.start()


def test_nodes_outlive_neither_a_restart_of_an_engine_that_keeps_its_containers(there: OwnEngine) -> None:
    """With live-restore containers run on without their engine; it then finds nobody at their input."""
    there.stop()
    there.start("--live-restore")
    cluster = Cluster.docker(2, cpus=2, memory="256Mi", control_plane="process")
    there.kill()
    assert sum(one.startswith("process") for one in there.left()) >= 4
    there.start("--live-restore")
    assert there.gone(5) == []
    cluster.close()
    there.stop()
    there.start()


def standing(client: Any) -> tuple[list[str], list[str]]:
    images = sorted(name for one in client.images.list() for name in one.tags)
    return images, [one["Id"] for one in client.api.containers(all=True)]


def test_a_node_does_not_start_on_a_full_disk_and_nothing_is_left_of_it(there: OwnEngine) -> None:
    filler, client = there.fill(0), there.client()
    before = standing(client)
    for where in HERE:
        with pytest.raises(KitError, match=r"no space left on device.*docker system prune"):
            Cluster.docker(2, cpus=2, memory="256Mi", control_plane=where)
        assert standing(client) == before
    assert there.gone(5) == []
    filler.unlink()
    client.close()
    with Cluster.docker(1, cpus=2, memory="256Mi") as cluster:
        cluster.apply(pod(name="a"))
        assert state(cluster, "a") == ("Running", "running", 0)


def test_an_image_is_not_made_on_a_full_disk_and_none_is_left_half_made(
    there: OwnEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    client = there.client()
    saved = tmp_path / "node.tar"
    assert image.save(client, saved) == saved.stat().st_size
    filler = there.fill(ROOM)
    before = standing(client)
    big = tmp_path / "root"
    (big / "bin").mkdir(parents=True)
    for program in PROGRAMS:  # the root is looked at before it is built
        (big / "bin" / program).touch()
    (big / "file").write_bytes(bytes(2 * ROOM))
    monkeypatch.setattr(image, "tag", lambda: f"{image.NAME}:of-another-day")
    with pytest.raises(KitError, match=r"no space left on device.*docker system prune"):
        image.build(client, root=big)
    assert standing(client) == before
    monkeypatch.undo()
    filler.unlink()
    client.images.remove(image.tag(), force=True)
    filler = there.fill(ROOM)
    with pytest.raises(KitError, match=r"node.tar: the engine does not take it: .*no space left on device"):
        image.load(client, saved)
    assert standing(client) == ([], [])
    filler.unlink()
    assert image.tag() in image.load(client, saved)
    client.close()


BUILDER = """
from kitlib.node.real import engine, image
image.tag = lambda *, systemd=False: f"{image.NAME}:of-another-day"
image.build(engine.connect(), tell=lambda text: print(text, flush=True))
"""


def test_a_killed_build_of_the_image_leaves_nothing_and_the_next_one_succeeds(there: OwnEngine) -> None:
    dice, client = random.Random(11), there.client()
    client.images.get(image.tag()).tag(image.base_of())
    images, containers = standing(client)
    for number in range(BUILD_KILLS):
        process = subprocess.Popen([sys.executable, "-c", BUILDER], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Step 1")
        if number % 2:
            time.sleep(dice.uniform(0, 0.5))
        else:  # while a step runs in its container
            while "Running in" not in process.stdout.readline():
                assert process.poll() is None
        process.kill()
        process.wait()
        process.stdout.close()
    deadline = time.monotonic() + 10 * SLOW
    while standing(client)[1] != containers and time.monotonic() < deadline:
        time.sleep(0.1)
    assert standing(client) == (images, containers)
    assert there.gone(5) == []
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", BUILDER], check=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    assert image.have(client, f"{image.NAME}:of-another-day")
    client.images.remove(f"{image.NAME}:of-another-day", force=True)
    client.images.remove(image.base_of())
    client.close()


def test_an_image_is_not_saved_to_a_full_disk_and_an_older_one_stays(there: OwnEngine, tmp_path: Path) -> None:
    older, client = tmp_path / "node.tar", there.client()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "kitlib-test", str(tmp_path)], check=True)
    try:
        older.write_bytes(b"yesterday's")
        with pytest.raises(KitError, match=r"node.tar: No space left on device"):
            image.save(client, older)
        assert older.read_bytes() == b"yesterday's"
        assert [p.name for p in tmp_path.iterdir()] == ["node.tar"]
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
        client.close()


def test_an_image_is_not_saved_where_the_engine_has_no_room_to_pack_it(there: OwnEngine, tmp_path: Path) -> None:
    filler, client = there.fill(1 << 20), there.client()
    with pytest.raises(KitError, match=r"the engine does not give the image: .*no space left on device"):
        image.save(client, tmp_path / "node.tar")
    assert list(tmp_path.iterdir()) == []
    filler.unlink()
    client.close()


def openssl(folder: Path, *command: str) -> None:
    subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_a_context_with_tls_reaches_an_engine_and_its_nodes(
    there: OwnEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`tcp://` with certificates, as `docker context create --docker host=…,ca=…,cert=…,key=…` stores them."""
    directory = hashlib.sha256(b"far").hexdigest()
    tls, meta = (tmp_path / "contexts" / kind / directory for kind in ("tls", "meta"))
    for place in (tls / "docker", meta):
        place.mkdir(parents=True)
    for name in ("ca", "engine", "stranger"):
        request = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
        names = ("-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1")
        openssl(tmp_path, *request, *names, "-keyout", f"{name}-key.pem", "-out", f"{name}.pem")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"tcp://127.0.0.1:{port}"
    there.stop()
    there.start(
        *("--host", url, "--tlsverify", f"--tlscacert={tmp_path}/ca.pem"),
        *(f"--tlscert={tmp_path}/engine.pem", f"--tlskey={tmp_path}/engine-key.pem"),
    )
    told = {"Name": "far", "Endpoints": {"docker": {"Host": url, "SkipTLSVerify": False}}}
    (meta / "meta.json").write_text(json.dumps(told))
    for name, content in (("ca", "engine.pem"), ("cert", "ca.pem"), ("key", "ca-key.pem")):
        (tls / "docker" / f"{name}.pem").write_bytes((tmp_path / content).read_bytes())
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("DOCKER_CONTEXT", "far")

    client, endpoint = engine.reach()
    assert (endpoint.url, endpoint.found, endpoint.verify) == (url, "Docker context far", True)
    assert host.host_of(client, endpoint).name == "Docker Engine"
    client.close()
    for where in HERE:
        with Cluster.docker(2, cpus=2, memory="256Mi", control_plane=where) as cluster:
            many = [pod(name=f"p{n}", limits={"cpu": "20m", "memory": "8Mi"}) for n in range(6)]
            for one in many:  # long lines in both directions at once
                one["metadata"]["annotations"] = {"long": "x" * 60_000}
            cluster.apply(many)
            cluster.wait(lambda c: all(p.status.phase == "Running" for p in c.pods()), 20)
            for name in ("node-1", "node-2"):
                assert [str(d) for d in cluster.node(name).differences()] == []

    (tls / "docker" / "ca.pem").write_bytes((tmp_path / "stranger.pem").read_bytes())
    with pytest.raises(KitError, match=r"Docker context far: .*certificate verify failed"):
        engine.connect()
    told["Endpoints"]["docker"]["SkipTLSVerify"] = True  # type: ignore[index]
    (meta / "meta.json").write_text(json.dumps(told))
    engine.connect().close()
    (tls / "docker" / "cert.pem").write_bytes((tmp_path / "stranger.pem").read_bytes())
    (tls / "docker" / "key.pem").write_bytes((tmp_path / "stranger-key.pem").read_bytes())
    with pytest.raises(KitError, match=r"Docker context far: .*(certificate|EOF occurred)"):  # as the engine says it
        engine.connect()
    monkeypatch.setenv("DOCKER_HOST", there.url)
    there.stop()
    there.start()
