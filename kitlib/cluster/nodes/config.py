"""The kubelet configuration of a planned node."""

from __future__ import annotations

from kitlib.api.release import Release
from kitlib.cluster.nodes.plan import NodePlan
from kitlib.kubelet.app.read import read_settings
from kitlib.kubelet.cm.cgroup_names import Runtime
from kitlib.kubelet.cm.node_config import NodeConfig


def node_config(plan: NodePlan, release: Release) -> NodeConfig:
    """Return the configuration of a node's kubelet.

    Raises:
        SettingsError: a kubelet would not start with these settings; the error has its messages.
    """
    return NodeConfig(
        machine=plan.machine,
        settings=read_settings(plan.kubelet, release=release),
        release=release,
        name=plan.name,
        runtime=Runtime(oci=plan.runtime),
        resources=plan.resources,
        devices=plan.plugins,
    )
