"""A learner's own cluster as a scenario, and as the zones of the spread explorer: a copy of its current objects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kitlib.api.apps import ReplicaSet, StatefulSet
from kitlib.api.core import TERMINAL_PHASES, Namespace, Pod, ReplicationController, Service
from kitlib.api.errors import KitError, NotFound
from kitlib.api.meta import ObjectMeta
from kitlib.api.policy import PodDisruptionBudget
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.cluster import Cluster
from kitlib.scheduler.plugins.pod_topology_spread import ZONE
from kitlib.study.scenario import Scenario
from kitlib.study.spread_stage import LABELS, Spread
from kitlib.widgets._parts.live_cluster import free_name

_OTHERS: Mapping[str, type[Any]] = {
    "namespaces": Namespace,
    "services": Service,
    "replication_controllers": ReplicationController,
    "replica_sets": ReplicaSet,
    "stateful_sets": StatefulSet,
    "budgets": PodDisruptionBudget,
}
"""Keyword of `Scheduler` -> the kind of its objects."""
_DEVICES = ("ResourceClaim", "DeviceClass", "ResourceSlice")


def scenario_of_cluster(cluster: Cluster, pod: str = "") -> Scenario:
    """Return the cluster as it is now, as a scenario: a copy that can be decided under any release.

    Args:
        cluster: the cluster to copy.
        pod: name or `namespace/name` of the pod in question, which becomes unscheduled; "" = the first waiting pod.

    Raises:
        NotFound: the pod does not exist.
    """
    pods = [one for one in cluster.pods() if one.status.phase not in TERMINAL_PHASES]
    asked = next((one for one in pods if pod in (one.name, one.key)), None)
    if pod and asked is None:
        raise NotFound("pods", pod)
    if asked is not None and asked.spec.node_name:
        loose = deepcopy(asked)
        loose.spec.node_name = ""
        pods = [loose, *(one for one in pods if one is not asked)]
    others: dict[str, list[Any]] = {name: cluster.list(kind.__name__) for name, kind in _OTHERS.items()}
    others["claims"] = [one for kind in _DEVICES for one in cluster.list(kind)]
    return Scenario(
        cluster.nodes, pods, pod=asked.key if asked is not None else "", title="your cluster", others=others
    )


def spread_of_cluster(cluster: Cluster, release: Release | str | None = None) -> tuple[Spread, Pod | None]:
    """Return the cluster's zones and the constraint of the pod that comes next.

    The pod is the first waiting one with a constraint, else one like the newest with a constraint; if no pod has
    any, a pod `app: web` that spreads over zones with maxSkew 1.

    Args:
        cluster: the cluster to copy.
        release: the scheduler's release; None = the cluster's.

    Returns:
        The state, and the pod that the next one is made from; None = the kit's own.

    Raises:
        KitError: a node has no zone.
    """
    followed = cluster.release if release is None else Release.of(release)
    zones: dict[str, list[str]] = {}
    for node in cluster.nodes:
        if ZONE not in node.metadata.labels:
            raise KitError(
                f"node {node.name}: metadata.labels[{ZONE}]: Required value: the widget draws zones; label the nodes, "
                f'or create them with {{"name": "{node.name}", "labels": {{"{ZONE}": "zone1"}}}}'
            )
        zones.setdefault(node.metadata.labels[ZONE], []).append(node.name)
    spreading = [pod for pod in cluster.pods() if pod.spec.topology_spread_constraints]
    waiting = [pod for pod in spreading if not pod.spec.node_name]
    if not spreading:
        layout = tuple((zone, tuple(names)) for zone, names in zones.items())
        state = Spread(layout, release=followed)
        placed = [
            p.spec.node_name for p in cluster.pods() if p.spec.node_name and LABELS.items() <= p.metadata.labels.items()
        ]
        return replace(state, placed=tuple(placed)), None
    template = waiting[0] if waiting else max(spreading, key=lambda pod: (pod.metadata.creation_timestamp, pod.name))
    following = deepcopy(template)
    following.spec.node_name, following.metadata.name = "", free_name(cluster, f"{template.name}-next")
    scenario = scenario_of_cluster(cluster)
    asked = replace(scenario, pods=[*scenario.pods, following], pod=following.key)
    return Spread.of(asked, followed), template


def next_pod(cluster: Cluster, state: Spread, template: Pod | None) -> Pod:
    """Return another pod with the constraint of a state, under a free name.

    Args:
        cluster: the target cluster.
        state: the state with the constraint.
        template: the template of the pod; None = the kit's own.
    """
    own = state.pod()
    if template is None:
        own.metadata.name = free_name(cluster, "web")
        return own
    copy, about = deepcopy(template), template.metadata
    name = free_name(cluster, re.sub(r"-\d+$", "", template.name), template.namespace)
    metadata = ObjectMeta(name=name, namespace=about.namespace, labels=about.labels, annotations=about.annotations)
    made = Pod(metadata=metadata, spec=copy.spec)
    made.spec.node_name = ""
    (constraint,) = own.spec.topology_spread_constraints
    constraint.label_selector = template.spec.topology_spread_constraints[0].label_selector
    made.spec.topology_spread_constraints = [constraint, *made.spec.topology_spread_constraints[1:]]
    return made
