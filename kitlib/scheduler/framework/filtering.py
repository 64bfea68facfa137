"""PreFilter and Filter for all nodes, with the pods that are nominated to run there.

Source: schedule_one.go (findNodesThatFitPod, findNodesThatPassFilters), framework runtime (RunPreFilterPlugins,
RunFilterPluginsWithNominatedPods).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kitlib.scheduler.framework.filter_outcome import FilterOutcome
from kitlib.scheduler.framework.plugin import SKIP, Context, Handle, Nominated, Plugin
from kitlib.scheduler.framework.pod_info import PodInfo
from kitlib.scheduler.framework.status import SUCCESS, Code, Status, merge_codes

NO_NODES = Status(Code.UnschedulableAndUnresolvable, ("no nodes available to schedule pods",))
"""The status of every pod in a cluster without nodes. Source: scheduler.ErrNoNodesAvailable."""
DIVIDED_BY_ZERO = "runtime error: integer divide by zero"
"""The panic of 1.30 if PreFilter allows only nodes that do not exist."""


def run_pre_filter_plugins(handle: Handle, info: PodInfo, context: Context) -> FilterOutcome:
    """Ask every plugin once about the pod. Source: RunPreFilterPlugins."""
    size = len(context.snapshot)
    every = np.arange(size, dtype=np.int64)
    outcome = FilterOutcome(SUCCESS, None, every, np.zeros(size, np.uint8), np.full(size, -1, np.int32))
    outcome.release = context.release
    nodes: frozenset[str] | None = None
    narrowing: list[str] = []
    for plugin in handle.at("pre_filter"):
        found = plugin.pre_filter(info, context)
        if not found.status.ok:
            code, reasons = found.status.code, found.status.reasons
            if code not in (Code.Unschedulable, Code.UnschedulableAndUnresolvable):
                code, reasons = Code.Error, (f'running PreFilter plugin "{plugin.name}": {found.status.message}',)
            outcome.status = Status(code, reasons, plugin.name)
            # in older releases nodes get no status of their own, so that preemption tries all of them
            every_node = context.release.enabled("KitPreFilterRejectsEveryNode")
            outcome.codes[:] = code if every_node else Code.Unschedulable
            if code is Code.Unschedulable:  # preemption may help, so the other plugins are asked as well
                continue
            return outcome
        outcome.states[plugin.name] = found.state
        if found.nodes is not None:
            nodes = found.nodes if nodes is None else nodes & found.nodes
            narrowing.append(plugin.name)
            if not nodes:
                reason = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(narrowing))}] simultaneously"
                if len(narrowing) == 1:
                    reason = f"node(s) didn't satisfy plugin {plugin.name}"
                outcome.status = Status(Code.UnschedulableAndUnresolvable, (reason,), plugin.name)
                outcome.codes[:] = outcome.status.code
                return outcome
    if nodes is not None and outcome.status.ok:
        outcome.prefilter_node_names = nodes, narrowing
        index = context.snapshot.index
        outcome.status = _missing_nodes(nodes, context)
        outcome.rows = np.array(sorted(index[name] for name in nodes if name in index), np.int64)
        outcome.codes[:] = Code.UnschedulableAndUnresolvable
        outcome.codes[outcome.rows] = 0
    return outcome


def _missing_nodes(nodes: frozenset[str], context: Context) -> Status:
    """Return the error of older releases if PreFilter names nodes that do not exist. Source: findNodesThatFitPod."""
    missing = sorted(name for name in nodes if name not in context.snapshot.index)
    if missing and context.release.enabled("KitMissingNamedNodeFails"):
        return Status(Code.Error, (f'nodeinfo not found for node name "{missing[0]}"',))
    if len(missing) == len(nodes) and context.release.enabled("KitNoNamedNodePanics"):
        return Status(Code.Error, (DIVIDED_BY_ZERO,))
    return SUCCESS


def find_nodes_that_pass_filters(
    handle: Handle, info: PodInfo, context: Context, nominated: Nominated | None = None
) -> FilterOutcome:
    """Run PreFilter and Filter for all nodes.

    Args:
        handle: the framework with the plugins.
        info: the pod.
        context: the cluster.
        nominated: row -> pods that count as running there if their priority is not lower than the pod's.
    """
    if not len(context.snapshot):  # no plugin is asked. Source: schedule_one.go schedulePod
        none = np.zeros(0, np.int64)
        return FilterOutcome(NO_NODES, None, none, np.zeros(0, np.uint8), np.zeros(0, np.int32))
    outcome = run_pre_filter_plugins(handle, info, context)
    if not outcome.status.ok:
        return outcome
    info.states = outcome.states
    everybody = context.release.enabled("KitAllFiltersRun")
    rows = outcome.rows
    for plugin in filters(handle, outcome):
        if plugin.name not in outcome.states and plugin.takes_part("pre_filter"):  # its PreFilter is disabled
            if plugin.missing_state:
                text = f'running "{plugin.name}" filter plugin: {plugin.missing_state}'
                outcome.status = Status(Code.Error, (text,), plugin.name)
                return outcome
            outcome.states[plugin.name] = plugin.pre_filter(info, context).state
            if outcome.states[plugin.name] is SKIP:
                continue
        asked = outcome.rows if everybody else rows
        verdicts = plugin.filter(outcome.states.get(plugin.name), info, context, asked)
        number = len(outcome.plugins)
        outcome.plugins.append(plugin.name)
        outcome.verdicts[plugin.name] = asked, verdicts
        bad = verdicts.codes != 0
        if bad.any():
            broken = np.flatnonzero(verdicts.codes == Code.Error)
            if len(broken):  # an error is no property of the node: it ends the cycle. Source: findNodesThatPassFilters
                text = f'running "{plugin.name}" filter plugin: {verdicts.status(int(broken[0]), plugin.name).message}'
                outcome.status = Status(Code.Error, (text,), plugin.name)
                return outcome
            hit = asked[bad]
            first = outcome.codes[hit] == 0
            outcome.codes[hit] = merge_codes(outcome.codes[hit], verdicts.codes[bad], all_run=everybody)
            outcome.rejected_by[hit[first]] = number
            rows = rows[outcome.codes[rows] == 0]
    for row, pods in (nominated or {}).items():
        if row in outcome.rows and _important(pods, info):
            status = run_filter_plugins_with_nominated_pods(handle, info, context, row, outcome, nominated)
            outcome.codes[row] = status.code
            outcome.single[row] = [] if status.ok else [status]
            outcome.rejected_by[row] = outcome.plugins.index(status.plugin) if status.plugin in outcome.plugins else -1
    return outcome


def filters(handle: Handle, outcome: FilterOutcome) -> Iterable[Plugin]:
    """Return the Filter plugins that PreFilter did not skip."""
    return (plugin for plugin in handle.at("filter") if outcome.states.get(plugin.name) is not SKIP)


def _important(pods: Iterable[PodInfo], info: PodInfo) -> list[PodInfo]:
    return [other for other in pods if other.uid != info.uid and other.priority >= info.priority]


def run_filter_plugins_with_nominated_pods(
    handle: Handle,
    info: PodInfo,
    context: Context,
    row: int,
    outcome: FilterOutcome,
    nominated: Nominated | None = None,
) -> Status:
    """Return whether the pod fits one node of the current snapshot, with and without the pods nominated there.

    Nominated pods do not run yet and may end up elsewhere, so the pod must fit in both cases: with them resources and
    anti-affinity are more likely to fail, without them pod affinity is.

    Args:
        handle: the framework with the plugins.
        info: the pod.
        context: the cluster.
        row: the node.
        outcome: the result of this cycle's PreFilter; plugins that it skipped are not asked.
        nominated: row -> nominated pods; those of lower priority do not count.

    Source: RunFilterPluginsWithNominatedPods.
    """
    added = _important((nominated or {}).get(row, ()), info)
    if added:
        ports = set(context.snapshot.ports[row])
        for other in added:
            context.snapshot.add(other, row)
        status = _fits_now(handle, info, context, row, outcome)
        for other in added:
            context.snapshot.remove(other)
        # remove() frees a port even if another pod of the node uses it
        context.snapshot.ports[row] = ports
        if not status.ok:
            return status
    return _fits_now(handle, info, context, row, outcome)


def _fits_now(handle: Handle, info: PodInfo, context: Context, row: int, outcome: FilterOutcome) -> Status:
    rows = np.array([row], np.int64)
    everybody = context.release.enabled("KitAllFiltersRun")
    rejections: list[Status] = []
    for plugin in filters(handle, outcome):
        # upstream follows added and removed pods by PreFilterExtensions; here PreFilter reads the changed snapshot
        found = plugin.pre_filter(info, context) if plugin.takes_part("pre_filter") else None
        if found is not None and (found.state is SKIP or not found.status.ok):
            continue
        verdicts = plugin.filter(found.state if found else None, info, context, rows)
        if verdicts.codes[0]:
            rejections.append(verdicts.status(0, plugin.name))
            if not everybody:
                break
    if len(rejections) > 1:  # Source: PluginToStatus.Merge
        reasons = tuple(reason for status in rejections for reason in status.reasons)
        return Status(max(status.code for status in rejections), reasons, rejections[0].plugin)
    return rejections[0] if rejections else SUCCESS
