"""A learner who writes only through the API over HTTP, as kubectl does, with the steps of a lab's answers.

`OverHTTP` sends the requests to the dispatcher; `WithKubectl` runs the real program against a server.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any

from kitlib.api.errors import KitError, NotFound, TooManyRequests
from kitlib.api.serialize import from_dict, load, to_dict
from kitlib.apiserver.admission.pod_resize import resize_patch
from kitlib.apiserver.http.dispatcher import Dispatcher, Response
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.store.kinds import RESOURCES
from kitlib.apiserver.store.merge import three_way
from kitlib.apiserver.store.merge_diff import strategic_diff

APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def binding(name: str, node: str) -> dict[str, Any]:
    """Return the object that a scheduler posts."""
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}


class Learner:
    """A cluster for the steps of an answer: reads and time as in Python, writes through `write`."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def cordon(self, node: str, unschedulable: bool = True) -> None:
        self.patch("Node", node, {"spec": {"unschedulable": unschedulable or None}})

    def resize(self, name: str, containers: Mapping[str, Any], namespace: str = "default") -> None:
        patch = resize_patch(self._cluster.get("Pod", name, namespace), dict(containers))
        self.patch("Pod", name, patch, namespace, subresource="resize")

    def patch_status(self, kind: str, name: str, patch: Mapping[str, Any], namespace: str = "default") -> None:
        self.patch(kind, name, patch, namespace, subresource="status")

    def patch(self, kind: str, name: str, patch: Any, namespace: str = "default", subresource: str = "") -> None:
        raise NotImplementedError

    def _is_custom(self, kind: str) -> bool:
        """Return whether a kind has no strategic merge patch."""
        return self._cluster.api.store.kinds.named(kind) not in RESOURCES


class OverHTTP(Learner):
    """The requests that kubectl sends."""

    def __init__(self, cluster: Any) -> None:
        super().__init__(cluster)
        self._dispatcher = Dispatcher(cluster)

    def apply(self, source: Any) -> None:
        for one in source if isinstance(source, list) else [source]:
            manifest = to_dict(load(one)[0] if isinstance(one, str) else from_dict(one))
            if manifest["metadata"].get("resourceVersion"):  # kubectl replace
                self.send("PUT", self._path(manifest, manifest["metadata"]["name"]), manifest)
                continue
            annotated = json.loads(json.dumps(manifest))
            annotated["metadata"].setdefault("annotations", {})[APPLIED] = json.dumps(manifest)
            path = self._path(manifest, manifest["metadata"]["name"])
            try:
                live = self.send("GET", path)
            except NotFound:
                self.send("POST", path.rpartition("/")[0], annotated)
                continue
            last = json.loads(live["metadata"].get("annotations", {}).get(APPLIED, "{}"))
            merged = three_way(last, annotated, live)
            if self._is_custom(manifest["kind"]):
                self.send("PUT", path, merged)
            else:
                self.send("PATCH", path, strategic_diff(live, merged))

    def delete(self, kind: str, name: str, namespace: str = "default", *, grace: int | None = None) -> None:
        body = {"propagationPolicy": "Background"} | ({} if grace is None else {"gracePeriodSeconds": grace})
        self.send("DELETE", self._path({"kind": kind, "metadata": {"namespace": namespace}}, name), body)

    def patch(self, kind: str, name: str, patch: Any, namespace: str = "default", subresource: str = "") -> None:
        path = self._path({"kind": kind, "metadata": {"namespace": namespace}}, name)
        self.send("PATCH", f"{path}/{subresource}".rstrip("/"), patch, "merge" if self._is_custom(kind) else "")

    def evict(self, name: str, namespace: str = "default", *, grace: int | None = None) -> None:
        path = self._path({"kind": "Pod", "metadata": {"namespace": namespace}}, name)
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
        self.send("POST", f"{path}/eviction", body)

    def bind(self, name: str, node: str, namespace: str = "default") -> None:
        self.send("POST", f"/api/v1/namespaces/{namespace}/bindings", binding(name, node))

    def _path(self, plain: Mapping[str, Any], name: str) -> str:
        kind = self._cluster.api.store.kinds.named(plain["kind"])
        known = self._dispatcher.rest.resources.resources
        served = next(one for one in known if (one.group, one.kind) == (kind.group, kind.kind))
        root = f"/apis/{served.group_version}" if served.group else "/api/v1"
        place = plain["metadata"].get("namespace") or "default"
        return f"{root}{f'/namespaces/{place}' if served.namespaced else ''}/{served.plural}/{name}"

    def send(self, method: str, path: str, body: Any = None, patch: str = "") -> Any:
        """Send a request and return the object of the response."""
        patch = patch or "strategic-merge"
        kind = f"application/{patch}-patch+json" if method == "PATCH" else "application/json"
        headers = {"content-type": kind, "user-agent": "kubectl/v1.36.2"}
        sent = b"" if body is None else json.dumps(body).encode()
        answer = self._dispatcher.handle(Request(method, path, {}, headers, sent))
        assert isinstance(answer, Response)
        found = json.loads(answer.body)
        if answer.code == 404:
            raise NotFound(path, "")
        if answer.code >= 400:
            raise (TooManyRequests if answer.code == 429 else KitError)(found["message"])
        return found


class WithKubectl(Learner):
    """The program itself."""

    def __init__(self, cluster: Any, program: str, kubeconfig: str) -> None:
        super().__init__(cluster)
        self._program, self._variables = program, {**os.environ, "KUBECONFIG": kubeconfig}

    def apply(self, source: Any) -> None:
        for one in source if isinstance(source, list) else [source]:
            plain = to_dict(load(one)[0] if isinstance(one, str) else from_dict(one))
            verb = "replace" if plain["metadata"].get("resourceVersion") else "apply"
            self._run(verb, "-f", "-", text=json.dumps(plain))

    def delete(self, kind: str, name: str, namespace: str = "default") -> None:
        self._run("delete", kind, name, "-n", namespace, "--wait=false")

    def patch(self, kind: str, name: str, patch: Any, namespace: str = "default", subresource: str = "") -> None:
        below = ("--subresource", subresource) if subresource else ()
        how = ("--type", "merge") if self._is_custom(kind) else ()
        self._run("patch", kind, name, "-n", namespace, "-p", json.dumps(patch), *how, *below)

    def cordon(self, node: str, unschedulable: bool = True) -> None:
        self._run("cordon" if unschedulable else "uncordon", node)

    def evict(self, name: str, namespace: str = "default", *, grace: int | None = None) -> None:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
        self._run("create", "--raw", path, "-f", "-", text=json.dumps(body))

    def bind(self, name: str, node: str, namespace: str = "default") -> None:
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/binding"
        self._run("create", "--raw", path, "-f", "-", text=json.dumps(binding(name, node)))

    def _run(self, *words: str, text: str = "") -> None:
        done = subprocess.run(
            [self._program, *words], input=text, env=self._variables, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise (TooManyRequests if "disruption budget" in done.stderr else KitError)(done.stderr)
