"""Files that others wrote (dumps, kubeconfigs, progress files, engine contexts) and the environment."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from kitlib.advisor.dump import Dump
from kitlib.advisor.message import decode
from kitlib.api.errors import KitError
from kitlib.lab import submissions
from kitlib.lab.progress import Progress
from kitlib.node.kubernetes.client import api_client, current_namespace
from kitlib.node.real.engine import endpoints
from tests.fuzz import samples
from tests.fuzz.mutate import Mutator, fuzz, part, share

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "n", "zone": "a"}},
    "spec": {"taints": [{"key": "a", "effect": "NoExecute"}]},
    "status": {
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "10"},
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True"}],
        "images": [{"names": ["x"], "sizeBytes": 5}],
    },
}
MESSAGES = (
    "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption victims found.",
    "0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.",
)
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "default"}}],
    "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:1", "insecure-skip-tls-verify": True}}],
    "users": [{"name": "u", "user": {"token": "t", "client-certificate-data": "YQ==", "client-key-data": "YQ=="}}],
}
ENTRY = {
    "kind": "check",
    "lab": "requests-and-limits",
    "task": "1",
    "points": 1.0,
    "of": 1.0,
    "seconds": 10.0,
    "details": {"check_changed": False},
}
ENVIRONMENT = {
    "DOCKER_CONTEXT": "c",
    "DOCKER_CONFIG": "~/.docker",
    "XDG_RUNTIME_DIR": "/run/user/1",
    "XDG_CONFIG_HOME": "/x",
    "TMPDIR": "/tmp",
}
CONTEXT = {"Name": "c", "Endpoints": {"docker": {"Host": "unix:///x.sock", "SkipTLSVerify": False}}}


def test_dumps_are_refused_or_explained(note: Any) -> None:
    def make(mutator: Mutator) -> Any:
        items = [NODE, {**samples.POD, "status": {"phase": "Pending"}}, share(samples.OTHERS, mutator)]
        place = mutator.random.randrange(len(items))
        change = mutator.near if mutator.random.random() < 0.7 else mutator.value
        items[place] = change(items[place])
        return {"apiVersion": "v1", "kind": "List", "items": items}

    def run(data: Any) -> None:
        dump = Dump.read(json.dumps(data, default=str))
        for pod in dump.pending:
            assert isinstance(dump.explain(pod).explain(), str)

    note(fuzz(make, run, KitError, part(50)))


def test_scheduling_messages(note: Any) -> None:
    def make(mutator: Mutator) -> str:
        return mutator.text(share(MESSAGES, mutator).encode()).decode("utf-8", "replace")

    note(fuzz(make, decode, KitError, part(4)))


def test_progress_files_of_learners(note: Any, tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"

    def make(mutator: Mutator) -> bytes:
        lines = [json.dumps(mutator.value(ENTRY), default=str).encode("utf-8", "surrogatepass") for _ in range(3)]
        return mutator.text(b"\n".join(lines))

    def run(content: bytes) -> None:
        path.write_bytes(content)
        list(Progress(tmp_path).entries())
        submissions.read(path)

    note(fuzz(make, run, KitError, part(8)))


def test_kubeconfigs(note: Any, tmp_path: Path) -> None:
    pytest.importorskip("kubernetes")
    path = tmp_path / "config"

    def run(data: Any) -> None:
        path.write_text(json.dumps(data, default=str), encoding="utf-8", errors="surrogatepass")
        api_client(str(path), "").close()
        current_namespace(str(path), "")

    note(fuzz(lambda m: m.value(KUBECONFIG), run, (KitError, OSError), part(100)))


def test_environments_and_contexts(note: Any, tmp_path: Path) -> None:
    folder = tmp_path / "contexts" / "meta" / hashlib.sha256(b"c").hexdigest()
    folder.mkdir(parents=True)

    def make(mutator: Mutator) -> tuple[dict[str, str], bytes]:
        known = {name: str(value) for name, value in mutator.value(ENVIRONMENT).items()}
        told = json.dumps(mutator.value(CONTEXT), default=str).encode("utf-8", "surrogatepass")
        return {**known, "DOCKER_CONFIG": str(tmp_path)}, mutator.text(told)

    def run(one: tuple[dict[str, str], bytes]) -> None:
        environment, told = one
        (folder / "meta.json").write_bytes(told)
        (tmp_path / "config.json").write_bytes(told)
        endpoints(environment, tmp_path)

    note(fuzz(make, run, (KitError, OSError), part(20)))
