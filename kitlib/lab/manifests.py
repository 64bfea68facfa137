"""Functions that return the manifests of the course: `pod("a", cpu="500m", memory="128Mi")`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Manifest = dict[str, Any]
WORKLOAD = "kitlib.dev/workload"


def resources(
    cpu: str = "", memory: str = "", *, cpu_limit: str = "", memory_limit: str = "", **more: str
) -> dict[str, dict[str, str]]:
    """Return the `resources` of a container.

    Args:
        cpu: CPU request, a quantity; "" = none.
        memory: memory request, a quantity; "" = none.
        cpu_limit: CPU limit, a quantity; "" = none.
        memory_limit: memory limit, a quantity; "" = none.
        more: other resources, requested and limited alike; underscores in their names become dashes.
    """
    extra = {name.replace("_", "-"): amount for name, amount in more.items()}
    requests = {"cpu": cpu, "memory": memory, **extra}
    limits = {"cpu": cpu_limit, "memory": memory_limit, **extra}
    both = {"requests": requests, "limits": limits}
    given = {kind: {name: amount for name, amount in of.items() if amount} for kind, of in both.items()}
    return {kind: of for kind, of in given.items() if of}


def container(
    name: str = "main", *, command: Sequence[str] | str = ("sleep", "infinity"), image: str = "busybox", **amounts: str
) -> Manifest:
    """Return a container; `amounts` as for `resources`, a command in one string is run by a shell."""
    words = ["sh", "-c", command] if isinstance(command, str) else list(command)
    return {"name": name, "image": image, "command": words, "resources": resources(**amounts)}


def pod(
    name: str,
    cpu: str = "",
    memory: str = "",
    *,
    cpu_limit: str = "",
    memory_limit: str = "",
    guaranteed: bool = False,
    busy: int = 0,
    uses: str = "",
    command: Sequence[str] | str = ("sleep", "infinity"),
    containers: Sequence[Manifest] = (),
    init: Sequence[Manifest] = (),
    labels: Mapping[str, str] | None = None,
    priority_class: str = "",
    restart: str = "",
    **spec: Any,
) -> Manifest:
    """Return a pod with one container `main`, unless `containers` are given.

    Args:
        name: the pod's name.
        cpu: CPU request, a quantity; "" = none.
        memory: memory request, a quantity; "" = none.
        cpu_limit: CPU limit, a quantity; "" = none.
        memory_limit: memory limit, a quantity; "" = none.
        guaranteed: whether the limits equal the requests.
        busy: number of threads that are always busy; 0 = the container runs `command`.
        uses: the container's workload in the kit's workload language: "8s memory=60Mi; memory=200Mi".
        command: the container's command; one string is run by a shell.
        containers: containers instead of `main`; see `container`.
        init: init containers; see `container`.
        labels: the pod's labels.
        priority_class: name of its PriorityClass.
        restart: restart policy; "" = Always.
        spec: further fields of the pod's spec, in the API's spelling.
    """
    if guaranteed:
        cpu_limit, memory_limit = cpu, memory
    amounts = {"cpu": cpu, "memory": memory, "cpu_limit": cpu_limit, "memory_limit": memory_limit}
    doing = ("stress-ng", "--cpu", str(busy)) if busy else command
    main = container("main", command=doing, **amounts)
    if uses:
        main |= {"image": "app"}
        del main["command"]
    meta: Manifest = {"name": name, **({"labels": dict(labels)} if labels else {})}
    if uses:
        meta["annotations"] = {f"{WORKLOAD}.main": uses}
    fields: Manifest = {"containers": list(containers) or [main]}
    if "shm=" in uses and "volumes" not in spec:  # without a volume a pod has only the 64 MiB of /dev/shm
        main["volumeMounts"] = [{"name": "scratch", "mountPath": "/scratch"}]
        fields["volumes"] = [{"name": "scratch", "emptyDir": {"medium": "Memory"}}]
    optional = {"initContainers": list(init), "priorityClassName": priority_class, "restartPolicy": restart}
    fields |= {field: value for field, value in optional.items() if value}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": fields | spec}


def deployment(name: str, replicas: int, template: Manifest, **more: Any) -> Manifest:
    """Return a Deployment of pods like `template`, selected by its labels (default: `app=<name>`).

    Args:
        name: the Deployment's name.
        replicas: the desired number of pods.
        template: a pod's manifest.
        more: further fields of the Deployment's spec, in the API's spelling.
    """
    labels = template["metadata"].get("labels") or {"app": name}
    meta = {key: value for key, value in template["metadata"].items() if key != "name"} | {"labels": labels}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}}
    spec |= {"template": {"metadata": meta, "spec": template["spec"]}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec | more}


def priority_class(name: str, value: int, **fields: Any) -> Manifest:
    """Return a PriorityClass."""
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
    return head | {"value": value, **fields}


def disruption_budget(name: str, app: str = "", **spec: Any) -> Manifest:
    """Return a PodDisruptionBudget of the pods `app=<app>` (default: the budget's name).

    Args:
        name: the budget's name.
        app: value of the label `app`; "" = `name`.
        spec: `minAvailable`, `maxUnavailable` and others, in the API's spelling.
    """
    head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}}
    return head | {"spec": {"selector": {"matchLabels": {"app": app or name}}, **spec}}


def horizontal_autoscaler(deployment: str, target: int, *, least: int = 1, most: int = 10) -> Manifest:
    """Return a HorizontalPodAutoscaler of a Deployment: target CPU in percent of the pods' requests."""
    head = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": deployment}}
    of = {"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment}
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": target}}
    spec = {"scaleTargetRef": of, "minReplicas": least, "maxReplicas": most}
    return head | {"spec": spec | {"metrics": [{"type": "Resource", "resource": cpu}]}}


def limit_range(name: str, **limits: Mapping[str, str]) -> Manifest:
    """Return a LimitRange of containers: `default`, `defaultRequest`, `min`, `max`, `maxLimitRequestRatio`."""
    head = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name}}
    item = {"type": "Container", **{field: dict(amounts) for field, amounts in limits.items()}}
    return head | {"spec": {"limits": [item]}}


def quota(name: str, hard: Mapping[str, str], **spec: Any) -> Manifest:
    """Return a ResourceQuota."""
    head = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}}
    return head | {"spec": {"hard": dict(hard), **spec}}


def spread(key: str, *, max_skew: int = 1, soft: bool = False, **fields: Any) -> Manifest:
    """Return a topology spread constraint over the label `key`; `fields` in the API's spelling."""
    then = "ScheduleAnyway" if soft else "DoNotSchedule"
    return {"maxSkew": max_skew, "topologyKey": key, "whenUnsatisfiable": then, **fields}
