"""The real kubectl on real nodes: exec, attach, logs, cp, port-forward, run -it, what containers get of ConfigMaps."""

from __future__ import annotations

import base64
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.apiserver.admission.webhook.servers import certificate_for
from tests.apiserver.http.clients import binaries
from tests.apiserver.http.test_kubectl import Client, start
from tests.engine.helpers import SLOW

pytestmark = pytest.mark.docker
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: c
    image: busybox
    command: [sh, -c, "echo first; echo second; while true; do echo tick; sleep 0.2; done"]
    resources: {limits: {cpu: 500m, memory: 64Mi}}
    env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
    volumeMounts: [{name: conf, mountPath: /etc/app}, {name: scratch, mountPath: /scratch}]
  - name: server
    image: busybox
    command: [python3, -u, -m, http.server, "8080", --bind, 127.0.0.1, --directory, /etc/app]
    volumeMounts: [{name: conf, mountPath: /etc/app}]
  volumes:
  - {name: conf, configMap: {name: cm}}
  - {name: scratch, emptyDir: {}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cm}
data: {page.html: "hello from a pod"}
---
apiVersion: v1
kind: Pod
metadata: {name: ends}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: busybox, command: [sh, -c, "echo run $HOSTNAME; sleep 1; exit 3"]}]
"""


@pytest.fixture(scope="module")
def kubectl(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    programs = binaries()
    assert programs is not None, "the package with kubectl and helm is not installed"
    folder = tmp_path_factory.mktemp("kubectl")
    process = start(folder, "--kind", "docker", "--nodes", "2")
    try:
        client = Client(folder, programs)
        client("apply", "-f", client.file("pods.yaml", POD))
        client("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
        yield client
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def background(kubectl: Client, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(kubectl._programs / "kubectl"), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=kubectl.environment,
    )


class Terminal:
    """kubectl in a terminal of its own."""

    def __init__(self, kubectl: Client, *words: str) -> None:
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.execve(str(kubectl._programs / "kubectl"), ["kubectl", *words], {**kubectl.environment, "TERM": "dumb"})
        self.seen = ""

    def until(self, pattern: str, seconds: float = 60) -> str:
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.seen):
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self._master], [], [], left)[0], f"{pattern!r} in {self.seen!r}"
            try:
                piece = os.read(self._master, 65536)
            except OSError:
                piece = b""
            assert piece, f"it ended before {pattern!r}: {self.seen!r}"
            self.seen += piece.decode(errors="replace")
        return self.seen

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self) -> int:
        while True:
            try:
                if not os.read(self._master, 65536):
                    break
            except OSError:
                break
        os.close(self._master)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_a_command_runs_in_the_containers_own_cgroup_and_user(kubectl: Client) -> None:
    assert kubectl("exec", "web", "-c", "c", "--", "id", "-u") == "65534\n"
    assert "hello from a pod" in kubectl("exec", "web", "-c", "c", "--", "cat", "/etc/app/page.html")
    assert kubectl("exec", "web", "-c", "c", "--", "printenv", "NODE").startswith("node-")
    mine = kubectl("exec", "web", "-c", "c", "--", "cat", "/proc/self/cgroup")
    assert mine == kubectl("exec", "web", "-c", "c", "--", "cat", "/proc/1/cgroup")


def test_exit_code_error_stream_and_input(kubectl: Client) -> None:
    failed = kubectl.run("exec", "web", "-c", "c", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (failed.returncode, failed.stdout) == (7, "out\n")
    assert failed.stderr == "err\ncommand terminated with exit code 7\n"
    assert kubectl("exec", "-i", "web", "-c", "c", "--", "sort", stdin="b\na\n") == "a\nb\n"
    assert "nosuchprogram" in kubectl.refused("exec", "web", "-c", "c", "--", "nosuchprogram")


def test_more_than_any_buffer_goes_through_in_both_directions(kubectl: Client) -> None:
    text = "0123456789abcdef" * 65536 * 3  # 3 MiB
    assert kubectl("exec", "-i", "web", "-c", "c", "--", "cat", stdin=text) == text


def test_a_terminal_has_a_size_and_a_shell(kubectl: Client) -> None:
    terminal = Terminal(kubectl, "exec", "-it", "web", "-c", "c", "--", "sh")
    import fcntl
    import struct
    import termios

    fcntl.ioctl(terminal._master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    os.kill(terminal.pid, signal.SIGWINCH)
    terminal.type("tty; until [ \"$(stty size)\" = '33 99' ]; do sleep 0.1; done; stty size | tr ' ' x\r")
    assert "/dev/pts/" in terminal.until("33x99")
    terminal.type("exit 4\r")
    assert terminal.end() == 4


def test_logs_by_tail_since_and_timestamps(kubectl: Client) -> None:
    whole = kubectl("logs", "web", "-c", "c").splitlines()
    assert whole[:3] == ["first", "second", "tick"]
    assert kubectl("logs", "web", "-c", "c", "--tail=2").splitlines() == ["tick", "tick"]
    stamped = kubectl("logs", "web", "-c", "c", "--timestamps", "--tail=1")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z tick\n", stamped)
    recent = kubectl("logs", "web", "-c", "c", "--since=1s").splitlines()
    assert 0 < len(recent) < len(kubectl("logs", "web", "-c", "c").splitlines())
    assert kubectl("logs", "web", "-c", "c", "--limit-bytes=5") == "first"


def test_followed_logs_come_as_they_are_written(kubectl: Client) -> None:
    process = background(kubectl, "logs", "-f", "--tail=1", "web", "-c", "c")
    assert process.stdout is not None
    try:
        assert [process.stdout.readline() for _ in range(5)] == ["tick\n"] * 5
    finally:
        process.kill()
        process.wait()


def test_the_log_of_the_container_before(kubectl: Client) -> None:
    deadline = time.monotonic() + 60 * SLOW
    while kubectl("get", "pod", "ends", "-o", "jsonpath={.status.containerStatuses[0].restartCount}") in ("", "0"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert kubectl("logs", "ends", "--previous") == "run ends\n"
    assert "previous terminated container" in kubectl.refused("logs", "web", "-c", "server", "--previous")


def test_files_are_copied_both_ways(kubectl: Client) -> None:
    folder = kubectl.folder / "copied"
    folder.mkdir()
    (folder / "a.txt").write_text("to the pod")
    kubectl("cp", str(folder / "a.txt"), "web:/scratch/a.txt", "-c", "c")
    assert kubectl("exec", "web", "-c", "c", "--", "cat", "/scratch/a.txt") == "to the pod"
    kubectl("cp", "web:/scratch/a.txt", str(folder / "b.txt"), "-c", "c")
    assert (folder / "b.txt").read_text() == "to the pod"


def fetch(port: int) -> str:
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(b"GET /page.html HTTP/1.0\r\n\r\n")
        pieces = []
        while piece := connection.recv(65536):
            pieces.append(piece)
    return b"".join(pieces).decode()


def test_a_port_is_forwarded_to_the_pods_own_server(kubectl: Client) -> None:
    process = background(kubectl, "port-forward", "pod/web", ":8080")
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) -> 8080", line)
        assert found is not None, line
        for _ in range(3):
            assert fetch(int(found[1])).endswith("hello from a pod")
    finally:
        process.kill()
        process.wait()


def test_a_port_of_another_pod_is_not_reached(kubectl: Client) -> None:
    kubectl("run", "other", "--image=busybox", "--", "sleep", "1000")
    kubectl("wait", "--for=condition=Ready", "pod/other", "--timeout=60s")
    process = background(kubectl, "port-forward", "pod/other", ":8080")
    assert process.stdout is not None
    try:
        found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert found is not None
        with socket.create_connection(("127.0.0.1", int(found[1])), 30) as connection:
            connection.sendall(b"x")
            assert connection.recv(10) == b""
        while line := process.stdout.readline():
            if "connection refused" in line:
                break
        assert "connection refused" in line
    finally:
        process.kill()
        process.wait()


WEBHOOK_SERVER = """
import http.server, json, ssl

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        size = len(review["request"]["object"].get("data", {}).get("a", ""))
        status = {"message": f"{size} from {self.path}"}
        response = {"uid": review["request"]["uid"], "allowed": False, "status": status}
        body = json.dumps({**review, "request": None, "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

server = http.server.ThreadingHTTPServer(("", 8443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/srv/tls.crt", "/srv/tls.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


def test_a_webhook_answers_in_a_pod_through_its_service(kubectl: Client) -> None:
    """Source: apiserver pkg/util/webhook ClientManager.HooksClient with a service reference."""
    certificate = certificate_for("hook.default.svc")
    files = {
        "server.py": WEBHOOK_SERVER,
        "tls.crt": certificate.certificate.decode(),
        "tls.key": certificate.key.decode(),
    }
    container = {
        "name": "c",
        "image": "busybox",
        "command": ["python3", "/srv/server.py"],
        "ports": [{"name": "https", "containerPort": 8443}],
        "readinessProbe": {"tcpSocket": {"port": 8443}, "periodSeconds": 1},
        "volumeMounts": [{"name": "srv", "mountPath": "/srv"}],
    }
    spec = {"containers": [container], "volumes": [{"name": "srv", "configMap": {"name": "hook"}}]}
    port = {"port": 443, "targetPort": "https"}
    hook = {
        "name": "in-a-pod.example.com",
        "clientConfig": {
            "service": {"name": "hook", "namespace": "default", "path": "/validate"},
            "caBundle": base64.b64encode(certificate.certificate).decode(),
        },
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "objectSelector": {"matchLabels": {"asked": "yes"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    kind = "ValidatingWebhookConfiguration"
    meta = {"name": "hook", "labels": {"app": "hook"}}
    objects = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": files},
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**spec, "terminationGracePeriodSeconds": 0}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"selector": {"app": "hook"}, "ports": [port]},
        },
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": meta, "webhooks": [hook]},
    ]
    kubectl("apply", "-f", kubectl.file("hook.yaml", "\n---\n".join(map(json.dumps, objects))))
    kubectl("wait", "--for=condition=Ready", "pod/hook", "--timeout=60s")
    data = {"a": "x" * 600_000}  # more than a stream's window
    named = {"name": "large", "labels": {"asked": "yes"}}
    large = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": data}
    refused = kubectl.refused("create", "-f", kubectl.file("large.json", json.dumps(large)))
    assert 'admission webhook "in-a-pod.example.com" denied the request: 600000 from /validate?timeout=10s' in refused


def test_a_pod_and_a_service_are_reached_through_the_api_server(kubectl: Client) -> None:
    """Source: registry/core/pod ResourceLocation; registry/core/service/storage ResourceLocation."""
    large = "x" * 600_000  # more than a stream's window
    serve = f"echo hello > page; printf %s {'x' * 6000} > six; for i in $(seq 100); do cat six; done > large; "
    container = {
        "name": "c",
        "image": "busybox",
        "command": ["sh", "-c", f"cd /tmp; {serve} exec python3 -m http.server 8080"],
        "ports": [{"name": "http", "containerPort": 8080}],
        # Once ready, always ready: on a busy machine a probe may fail, and an unready pod is no endpoint.
        "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1, "failureThreshold": 1000},
    }
    meta = {"name": "page", "labels": {"app": "page"}}
    spec = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    port = {"name": "web", "port": 80, "targetPort": "http"}
    objects = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {"selector": {"app": "page"}, "ports": [port]},
        },
    ]
    kubectl("apply", "-f", kubectl.file("page.yaml", "\n---\n".join(map(json.dumps, objects))))
    kubectl("wait", "--for=condition=Ready", "pod/page", "--timeout=60s")
    root = "/api/v1/namespaces/default"
    for place in ("pods/page", "pods/page:8080", "services/page:80", "services/page:web"):
        assert kubectl("get", "--raw", f"{root}/{place}/proxy/page") == "hello\n"
    assert kubectl("get", "--raw", f"{root}/services/page:80/proxy/large") == large
    assert "NotFound" in kubectl.refused("get", "--raw", f"{root}/pods/page/proxy/none")
    assert "error trying to reach service" in kubectl.refused("get", "--raw", f"{root}/pods/page:9/proxy/page")


def test_run_it_attaches_to_a_terminal_of_the_container(kubectl: Client) -> None:
    terminal = Terminal(kubectl, "run", "-it", "tool", "--image=busybox", "--restart=Never", "--", "sh")
    terminal.until(r"\$ ")
    terminal.type("echo a$((1+1))b\r")
    terminal.until("a2b")
    terminal.type("exit\r")
    assert terminal.end() == 0


def test_top_and_describe_show_what_runs(kubectl: Client) -> None:
    assert kubectl("top", "pod", "web", "--containers").count("web ") == 2
    described = kubectl("describe", "pod", "web")
    assert "/etc/app from conf (rw)" in described and "Environment:" in described


def test_a_missing_configmap_is_said_in_the_kubelets_words(kubectl: Client) -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: lacks}\nspec:\n  containers:\n  - {name: c, image: x, "
    text += "envFrom: [{configMapRef: {name: none}}]}\n"
    kubectl("apply", "-f", kubectl.file("lacks.yaml", text))
    path = "jsonpath={.status.containerStatuses[0].state.waiting.reason}"
    kubectl("wait", f"--for={path}=CreateContainerConfigError", "pod/lacks", "--timeout=60s")
    assert 'configmap "none" not found' in kubectl("describe", "pod", "lacks")
