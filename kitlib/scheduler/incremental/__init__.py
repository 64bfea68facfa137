"""The incremental evaluator: it finds the next pod's node from the answers for equal pods, without a whole cycle.

`Scheduler.explain` is the definition: it asks every plugin about every node. This package finds the same node at lower
cost and has no rules of its own: every number comes from a plugin's PreFilter, Filter, PreScore, Score and
NormalizeScore, or from the functions that these call. If the answer cannot be derived, the whole cycle is run.

What stays valid between two pods, and why:

* If a node changes, everything is discarded (`Snapshot.changes`).
* If a pod is placed or removed, the plugin declares which of its answers may change (`affected_by_placement`):
  `NOTHING`: they follow from the pod and the Node objects, so they are computed once for all pods of a template.
  `AMOUNTS`: the answer for a row follows from the amounts that its pods request and its node offers, so only rows are
  asked about whose pods have changed (`Snapshot.changed_since`), and rows with equal amounts get equal answers.
  `ALL`: the plugin keeps counts that the snapshot updates with each pod (`incremental_answers`), or is asked again.
* Two pods have the same signature if spec, labels, namespace and owners are equal (KEP-5598). Pods of one template may
  request different amounts; they share the answers that no plugin derives from amounts (`Plugin.reads`).
* If other objects than nodes and pods change, `set_objects` counts this as a change of nodes.
* The order of rejections, the weighted sum and the choice between equal nodes are those of `framework.filtering`,
  `framework.scoring` and `Scheduler._select_host`; property tests hold the decisions equal on random clusters.

Imported by the scheduler. Face: `batch.OpportunisticBatch`.
"""
