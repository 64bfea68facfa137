"""Answers to a lab as data: the learner's steps, for the tables of right and wrong answers.

    reference:                                   # the steps of the lab's own solution
    - change: Pod web
      set: {containers.log.resources: {limits: {cpu: 50m, memory: 32Mi}}}
    - wait: 5
    right:                                       # alternative answers that pass: sentence -> steps
      resources of the pod as a whole: [...]
    wrong:                                       # answers that fail, with words of the failure's message
    - tries: only one of the containers is limited
      says: has no limits
      steps: [...]
      real: false                                # not tried on real nodes
    docker: {reference: [...], wrong: [...]}     # instead of the above, on real nodes

A step is one of:

    change: KIND NAME            the setup's manifest with `set: {field: value}`; a pod is deleted first, unless
                                 `again: true` (it does not exist); `update: true` edits the current object instead
    apply: [manifest, …]
    delete: KIND NAME            in `namespace`, else in default; with `orphan: true` the objects that it owns stay
    patch: KIND NAME             the patch is `with`; in `namespace`, else in default
    patch_status: KIND NAME      the patch of its status is `with`
    resize: POD                  the new resources are `containers`
    write: POD                   a cgroup file: `container`, `files` by cgroup version, and `value` or `v1` and `v2`;
                                 with `above: true` of the cgroup of all pods
    evict: POD
    bind: POD                    to the node `to`, as a scheduler does; with the `metadata` of the Binding
    drain: NODE                  like `kubectl drain`, for at most `for` seconds
    wait: SECONDS

With `refused: true` the cluster may reject the step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kitlib.api.errors import KitError, NotFound
from kitlib.api.serialize import load_data, to_dict
from kitlib.lab.fields import put

Steps = list[dict[str, Any]]
Action = Callable[[Any], None]


@dataclass(frozen=True)
class WrongAnswer:
    """An answer that must not pass.

    Attributes:
        tries: the learner's misconception, one sentence.
        says: words that the failing check's message contains.
        act: applies the answer to a cluster.
        real: whether the answer is tried on real nodes too.
    """

    tries: str
    says: str
    act: Action
    real: bool = True


@dataclass(frozen=True)
class Answers:
    """All answers of a lab.

    Attributes:
        reference: the lab's own solution.
        right: sentence -> an alternative answer that passes.
        wrong: the answers that must fail.
    """

    reference: Action
    right: dict[str, Action]
    wrong: tuple[WrongAnswer, ...]

    @classmethod
    def read(cls, text: str, name: str, setup: str, *, docker: bool = False) -> Answers:
        """Read answers.yaml.

        Args:
            text: the content of answers.yaml, with the variant's values filled in.
            name: the file's name, for messages.
            setup: the manifests of the start, YAML.
            docker: whether to read the answers for real nodes.

        Raises:
            KitError: the text does not have the documented shape.
        """
        data = load_data(text, name)
        try:
            start = _manifests(setup)
            data = {**data, **(data.get("docker") or {})} if docker else data
            return cls(
                _action(data["reference"], start),
                {sentence: _action(steps, start) for sentence, steps in (data.get("right") or {}).items()},
                tuple(
                    WrongAnswer(one["tries"], one["says"], _action(one["steps"], start), one.get("real", True))
                    for one in data["wrong"]
                ),
            )
        except (KeyError, TypeError) as error:
            raise KitError(f"{name}: invalid answer: {type(error).__name__}: {error}") from error


def _manifests(text: str) -> dict[str, dict[str, Any]]:
    """Return the manifests of a YAML text by `KIND NAME`."""
    found = {}
    for document in text.split("\n---"):
        data = load_data(document) if document.strip() else None
        if isinstance(data, dict):
            found[f"{data['kind']} {data['metadata']['name']}"] = data
    return found


def _action(steps: Steps, start: dict[str, dict[str, Any]]) -> Action:
    def act(cluster: Any) -> None:
        for step in steps:
            _do(cluster, step, start)

    return act


def _do(cluster: Any, step: dict[str, Any], start: dict[str, dict[str, Any]]) -> None:
    with suppress(*[KitError] if step.get("refused") else []):
        _do_one(cluster, step, start)


def _do_one(cluster: Any, step: dict[str, Any], start: dict[str, dict[str, Any]]) -> None:
    if "wait" in step:
        cluster.advance(step["wait"])
    elif "change" in step:
        _change(cluster, step, start)
    elif "apply" in step:
        cluster.apply(copy.deepcopy(step["apply"]))
    elif "delete" in step:
        kind, name = step["delete"].split()
        policy = {"propagation_policy": "Orphan"} if step.get("orphan") else {}
        cluster.delete(kind, name, step.get("namespace", "default"), **policy)
    elif "patch" in step:
        kind, name = step["patch"].split()
        cluster.patch(kind, name, step["with"], step.get("namespace", "default"))
    elif "patch_status" in step:
        kind, name = step["patch_status"].split()
        cluster.patch_status(kind, name, step["with"])
    elif "resize" in step:
        cluster.resize(step["resize"], step["containers"])
    elif "write" in step:
        _write(cluster, step)
    elif "evict" in step:
        cluster.evict(step["evict"])
    elif "bind" in step:
        cluster.bind(step["bind"], step["to"], **{key: step[key] for key in ("metadata",) if key in step})
    elif "drain" in step:
        from kitlib.study.drain import drain  # the start page reads labs without numpy

        drain(cluster, step["drain"], step["for"])
    else:
        raise KitError(f"unknown step in an answer: {step}")


def _change(cluster: Any, step: dict[str, Any], start: dict[str, dict[str, Any]]) -> None:
    kind, name = step["change"].split()
    update = step.get("update", False)
    made = to_dict(cluster.get(kind, name)) if update else copy.deepcopy(start[step["change"]])
    for path, value in (step.get("set") or {}).items():
        put(made, path, copy.deepcopy(value))
    if kind == "Pod" and not update and not step.get("again"):  # `again`: it was deleted before
        cluster.delete(kind, name)
        if step.get("pause"):
            cluster.advance(step["pause"])
        _wait_until_gone(cluster, name)
    cluster.apply(made)


def _wait_until_gone(cluster: Any, pod: str) -> None:
    """Wait as `kubectl replace --force` does: a pod that ignores SIGTERM stays for its whole grace period."""
    for _ in range(60):  # seconds; twice a pod's default grace period
        try:
            cluster.get("Pod", pod)
        except NotFound:
            return
        cluster.advance(1)


def _write(cluster: Any, step: dict[str, Any]) -> None:
    """Write a cgroup file of a pod, of one of its containers, or of the cgroup of all pods, directly."""
    pod = cluster.get("Pod", step["write"])
    node = cluster.node(pod.spec.node_name)
    tree = node.tree()
    wanted = step.get("container", "")
    near = tree.of_kind("kubepods") if step.get("above") else tree.of_pod(pod.metadata.uid)
    kind = "kubepods" if step.get("above") else "pod"
    cgroup = next(c for c in near if (c.container == wanted if wanted else c.kind == kind))
    for file in step["files"][f"v{tree.version}"]:
        if file in cgroup:
            node.write(cgroup.path, file, str(step.get(f"v{tree.version}", step.get("value"))))
