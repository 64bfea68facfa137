"""What the OCI runtime is told, where the engine is looked for, and what an image carries: all without an engine."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kitlib.api.core import Pod
from kitlib.api.errors import KitError
from kitlib.api.serialize import from_dict
from kitlib.kubelet.cm.cgroup_tree import CgroupFile
from kitlib.node.common.workload import WorkloadError
from kitlib.node.real import engine, image, mounts, oci, volumes
from kitlib.node.real.container import WISHED, _ladder
from kitlib.node.real.system import system_ooms


def pod(container: dict[str, Any], note: str = "", **spec: Any) -> Pod:
    notes = {"kitlib.dev/workload.c": note} if note else {}
    made: Pod = from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "annotations": notes},
            "spec": {"containers": [{"name": "c", "image": "nginx:1.27", **container}], **spec},
        }
    )
    return made


def test_a_container_runs_what_the_manifest_says() -> None:
    made = pod({"command": ["md5sum"], "args": ["/dev/urandom"]})
    words, notes = oci.command(made, made.spec.containers[0])
    assert words == ["md5sum", "/dev/urandom"]
    assert notes == ['Image "nginx:1.27" is not pulled: the node\'s own root file system stands in for it']


@pytest.mark.parametrize(
    ("image_name", "container", "words"),
    [
        ("registry.example:5000/team/web:1", {}, ["{}/web"]),
        ("web@sha256:0", {"args": ["-x"]}, ["{}/web", "-x"]),
        ("web", {"command": ["true"], "args": ["-x"]}, ["true", "-x"]),
        ("text", {"args": ["-x"]}, ["-x"]),
        ("other/web/none", {"args": ["-x"]}, ["-x"]),
    ],
)
def test_the_nodes_root_has_programs_of_images(
    image_name: str, container: dict[str, Any], words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oci, "PROGRAMS", str(tmp_path))
    for name, mode in (("web", 0o755), ("text", 0o644)):
        (tmp_path / name).touch(mode)
    made = pod({**container, "image": image_name})
    assert oci.command(made, made.spec.containers[0])[0] == [word.format(tmp_path) for word in words]


def test_an_images_own_program_is_not_there_and_that_is_said() -> None:
    made = pod({})
    words, notes = oci.command(made, made.spec.containers[0])
    assert words == oci.SERVER
    assert "idles" in notes[1]


def test_a_declared_workload_becomes_a_process_that_follows_it() -> None:
    made = pod({}, "10s cpu=0.5 memory=100Mi; memory=1Mi")
    words, _ = oci.command(made, made.spec.containers[0])
    assert json.loads(words[-2]) == [[10.0, 0.5, 104857600], [None, 0.5, 1048576]]
    words, _ = oci.command(bursts := pod({}, "cpu=4 burst=80ms every=1s"), bursts.spec.containers[0])
    assert json.loads(words[-2])[0][4:] == [0.08, 1.0]
    words, _ = oci.command(hot := pod({}, "memory=10Mi hot=4Mi"), hot.spec.containers[0])
    assert json.loads(words[-2]) == [[None, 0.0, 10 << 20, 1, 0, 0.0, 4 << 20]]
    with pytest.raises(WorkloadError):
        oci.command(wrong := pod({}, "fly"), wrong.spec.containers[0])


def test_the_load_uses_the_memory_it_is_told_and_ends_with_its_code() -> None:
    phases = json.dumps([[0.2, 0.3, 40 << 20]])
    code = (
        "import runpy, sys; sys.argv = ['load', sys.argv[1], '7']\n"
        f"try: runpy.run_path({oci.WORKLOAD_PROCESS!r}, run_name='__main__')\n"
        # not getrusage: ru_maxrss begins with what the parent, pytest, had
        "except SystemExit as end: print(end.code, open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    done = subprocess.run([sys.executable, "-c", code, phases], capture_output=True, text=True, check=True)
    ended, kib = done.stdout.split()
    assert ended == "7"
    assert 38 << 10 < int(kib) < 80 << 10


def test_the_load_is_as_many_processes_as_it_is_told_and_gives_them_back() -> None:
    phases = json.dumps([[1.0, 0.0, 0, 6], [0.1, 0.0, 0, 2]])
    run = subprocess.Popen([sys.executable, "-I", "-S", oci.WORKLOAD_PROCESS, phases, "0"])
    most, end = 0, time.monotonic() + 20
    while run.poll() is None and time.monotonic() < end:
        with suppress(OSError), open(f"/proc/{run.pid}/task/{run.pid}/children") as file:
            most = max(most, len(file.read().split()))
        time.sleep(0.05)
    assert (run.returncode, most) == (0, 5)


def test_the_load_goes_over_the_part_of_its_memory_that_is_hot() -> None:
    phases = json.dumps([[None, 1.0, 60 << 20, 1, 0, 0, 20 << 20]])
    end = time.monotonic() + 30
    with subprocess.Popen([sys.executable, "-I", "-S", oci.WORKLOAD_PROCESS, phases, "0"]) as run:

        def mib(name: str) -> int:
            with open(f"/proc/{run.pid}/smaps_rollup") as file:
                return int(file.read().split(f"{name}:")[1].split()[0]) >> 10

        try:
            while mib("Anonymous") < 50 and time.monotonic() < end:
                time.sleep(0.02)
            with open(f"/proc/{run.pid}/clear_refs", "w") as file:
                file.write("1")
            while mib("Referenced") < 20 and time.monotonic() < end:
                time.sleep(0.02)
            assert 20 <= mib("Referenced") < 40
        finally:
            run.kill()


def test_what_a_pod_without_a_disk_cannot_do_is_said() -> None:
    made = pod({}, "disk=1Gi logs=1Mi pids=3")
    words, notes = oci.command(made, made.spec.containers[0])
    assert json.loads(words[-2])[0][3] == 3
    assert any(note.startswith("disk=, logs= of the declared workload is left out") for note in notes)


@pytest.mark.parametrize(
    ("spec", "kinds"),
    [({}, {"ipc", "uts"}), ({"shareProcessNamespace": True}, {"ipc", "uts", "pid"})],
)
def test_a_container_joins_its_pods_namespaces(spec: dict[str, Any], kinds: set[str]) -> None:
    made = pod({}, **spec)
    joined = oci.joined_namespaces(made, made.spec.containers[0], lambda identity: 7)
    assert joined == {kind: f"/proc/7/ns/{kind}" for kind in kinds}
    own = oci.joined_namespaces(made, made.spec.containers[0], lambda identity: 7, own_network=True)
    assert own == {**joined, "network": "/proc/7/ns/net"}


def test_nobody_is_root_in_a_pod() -> None:
    def of(container: dict[str, Any], **spec: Any) -> tuple[int, list[str]]:
        made = pod(container, **spec)
        return oci.user_of(made, made.spec.containers[0])

    assert of({}) == (65534, [])
    assert of({"securityContext": {"runAsUser": 1000}}) == (1000, [])
    assert of({}, securityContext={"runAsUser": 33}) == (33, [])
    number, notes = of({"securityContext": {"runAsUser": 0}})
    assert number == 65534 and "not granted" in notes[0]


@pytest.mark.parametrize(
    ("more", "network"),
    [
        ({}, []),
        ({"own_network": True}, [{"type": "network"}]),
        ({"join": {"network": "/proc/7/ns/net"}}, [{"type": "network", "path": "/proc/7/ns/net"}]),
    ],
)
def test_a_bundle_has_the_network_of_its_node_a_new_one_or_its_pods(more: Any, network: list[dict[str, str]]) -> None:
    about: dict[str, Any] = {"root": "/r", "arguments": ["x"], "cgroup": "/k/p", "files": [], "version": 2}
    made = oci.bundle(**about, oom_score_adj=5, hostname="h", environment={}, **more)
    assert [one for one in made["linux"]["namespaces"] if one["type"] == "network"] == network


def test_a_bundle_gives_nothing_away() -> None:
    made = oci.bundle(
        root="/r", arguments=["x"], cgroup="/k/p", files=[], version=2, oom_score_adj=5, hostname="h", environment={}
    )
    process = made["process"]
    assert not any(process["capabilities"].values())
    assert process["noNewPrivileges"] and process["user"]["uid"] != 0
    assert made["root"]["readonly"]
    assert {n["type"] for n in made["linux"]["namespaces"]} == {"pid", "mount", "ipc", "uts", "cgroup"}
    assert "/proc/kcore" in made["linux"]["maskedPaths"] and "/proc/sys" in made["linux"]["readonlyPaths"]
    assert not any(m["destination"].startswith("/sys") for m in made["mounts"])


def test_cgroup_files_go_through_the_runtime() -> None:
    files = [
        CgroupFile("cpu.shares", "512"),
        CgroupFile("cpu.cfs_quota_us", "50000"),
        CgroupFile("cpuset.cpus", "2-3"),
        CgroupFile("memory.limit_in_bytes", "1048576"),
        CgroupFile("pids.max", "max"),
        CgroupFile("cpu.cfs_period_us", "100000", written=False),
    ]
    assert oci.resources(files, 1) == {
        "cpu": {"shares": 512, "quota": 50000, "cpus": "2-3"},
        "memory": {"limit": 1048576},
        "pids": {"limit": -1},
    }
    assert oci.resources([CgroupFile("cpu.weight", "20")], 2) == {"unified": {"cpu.weight": "20"}}
    assert oci.resources([CgroupFile("cpu.weight", "20", written=False)], 2) == {}


def test_a_hosts_directory_does_not_exist_on_the_node() -> None:
    mount = [{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/b", "readOnly": True}]
    named = [{"name": "a", "hostPath": {"path": "/"}}, {"name": "b", "emptyDir": {}}]
    made = pod({"volumeMounts": mount}, volumes=named)
    places, notes = oci.volumes(made, made.spec.containers[0], "/v", {}, {})
    assert [(p["source"], p["destination"], "ro" in p["options"]) for p in places] == [("/v/b", "/b", True)]
    assert "'a'" in notes[0]


def test_pods_of_a_node_share_a_directory_that_they_create_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(volumes, "STATE", str(tmp_path))
    monkeypatch.setattr(volumes, "mount_tmpfs", lambda place, size, mode: None)
    found = []
    for path, read_only in (("/data/a", False), ("/data//a/", True)):
        named = [{"name": "a", "hostPath": {"path": path, "type": "DirectoryOrCreate"}}]
        made = pod({"volumeMounts": [{"name": "a", "mountPath": "/a", "readOnly": read_only}]}, volumes=named)
        assert volumes.make(made, 0) == []
        (place,), notes = oci.volumes(made, made.spec.containers[0], volumes.directory(made), {}, {})
        assert notes == [] and ("ro" in place["options"]) is read_only
        (Path(place["source"]) / str(len(found))).touch()
        volumes.forget(made)
        found.append((place["source"], os.stat(place["source"]).st_mode & 0o777, len(os.listdir(place["source"]))))
    assert found[0][:2] == found[1][:2] == (found[0][0], 0o777) and [one[2] for one in found] == [1, 2]


MOUNTINFO_1 = """\
30 29 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/systemd ro - cgroup systemd rw,xattr,name=systemd
34 30 0:30 / /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw
"""


def test_the_mounts_say_which_version_it_is() -> None:
    one = mounts.cgroup_hierarchies(MOUNTINFO_1)
    assert one["cpu"] == one["cpuacct"] == "/sys/fs/cgroup/cpu,cpuacct"
    assert one["name=systemd"] == "/sys/fs/cgroup/systemd"
    two = mounts.cgroup_hierarchies("30 29 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n")
    assert two == {"": "/sys/fs/cgroup"}
    with pytest.raises(KitError, match="no cgroup file system"):
        mounts.cgroup_hierarchies("1 1 0:1 / / rw - overlay overlay rw\n")


def test_the_engine_is_looked_for_in_the_users_order(tmp_path: Path) -> None:
    chosen = engine.endpoints({"DOCKER_HOST": "tcp://there:2375"}, tmp_path)
    assert [e.found for e in chosen] == ["DOCKER_HOST=tcp://there:2375"]

    config = tmp_path / ".docker"
    name = hashlib.sha256(b"far").hexdigest()
    meta = config / "contexts/meta" / name
    meta.mkdir(parents=True)
    (meta / "meta.json").write_text(json.dumps({"Endpoints": {"docker": {"Host": "tcp://far:2376"}}}))
    (config / "contexts/tls" / name / "docker").mkdir(parents=True)
    (config / "config.json").write_text(json.dumps({"currentContext": "far"}))
    (found,) = engine.endpoints({}, tmp_path)
    assert (found.url, found.found) == ("tcp://far:2376", "Docker context far")
    assert found.tls.endswith("docker")

    (config / "config.json").write_text(json.dumps({"currentContext": "lost"}))
    with pytest.raises(engine.EngineError, match="Docker context 'lost'"):
        engine.endpoints({}, tmp_path)

    (config / "config.json").write_text("{}")
    runtime = tmp_path / "run"
    (runtime / "podman").mkdir(parents=True)
    for path in (runtime / "docker.sock", runtime / "podman/podman.sock", tmp_path / ".colima/default/docker.sock"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    places = [e.found for e in engine.endpoints({"XDG_RUNTIME_DIR": str(runtime)}, tmp_path)]
    ours = [place for place in places if place.startswith(str(tmp_path))]
    assert [Path(p).parent.name for p in ours] == ["run", "default", "podman"]


def test_no_engine_is_said_with_every_place_that_was_tried(tmp_path: Path) -> None:
    pytest.importorskip("docker")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
        with pytest.raises(engine.EngineError, match=r"nobody\.sock: .*Start Docker or Podman"):
            engine.connect()


def test_what_is_refused_is_left_out_step_by_step() -> None:
    assert _ladder(())[0] == ()
    assert _ladder(())[-1] == WISHED
    assert _ladder(("SYS_RESOURCE",))[0] == ("SYS_RESOURCE",)


def test_the_image_carries_the_rooms_that_run_in_a_node_and_nothing_else() -> None:
    with tarfile.open(fileobj=io.BytesIO(image.context("some/base:1", "some-node"))) as archive:
        names = archive.getnames()
        given = archive.extractfile("Dockerfile")
        assert given is not None and b"BASE=some/base:1" in given.read()
    rooms = {name.split("/")[2] for name in names if name.startswith("site/kitlib/") and name.count("/") > 2}
    assert rooms == {*image.PACKAGES}
    assert "site/kitlib/node/real/watchdog.py" in names
    assert not any("__pycache__" in name for name in names)
    assert image.tag() == f"kitlib-node:{image.fingerprint()}"


class Builder:
    """An engine that has one image and fails to fetch anything else."""

    def __init__(self, *names: str) -> None:
        self.images = self.api = self
        self.names, self.asked = names, list[dict[str, Any]]()

    def __call__(self, **about: Any) -> list[dict[str, Any]]:
        """List images: none is without a name."""
        return []

    def get(self, name: str) -> None:
        from docker.errors import ImageNotFound

        if name not in self.names:
            raise ImageNotFound(name)

    def build(self, **about: Any) -> list[dict[str, str]]:
        self.asked.append(about)
        return [{"stream": "E: Could not resolve 'deb.debian.org'"}, {"error": "Could not resolve 'deb.debian.org'"}]


def test_the_image_with_systemd_is_another_one_and_its_lack_is_told_with_what_to_run() -> None:
    pytest.importorskip("docker")
    engine_with_the_small_base = Builder(image.base_of(), image.tag())
    assert image.ensure(engine_with_the_small_base) == image.tag()
    assert not image.ready(engine_with_the_small_base, systemd=True)
    with pytest.raises(image.ImageError, match="kitlib image build --systemd --root"):
        image.ensure(engine_with_the_small_base, systemd=True)
    (asked,) = engine_with_the_small_base.asked
    assert (asked["tag"], asked["target"]) == ("kitlib-base-systemd:latest", "packages")
    with tarfile.open(fileobj=asked["fileobj"]) as archive:
        given = archive.extractfile("Dockerfile")
        assert given is not None
        said = given.read().decode()
    assert "BASE=kitlib-base:latest\n" in said
    assert f"NODE={image.tag()}\n" in said
    assert image.tag(systemd=True) == f"kitlib-node-systemd:{image.fingerprint()}"


def test_the_agent_imports_neither_numpy_nor_anything_of_the_owners_side() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import kitlib.node.real.agent; "
        "print([m for m in ('numpy', 'yaml', 'docker', 'rich', 'asyncio', 'socket', 'subprocess', "
        "'kitlib.cluster', 'kitlib.scheduler') if m in sys.modules])"
    )
    root = str(image.PACKAGE.parent)
    done = subprocess.run([sys.executable, "-c", code, root], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_watchdog_ends_with_its_input_even_where_the_agent_is_stopped(tmp_path: Path) -> None:
    stuck = tmp_path / "kitlib/node/real/agent.py"
    stuck.parent.mkdir(parents=True)
    stuck.write_text("import os, time\ndef main():\n    os.write(1, b'up\\n')\n    time.sleep(30)\n")
    boot = stuck.parent / "watchdog.py"
    boot.write_text((image.PACKAGE / "node/real/watchdog.py").read_text())
    command = [sys.executable, "-I", "-S", str(boot)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    agents = [int(pid) for pid in children.read_text().split()] if children.exists() else []
    process.stdin.close()
    assert process.wait(5) == 0
    for pid in agents:
        os.kill(pid, 9)
    process.stdout.close()


KILL = "[1.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset={node},mems_allowed=0,{where},task_memcg={task},task=hog,pid=12,uid=0"  # noqa: E501


@pytest.mark.parametrize(
    ("where", "task", "told"),
    [
        ("oom_memcg=/docker/n", "/docker/n/kubepods/burstable/poda-b/c", True),
        ("oom_memcg=/docker/n/kubepods", "/docker/n/kubepods/burstable/poda-b/c", False),
        ("oom_memcg=/docker/n/kubepods/burstable/poda-b", "/docker/n/kubepods/burstable/poda-b/c", False),
        ("global_oom", "/docker/n/kubepods/burstable/poda-b/c", True),
        ("oom_memcg=/docker/n", "/docker/n/kubepods/burstable/podother/c", False),
        ("oom_memcg=/docker/n", "/docker/n", False),
    ],
)
def test_a_system_oom_is_one_of_the_node_as_a_whole(where: str, task: str, told: bool) -> None:
    line = KILL.format(node="n", where=where, task=task)
    assert system_ooms([line, "nothing"], "/kubepods", ["a-b"]) == ([("hog", 12)] if told else [])
