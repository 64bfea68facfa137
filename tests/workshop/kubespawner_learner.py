"""One learner's pod by KubeSpawner: created, watched, deleted. Runs in the hub's environment.

KUBECONFIG=FILE python kubespawner_learner.py NAMESPACE VALUES; prints a JSON object for each step.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any
from unittest.mock import MagicMock

import yaml
from jupyterhub.objects import Hub, Server
from kubernetes_asyncio import client, config
from kubespawner import KubeSpawner
from traitlets.config import Config


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
    spawner.storage_pvc_ensure = False
    spawner.start_timeout, spawner.k8s_api_request_timeout = 60, 10
    return spawner


async def run(namespace: str, values: dict[str, Any]) -> None:
    await config.load_kube_config()
    spawner = spawner_of(values, namespace)
    spawner.pod_name = "jupyter-ada"
    where = await asyncio.wait_for(spawner.start(), 60)
    pod = spawner.pod_reflector.pods[f"{namespace}/jupyter-ada"]
    limits = pod["spec"]["containers"][0]["resources"]["limits"]
    say(step="started", where=str(where), poll=await spawner.poll(), phase=pod["status"]["phase"], limits=limits)
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
        asyncio.run(run(sys.argv[1], yaml.safe_load(file)))
