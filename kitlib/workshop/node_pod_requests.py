"""The rules for requests about a node pod that exists: changes, deletion, and subresources with their streams.

Source: plugin/cel CreateAdmissionRequest (`request.options` is the DeleteOptions, `request.subResource` is absent for
the pod itself); registry/core/pod/rest (the object of a CONNECT request is its options, such as PodExecOptions, and
carries no pod); pod strategy CheckGracefulDelete (a request's period has no upper bound); kubelet pod_workers
calculateEffectiveGracePeriod; rules.Matcher (`pods/*` matches the pods themselves too).
"""

from __future__ import annotations

from collections.abc import Sequence

from kitlib.api.meta import SERVER_WRITTEN
from kitlib.node.kubernetes import manifest
from kitlib.workshop.cel_shape import CelRule, Where, literal

ADMINISTRATORS = "('system:masters' in request.userInfo.groups)"
MACHINERY = (
    f"{ADMINISTRATORS} || ('system:nodes' in request.userInfo.groups) || "
    "('system:serviceaccounts:kube-system' in request.userInfo.groups) || "
    "request.userInfo.username.startsWith('system:kube-')"
)
"""Requests of administrators and of the cluster's own components, as CEL."""
_GRACE = Where(f"!has({{it}}) || {{it}} <= {manifest.GRACE}")
_GRACE_MEANING = f"a node pod ends within its own grace period, at most {manifest.GRACE} s"
MANAGERS = 16
"""The largest number of entries of managedFields."""


def _unchanged(path: str, free: Sequence[str] = ()) -> CelRule:
    """Return the rule that a map does not change, apart from some keys; its message names the changed keys."""
    new, old = f"object.{path}", f"oldObject.{path}"
    free_key = f"key in {literal(list(free))}" if free else "false"
    kept = f"{free_key} || (key in {old} && {new}[key] == {old}[key])"
    stays = f"{free_key} || key in {new}"
    names = f"({new}.filter(key, !({kept})) + {old}.filter(key, !({stays}))).join(', ')"
    message = f"{path}: a node pod does not change"
    return CelRule(
        f"({MACHINERY}) || ({new}.all(key, {kept}) && {old}.all(key, {stays}))", message, f"'{message}: ' + {names}"
    )


def _subresource(names: Sequence[str], condition: str, message: str) -> CelRule:
    return CelRule(f"!({_PART} in {literal(list(names))}) || {condition}", message)


UPDATE = (
    _unchanged("metadata", SERVER_WRITTEN),
    _unchanged("spec"),
    CelRule(
        f"({MACHINERY}) || !has(object.metadata.managedFields) || object.metadata.managedFields.size() <= {MANAGERS}",
        f"metadata.managedFields: at most {MANAGERS} entries",
    ),
    # an update by a webhook or an administrator must keep the container too
    CelRule("object.spec.containers == oldObject.spec.containers", "the container of a node pod does not change"),
)
DELETE = (
    CelRule(
        f"({MACHINERY}) || ({_GRACE.cel('request.options.gracePeriodSeconds')})",
        f"gracePeriodSeconds: {_GRACE_MEANING}",
    ),
)
_HAS_PART = "has(request.subResource) && request.subResource != ''"
_PART = f"({_HAS_PART} ? request.subResource : 'binding')"
"""The subresource of a request; `bindings` is the older name of `pods/binding`."""
OF_SUBRESOURCE = f"request.resource.resource != 'pods' || ({_HAS_PART})"
_KNOWN = ("attach", "binding", "ephemeralcontainers", "eviction", "exec", "portforward", "proxy", "resize", "status")
SUBRESOURCES = (
    _subresource(
        ["attach"],
        f"{ADMINISTRATORS} || !has(object.container) || object.container in ['', {literal(manifest.CONTAINER)}]",
        f"container: a client attaches to the container `{manifest.CONTAINER}` only",
    ),
    _subresource(
        ["attach"], f"{ADMINISTRATORS} || !has(object.tty) || !object.tty", "tty: the stream of a node has no terminal"
    ),
    _subresource(
        ["exec", "portforward", "proxy"],
        ADMINISTRATORS,
        "a node pod is reached by attach; there is no exec, port forward or proxy",
    ),
    _subresource(["ephemeralcontainers"], ADMINISTRATORS, "a node pod has no ephemeral containers"),
    _subresource(["resize"], ADMINISTRATORS, "a node pod keeps its size"),
    _subresource(["binding"], MACHINERY, "a node pod is placed by the scheduler"),
    _subresource(["status"], MACHINERY, "the status of a node pod is reported by its kubelet"),
    _subresource(
        ["eviction"],
        f"{MACHINERY} || !has(object.deleteOptions) || ({_GRACE.cel('object.deleteOptions.gracePeriodSeconds')})",
        f"deleteOptions.gracePeriodSeconds: {_GRACE_MEANING}",
    ),
    CelRule(f"{_PART} in {literal(list(_KNOWN))} || {ADMINISTRATORS}", "a node pod has no other subresource"),
)
