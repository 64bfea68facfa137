"""Nodes, pods and profiles for tests of the scheduler."""

from kitlib.api.core import Node, Pod
from kitlib.api.serialize import from_dict
from kitlib.scheduler.profile import Profile


def node(name, cpu="4", **labels):
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return from_dict({"metadata": meta, "status": {"allocatable": allocatable}}, Node)


def pod(name, cpu="100m", *, on="", priority=None, scheduler=""):
    container = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
    meta = {"name": name, "namespace": "default", "uid": name}
    made = from_dict({"metadata": meta, "spec": {"containers": [container]}}, Pod)
    made.spec.node_name, made.spec.priority, made.spec.scheduler_name = on, priority, scheduler
    return made


def profile(*own, **data):
    enabled = [{"name": plugin.name} for plugin in own]
    return Profile.from_configuration({"plugins": {"multiPoint": {"enabled": enabled}}, **data}, own=own)
