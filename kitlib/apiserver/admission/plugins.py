"""The admission plugins in upstream's order: the writes that each handles, and the steps of every write.

A plugin is a class with `admit`, `validate` or both in a file of its own, and one line in `PLUGINS` with the condition
for its use; its file is loaded with the first such write. Plugins of upstream outside this list are not modelled.

Source: kubeapiserver options.AllOrderedPlugins; apiserver pkg/admission chain.go, reinvocation.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import NamedTuple

from kitlib.api.core import LimitRange, Namespace, Pod
from kitlib.api.meta import KubeObject
from kitlib.api.persistent_volume import PersistentVolume, PersistentVolumeClaim
from kitlib.api.policy import PriorityClass
from kitlib.apiserver.admission.attributes import CREATE, UPDATE, AdmissionAttributes
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin

Wanted = Callable[[AdmissionAttributes, AdmissionContext], bool]
POD_SECURITY = "pod-security.kubernetes.io/"
RESIZE, EPHEMERAL, SCALE = "resize", "ephemeralcontainers", "scale"


def _is_new(about: AdmissionAttributes, *types: type[KubeObject]) -> bool:
    return about.operation == CREATE and not about.subresource and isinstance(about.new, types or KubeObject)


def _limited(about: AdmissionAttributes, around: AdmissionContext) -> bool:
    claim = isinstance(about.new, PersistentVolumeClaim) and not about.subresource
    pod = isinstance(about.new, Pod) and (about.subresource == RESIZE or _is_new(about))
    return (claim or pod) and bool(around.store.list(LimitRange, about.object.namespace, copy=False))


def _secured(about: AdmissionAttributes, around: AdmissionContext) -> bool:
    """Return whether a Pod Security label is on the namespace, stored or being written."""
    if about.new is None or about.subresource not in ("", SCALE, RESIZE, EPHEMERAL):
        return False
    labels = set(about.new.metadata.labels) if isinstance(about.new, Namespace) else set()
    if isinstance(about.old, Namespace):
        labels |= set(about.old.metadata.labels)
    elif about.object.namespace:
        namespace = around.store.find(Namespace, about.object.namespace, copy=False)
        labels |= set(namespace.metadata.labels) if namespace is not None else set()
    return any(key.startswith(POD_SECURITY) for key in labels)


def _has_runtime_class(about: AdmissionAttributes, around: AdmissionContext) -> bool:
    pod = about.new
    return (
        isinstance(pod, Pod) and _is_new(about) and (pod.spec.runtime_class_name is not None or bool(pod.spec.overhead))
    )


def _counted(about: AdmissionAttributes, around: AdmissionContext) -> bool:
    written = about.new is not None and about.subresource in ("", RESIZE) and bool(about.object.namespace)
    return written and bool(around.store.list("ResourceQuota", about.object.namespace, copy=False))


class PluginDescriptor(NamedTuple):
    """An entry of the table of plugins.

    Attributes:
        name: upstream's name.
        module: the module of its class, below this package; the class is `NAMEPlugin`.
        wanted: returns whether a write can concern the plugin.
    """

    name: str
    module: str
    wanted: Wanted


PLUGINS: tuple[PluginDescriptor, ...] = (
    PluginDescriptor("NamespaceLifecycle", "namespace_lifecycle", lambda a, s: _is_new(a) and bool(a.object.namespace)),
    PluginDescriptor("LimitRanger", "limit_range", _limited),
    PluginDescriptor("ServiceAccount", "service_account", lambda a, s: s.service_accounts and _is_new(a, Pod)),
    PluginDescriptor("PodSecurity", "podsecurity.admission", _secured),
    PluginDescriptor(
        "Priority",
        "priority",
        lambda a, s: _is_new(a, Pod) or (isinstance(a.new, PriorityClass) and not a.subresource),
    ),
    PluginDescriptor(
        "DefaultTolerationSeconds",
        "default_toleration_seconds",
        lambda a, s: isinstance(a.new, Pod) and not a.subresource,
    ),
    PluginDescriptor(
        "StorageObjectInUseProtection",
        "storage_protection",
        lambda a, s: _is_new(a, PersistentVolume, PersistentVolumeClaim),
    ),
    PluginDescriptor(
        "PersistentVolumeClaimResize",
        "volume_resize",
        lambda a, s: a.operation == UPDATE and not a.subresource and isinstance(a.new, PersistentVolumeClaim),
    ),
    PluginDescriptor("RuntimeClass", "runtime_class", _has_runtime_class),
    PluginDescriptor(
        "NodeDeclaredFeatureValidator",
        "pod_resize",
        lambda a, s: isinstance(a.new, Pod) and a.operation == UPDATE and a.subresource in ("", RESIZE),
    ),
    PluginDescriptor(
        "PodResizeValidator", "pod_resize", lambda a, s: isinstance(a.new, Pod) and a.subresource == RESIZE
    ),
    PluginDescriptor(
        "MutatingAdmissionPolicy",
        "policy.mutating",
        lambda a, s: a.new is not None and bool(s.store.list("MutatingAdmissionPolicyBinding", copy=False)),
    ),
    PluginDescriptor(
        "MutatingAdmissionWebhook",
        "webhook.hooks",
        lambda a, s: bool(s.store.list("MutatingWebhookConfiguration", copy=False)),
    ),
    PluginDescriptor(
        "ValidatingAdmissionPolicy",
        "policy.validating",
        lambda a, s: bool(s.store.list("ValidatingAdmissionPolicyBinding", copy=False)),
    ),
    PluginDescriptor(
        "ValidatingAdmissionWebhook",
        "webhook.hooks",
        lambda a, s: bool(s.store.list("ValidatingWebhookConfiguration", copy=False)),
    ),
    PluginDescriptor("ResourceQuota", "quota", _counted),
)


@cache
def _class_of(one: PluginDescriptor) -> type[AdmissionPlugin]:
    found: type[AdmissionPlugin] = getattr(import_module(f"{__package__}.{one.module}"), f"{one.name}Plugin")
    return found


def admit(about: AdmissionAttributes, around: AdmissionContext) -> KubeObject:
    """Return the object after all plugins: the same one, or another if a policy changed it.

    Raises:
        Forbidden, Invalid, MutationDenied, InternalError
    """
    asked: dict[str, AdmissionPlugin] = {}
    for one in PLUGINS:
        if one.wanted(about, around):
            asked[one.name] = _class_of(one)()
            about = _after(about, asked[one.name].admit(about, around))
    # The whole chain runs once more, in-tree plugins included, and never a third time. The instances are kept, because
    # policies and webhooks remember what ran in the first round. Source: apiserver pkg/admission reinvoker.Admit.
    if any(plugin.asks_again() for plugin in asked.values()):
        for one in PLUGINS:
            if one.wanted(about, around):
                plugin = asked.get(one.name) or _class_of(one)()
                about = _after(about, plugin.admit_again(about, around))
    return about.object


def _after(about: AdmissionAttributes, made: KubeObject | None) -> AdmissionAttributes:
    return about if made is None else replace(about, new=made)


def validate(about: AdmissionAttributes, around: AdmissionContext) -> None:
    """Run the validation of all plugins.

    Raises:
        Forbidden, Invalid, PolicyDenied
    """
    for one in PLUGINS:
        if one.wanted(about, around):
            _class_of(one)().validate(about, around)
