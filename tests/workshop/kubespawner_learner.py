"""One learner's pod by KubeSpawner: created, watched, deleted. Runs in the hub's environment.

KUBECONFIG=FILE python kubespawner_learner.py NAMESPACE VALUES PROFILE [KUBECTL]; prints a JSON object for each step.
With kubectl's path the pod runs a small HTTP server in place of Jupyter's, without the room's volume (nodes have the
kit's own root file system), and is asked through a port forward.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import urllib.request
from typing import Any
from unittest.mock import MagicMock

import yaml
from jupyterhub.objects import Hub, Server
from kubernetes_asyncio import client, config
from kubespawner import KubeSpawner
from traitlets.config import Config

SERVER = """
import http.server, json, os
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        told = {"asked": self.path, "uid": os.getuid()}
        told |= {name: os.environ[name] for name in ("JUPYTERHUB_USER", "KITLIB_NODES")}
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(("127.0.0.1", 8888), Answers).serve_forever()
"""


def say(**told: Any) -> None:
    print(json.dumps(told), flush=True)


def spawner_of(values: dict[str, Any], namespace: str) -> KubeSpawner:
    """As Zero to JupyterHub configures it from the recipe's values."""
    user = values["singleuser"]
    user_of_hub = MagicMock(escaped_name="ada", url="/user/ada/", spawners={})
    user_of_hub.name, user_of_hub.id, user_of_hub.server = "ada", 1, Server()
    hub = Hub(ip="hub", port=8081)
    spawner = KubeSpawner(hub=hub, user=user_of_hub, config=Config(), api_token="unused", oauth_client_id="unused")
    spawner.namespace, spawner.enable_user_namespaces = namespace, False
    spawner.image = f"{user['image']['name']}:{user['image']['tag']}"
    spawner.mem_limit, spawner.mem_guarantee = user["memory"]["limit"], user["memory"]["guarantee"]
    spawner.cpu_limit, spawner.cpu_guarantee = user["cpu"]["limit"], user["cpu"]["guarantee"]
    spawner.cmd, spawner.uid, spawner.fs_gid = user["cmd"], user["uid"], user["fsGid"]
    spawner.environment = dict(user["extraEnv"])
    spawner.volumes = user["storage"]["extraVolumes"]
    spawner.volume_mounts = user["storage"]["extraVolumeMounts"]
    spawner.allow_privilege_escalation = user["allowPrivilegeEscalation"]
    spawner.profile_list = user["profileList"]
    spawner.storage_pvc_ensure = False
    spawner.start_timeout, spawner.k8s_api_request_timeout = 60, 10
    return spawner


def asked(port: str) -> Any:
    """What the learner's server says."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/user/ada/api", timeout=30) as answer:
        return json.load(answer)


async def reach(kubectl: str, namespace: str) -> None:
    """Ask the server in the pod, through a port forward; twice, for each connection has streams of its own."""
    forward = await asyncio.create_subprocess_exec(
        kubectl, "port-forward", "-n", namespace, "pod/jupyter-ada", ":8888", stdout=asyncio.subprocess.PIPE
    )
    try:
        line = (await asyncio.wait_for(forward.stdout.readline(), 60)).decode()
        port = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) -> 8888", line)[1]
        say(step="reached", answers=[await asyncio.to_thread(asked, port) for _ in range(2)])
    finally:
        forward.kill()
        await forward.wait()


async def run(namespace: str, values: dict[str, Any], profile: str, kubectl: str = "") -> None:
    await config.load_kube_config()
    spawner = spawner_of(values, namespace)
    spawner.user_options = {"profile": profile}
    asked_for = {name for one in spawner.profile_list for name in one.get("kubespawner_override", {})}
    assert asked_for <= set(spawner.trait_names()), asked_for
    if kubectl:
        spawner.cmd, spawner.args, spawner.volumes, spawner.volume_mounts = ["python3", "-c", SERVER], [], [], []
    spawner.pod_name = "jupyter-ada"
    where = await asyncio.wait_for(spawner.start(), 60)
    pod = spawner.pod_reflector.pods[f"{namespace}/jupyter-ada"]
    spec, phase = pod["spec"], pod["status"]["phase"]
    say(
        step="started",
        where=str(where),
        poll=await spawner.poll(),
        phase=phase,
        limits=spec["containers"][0]["resources"]["limits"],
        environment={one["name"]: one.get("value") for one in spec["containers"][0]["env"]},
        account=[spec.get("serviceAccountName"), spec.get("automountServiceAccountToken")],
    )
    if kubectl:
        await reach(kubectl, namespace)
    await asyncio.wait_for(spawner.stop(now=True), 60)
    say(step="stopped", poll=await spawner.poll(), watched=len(spawner.pod_reflector.pods))
    api = client.CoreV1Api()
    say(step="left", pods=len((await api.list_namespaced_pod(namespace)).items))
    await api.api_client.close()
    for one in (spawner.pod_reflector, spawner.event_reflector):
        if one is not None:
            await one.stop()


if __name__ == "__main__":
    with open(sys.argv[2]) as file:
        asyncio.run(run(sys.argv[1], yaml.safe_load(file), *sys.argv[3:]))
