"""The incremental evaluator: the next pod's node, from the answers for pods like it, without a whole cycle.

`Scheduler.explain` is the definition: it asks every plugin about every node. This package gives the same node for less,
and runs no rule of its own: every number comes from a plugin's PreFilter, Filter, PreScore, Score and NormalizeScore,
or from the functions that these are made of. Where it cannot know, the whole cycle is run.

What stays true between two pods, and why:

* A node changes: everything is forgotten (`Snapshot.changes`).
* A pod is placed or removed, and the plugin says which of its answers that can change (`affected_by_placement`):
  `NOTHING`: they follow from the pod and the Node objects, so they are computed once for all pods of a template.
  `AMOUNTS`: the answer for a row follows from what its pods request and its node offers, so only the rows are asked
  about whose pods changed (`Snapshot.changed_since`), and rows with equal amounts get equal answers.
  `ALL`: the plugin keeps counts that the snapshot updates with each pod (`incremental_answers`), or is asked again.
* Two pods have the same signature: equal spec, labels, namespace and owners (KEP-5598). Pods of one template may
  request different amounts, and share what no plugin derives from amounts (`Plugin.reads`).
* Objects besides nodes and pods change: `set_objects` counts as a change of nodes.
* The order of rejections, the weighted sum and the choice between equal nodes are those of `framework.filtering`,
  `framework.scoring` and `Scheduler._select_host`; property tests hold the decisions equal on random clusters.

Imported by the scheduler. Face: `batch.OpportunisticBatch`.
"""
