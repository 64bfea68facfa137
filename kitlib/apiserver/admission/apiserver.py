"""The API server: the only way to change objects: defaults, admission, validation, then the store.

The order is upstream's: defaults, the plugins' `admit` (plugins.py), the kind's strategy, validation, the plugins'
`validate`, the store. Modules for custom kinds or resizing, which few objects need, are loaded on first use.

Source: apiserver registry.Store, endpoints/handlers (create.go, update.go, delete.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from kitlib.api.core import (
    ConfigMap,
    LimitRange,
    Namespace,
    Node,
    Pod,
    PodStatus,
    Service,
)
from kitlib.api.defaults import set_defaults
from kitlib.api.errors import Forbidden, Invalid, KitError, NoMatch, NotFound
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.api.pod_strategy import mark_deleted, mark_gated, prepare_for_create
from kitlib.api.release import Release
from kitlib.api.serialize import deepcopy
from kitlib.apiserver.admission import custom_kinds, deletion, plugins, strategy
from kitlib.apiserver.admission.attributes import DELETION, Deletion, attributes_of, delete_options
from kitlib.apiserver.admission.deletion import NAMESPACE_FINALIZER
from kitlib.apiserver.admission.initial_status import reset_status
from kitlib.apiserver.admission.plugin import AdmissionContext
from kitlib.apiserver.admission.priority import system_priority_classes
from kitlib.apiserver.admission.size import check_size
from kitlib.apiserver.admission.system_namespaces import system_namespaces
from kitlib.apiserver.admission.updating import check_preconditions, validate_common_fields
from kitlib.apiserver.admission.webhook_calls import WebhookCaller
from kitlib.apiserver.store.events import EventCorrelator
from kitlib.apiserver.store.kinds import Resource, is_served
from kitlib.apiserver.store.node_leases import NodeLeases
from kitlib.apiserver.store.store import Now, Store
from kitlib.apiserver.validation import validate, validate_status
from kitlib.kubelet.qos.qos_class import compute_pod_qos

MAX_REPLICAS = 10_000
"""The maximum `spec.replicas` of a controller in this cluster; Kubernetes itself is tested with 150,000 pods in all."""
T = TypeVar("T", bound=KubeObject)


class _DryRun(Exception):
    """The exception that rolls back a dry run."""


class APIServer:
    """The API server of one cluster.

    Attributes:
        store: the object store, from which readers read directly.
        leases: the Leases of the nodes whose kubelets the kit runs.
        correlator: the correlator that counts and combines events.
        mutators: mutating webhooks for new pods; each changes the pod in place.
        node_checks: checks of a new Node before it is stored; each raises KitError to reject it.
        warnings: the warnings of the last write's admission.
        webhooks: the caller of webhooks while the cluster is served; None = webhooks are unreachable.
        token_key: the key that signs service account tokens; empty = no tokens are issued, pods have no account.

    Args:
        now: the clock; None = the machine's.
        seed: the seed of UIDs and generated names.
        release: the release with its feature gates; None = the newest.
    """

    def __init__(self, now: Now | None = None, seed: int = 0, release: Release | None = None) -> None:
        self.release = release or Release.followed()
        self.store = Store(now, seed)
        self.leases = NodeLeases(self.store)
        self.correlator = EventCorrelator()
        self.mutators: list[Callable[[Pod], None]] = []
        self.node_checks: list[Callable[[Node], object]] = []
        self.warnings: list[str] = []
        self.token_key = b""
        self.webhooks: WebhookCaller | None = None
        self._dry_running = False
        for built_in in (*system_namespaces(), *system_priority_classes()):
            self.store.create(built_in)

    @contextmanager
    def dry_run(self) -> Iterator[None]:
        """Run the writes inside as a dry run: admission and validation apply, nothing is stored."""
        self._dry_running = True
        try:
            with self.store.transaction():
                yield
                raise _DryRun
        except _DryRun:
            pass
        finally:
            self._dry_running = False

    def create(self, obj: T) -> T:
        """Create an object.

        Returns:
            A copy of the stored object.

        Raises:
            NoMatch, Invalid, Forbidden, AlreadyExists, NotFound (its namespace): and then nothing has changed.
        """
        self.warnings.clear()
        self._check_served(obj)
        made = self._placed(deepcopy(obj))
        made.metadata.resource_version = ""
        if not made.metadata.name and isinstance(made, LimitRange):  # Source: core/limitrange strategy
            made.metadata.name = self.store.new_uid()
        if not made.metadata.name and made.metadata.generate_name:
            made.metadata.name = self.store.free_name(made)
        made.metadata.uid = self.store.free_uid(made.metadata.uid)
        set_defaults(made)
        check_size(made)
        around = self._around(obj.metadata)
        about = attributes_of(self.store, made, None, dry_run=self._dry_running)
        made = self._completed(plugins.admit(about, around), made)
        strategy.prepare(made, None, self.release)
        if isinstance(made, Pod):
            for mutate in self.mutators:
                mutate(made)
            prepare_for_create(made, self.release)
            made.status = PodStatus(phase="Pending", qos_class=compute_pod_qos(made, self.release))
            mark_gated(made)
        else:
            reset_status(made)
            custom_kinds.prepare(self.store, made, None)
            strategy.stamp_taints(made, self.store.now())
        kind = self.store.kinds.of(made)
        errors = validate(made, namespaced=kind.namespaced, release=self.release)
        errors += strategy.validate(self.store, made) + custom_kinds.validate_custom(self.store, made, None)
        if errors:
            raise Invalid(kind.group_kind, made.name, errors)
        self._allocate(made)
        plugins.validate(attributes_of(self.store, made, None, dry_run=self._dry_running), around)
        if isinstance(made, Node):
            for check in self.node_checks:
                check(made)
        if isinstance(made, Namespace):
            made.metadata.labels.setdefault("kubernetes.io/metadata.name", made.name)
            if NAMESPACE_FINALIZER not in made.spec.finalizers:
                made.spec.finalizers = [*made.spec.finalizers, NAMESPACE_FINALIZER]
        made = custom_kinds.to_storage(self.store, made, self.webhooks)
        with self.store.transaction():
            # Object and quota usage are stored together: a failed write charges nothing.
            stored = self.store.create(made)
            for changed in around.charged:
                self.store.update(changed)
        return stored

    def update(self, obj: T, subresource: str = "") -> T:
        """Replace an object's spec and metadata; its status is kept (nodeStrategy.PrepareForUpdate and others).

        Args:
            obj: the new state of the object.
            subresource: `scale` if only the replicas are to change: policies see a Scale; `finalize` if a namespace's
                own finalizers may change.

        Raises:
            Invalid: also for a change of an immutable field. Conflict, Forbidden, NoMatch, NotFound.
        """
        self.warnings.clear()
        self._check_served(obj)
        made = self._placed(deepcopy(obj))
        old = self.store.standing(made)
        if old is None:
            raise NotFound(self.store.kinds.of(made).qualified, made.name)
        kind, old = self.store.kinds.of(made), self._as_asked(old, made)
        check_preconditions(made, old, kind)
        if old.metadata.deletion_timestamp:  # no update removes it. Source: ValidateObjectMetaAccessorUpdate
            made.metadata.deletion_timestamp = old.metadata.deletion_timestamp
            made.metadata.deletion_grace_period_seconds = old.metadata.deletion_grace_period_seconds
        set_defaults(made)
        check_size(made)
        made = self._changed(made, old, subresource)
        strategy.prepare(made, old, self.release, subresource)
        strategy.stamp_taints(made, self.store.now())
        if hasattr(made, "status"):
            made.status = old.status  # type: ignore[attr-defined]
        custom_kinds.prepare(self.store, made, old)
        errors = validate_common_fields(made, old, namespaced=kind.namespaced)
        errors += validate(made, old, namespaced=kind.namespaced, release=self.release)
        errors += custom_kinds.validate_custom(self.store, made, old)
        if errors:
            raise Invalid(kind.group_kind, made.name, errors)
        self._allocate(made)
        stored = self._store_charged(made, self.ask_plugins(made, old, subresource))
        self._finish_deletion(stored)
        return stored

    def update_status(self, obj: T, *, metadata: bool = False) -> T:
        """Replace an object's status; with `metadata` its labels and annotations too, as for API clients.

        Raises:
            NotFound, Invalid, Forbidden.
            KitError: the kind has no `status` subresource.
        """
        self.warnings.clear()
        kind, old = self.store.kinds.of(obj), self.store.standing(obj)
        if old is None:
            raise NotFound(kind.qualified, obj.name)
        old = self._as_asked(old, obj)
        if not custom_kinds.has_status_subresource(self.store, old):
            raise KitError(f'{kind.qualified} "{obj.name}": the kind has no `status` subresource')
        made: Any
        if custom_kinds.is_custom(old):
            made = self._changed(custom_kinds.with_status_of(obj, old), old, "status")
        else:
            made = deepcopy(old)
            made.status = deepcopy(obj.status)  # type: ignore[attr-defined]
            made.metadata.managed_fields = obj.metadata.managed_fields
            if metadata:  # Source: PrepareForUpdate of the status strategies, which restore only the spec
                made.metadata.labels, made.metadata.annotations = obj.metadata.labels, obj.metadata.annotations
            made.status = self._changed(made, old, "status").status
        errors = validate_status(made, old) + custom_kinds.validate_custom(self.store, made, old)
        if errors:
            raise Invalid(kind.group_kind, obj.name, errors)
        self.ask_plugins(made, old, "status")
        made = custom_kinds.to_storage(self.store, made, self.webhooks)
        stored: T = self.store.update(made, same_generation=True)
        return stored

    def resize(self, pod: Pod) -> Pod:
        """Update a pod's `resize` subresource: the resources of its containers and of the pod.

        Raises:
            Invalid: another field or the QoS class would change.
            Forbidden: a quota or limit range is exceeded, or the pod's node can never provide the resources.
        """
        from kitlib.apiserver.admission import pod_resize

        self.warnings.clear()
        old = self.store.get(Pod, pod.name, pod.namespace)
        asked = self._changed(set_defaults(deepcopy(pod)), old, "resize")
        made = pod_resize.drop_non_resize_updates(asked, old)
        errors = pod_resize.validate_pod_resize(made, old, self.release)
        if errors:
            raise Invalid(made.kind, made.name, errors)
        return self._store_charged(made, self.ask_plugins(made, old, "resize"))

    def update_ephemeral_containers(self, pod: Pod) -> Pod:
        """Update a pod's `ephemeralcontainers` subresource, which can only add ephemeral containers.

        Raises:
            Invalid: an existing container is changed or removed, or a new one has a field that is not allowed.
        """
        from kitlib.apiserver.admission.ephemeral_containers import validate_ephemeral_containers_update

        old = self.store.get(Pod, pod.name, pod.namespace)
        made = deepcopy(old)
        made.metadata.resource_version = pod.metadata.resource_version
        made.spec.ephemeral_containers = deepcopy(pod).spec.ephemeral_containers
        made.metadata.managed_fields = pod.metadata.managed_fields
        set_defaults(made)
        made.spec.ephemeral_containers = self._changed(made, old, "ephemeralcontainers").spec.ephemeral_containers
        errors = validate_ephemeral_containers_update(made, old)
        if errors:
            raise Invalid(made.kind, made.name, errors)
        self.warnings.clear()
        self.ask_plugins(made, old, "ephemeralcontainers")
        return self.store.update(made)

    def delete(
        self,
        kind: str | type[T] | Resource,
        name: str,
        namespace: str = "",
        *,
        grace: int | None = 0,
        propagation: str = "Background",
        request: Deletion = DELETION,
    ) -> Any:
        """Delete an object.

        Args:
            kind: the object's kind.
            name: the object's name.
            namespace: the object's namespace; "" if it has none.
            grace: the grace period of a pod in seconds; 0 = delete at once, None = the pod's own. A pod with a grace
                period is marked until its kubelet has stopped it and deletes it with 0; the period can only be
                shortened.
            propagation: the treatment of its dependents: "Background", "Foreground" or "Orphan".
            request: the client's request, which admission sees.

        Returns:
            The object before its deletion, or marked: one with finalizers is kept until the last is removed.
        """
        if grace is not None and not (isinstance(grace, int) and abs(grace) < 2**63):
            raise KitError(f"gracePeriodSeconds: must be a whole number of 64 bits, got {grace!r}")
        self.warnings.clear()
        obj: KubeObject = self.store.get(kind, name, namespace)
        options = delete_options(obj, grace, propagation, request)
        seen = custom_kinds.in_version(self.store, obj, request.version or obj.api_version, self.webhooks)
        how: dict[str, Any] = {"options": options, "unnamed": request.collection}
        plugins.admit(attributes_of(self.store, None, seen, dry_run=self._dry_running, **how), self._around())
        self.ask_plugins(None, seen, **how)
        return self.remove(kind, name, namespace, grace=grace, propagation=propagation)

    def remove(
        self,
        kind: str | type[T] | Resource,
        name: str,
        namespace: str,
        *,
        grace: int | None,
        propagation: str = "Background",
    ) -> Any:
        """Delete an object without asking plugins, after the request (for example an eviction) has been admitted."""
        obj: KubeObject = self.store.get(kind, name, namespace)
        if grace != 0 and isinstance(obj, Pod) and mark_deleted(obj, grace, self.store.now()):
            return self.store.update(obj)
        if custom_kinds.is_definition(obj):
            from kitlib.apiserver.admission.custom.strategy import mark_terminating

            mark_terminating(obj, self.store.now())
        obj.metadata.finalizers = deletion.with_propagation(obj.metadata, propagation)
        if deletion.keeps(obj):
            deletion.mark(obj, self.store.now())
            return self.store.update(obj, same_generation=True)
        return self.store.delete(kind, name, namespace)

    def enable_service_accounts(self, key: str, authority: str) -> None:
        """Run new pods as service accounts with tokens, because the cluster is now served over HTTP.

        Args:
            key: the key that signs the tokens, in hexadecimal digits.
            authority: the API server's certificate in PEM.

        Source: clusterauthenticationtrust, which publishes the certificate; kubernetesservice.
        """
        from kitlib.apiserver.admission.flow_control import flow_control
        from kitlib.apiserver.admission.kubernetes_service import kubernetes_service
        from kitlib.apiserver.admission.service_account import AUTHENTICATION, CLIENT_CA, SYSTEM

        self.token_key = bytes.fromhex(key)
        standing = self.store.find(ConfigMap, AUTHENTICATION, SYSTEM)
        if standing is not None:
            standing.data = {CLIENT_CA: authority}
            self.store.update(standing)
        else:
            meta = ObjectMeta(name=AUTHENTICATION, namespace=SYSTEM)
            self.store.create(ConfigMap(metadata=meta, data={CLIENT_CA: authority}))
        for item in (*kubernetes_service(), *flow_control()):
            if self.store.standing(item) is None:
                self.create(item)

    def remove_finalizer(self, obj: KubeObject, finalizer: str) -> None:
        """Remove a finalizer; an object that is being deleted is removed with its last finalizer."""
        current = self.store.standing(obj)
        if current is None or finalizer not in current.metadata.finalizers:
            return
        current.metadata.finalizers = [one for one in current.metadata.finalizers if one != finalizer]
        self._finish_deletion(self.store.update(current))

    def finalize_namespace(self, namespace: Namespace) -> None:
        """Update the `finalize` subresource of a namespace, which removes it if it is being deleted and empty."""
        current: Namespace = self.store.get(Namespace, namespace.name)
        current.spec.finalizers = [
            finalizer for finalizer in current.spec.finalizers if finalizer != NAMESPACE_FINALIZER
        ]
        self._finish_deletion(self.store.update(current))

    def _as_asked(self, old: T, asked: KubeObject) -> T:
        """Return a stored custom object in the version of a request."""
        return custom_kinds.in_version(self.store, old, asked.api_version, self.webhooks)

    def _store_charged(self, made: T, around: AdmissionContext) -> T:
        """Store a changed object together with the usage of the quotas that it was charged to."""
        made = custom_kinds.to_storage(self.store, made, self.webhooks)
        with self.store.transaction():
            stored = self.store.update(made)
            for changed in around.charged:
                self.store.update(changed)
        return stored

    def _finish_deletion(self, obj: KubeObject) -> None:
        """Remove a marked object that nothing keeps; the kubelet removes a pod after its grace period."""
        meta = obj.metadata
        if meta.deletion_timestamp is None or deletion.keeps(obj):
            return
        if not isinstance(obj, Pod) or not meta.deletion_grace_period_seconds:
            self.store.delete(self.store.kinds.of(obj), obj.name, obj.namespace)

    def _check_served(self, obj: KubeObject) -> None:
        """Check that the kind is served: built in, or defined by a stored CustomResourceDefinition."""
        replicas = getattr(getattr(obj, "spec", None), "replicas", None)
        if isinstance(replicas, int) and replicas > MAX_REPLICAS:
            why = f"spec.replicas: {replicas}: a cluster of the kit takes at most {MAX_REPLICAS} pods of one controller"
            raise Forbidden(self.store.kinds.of(obj).plural, obj.name, why)
        if is_served(obj.api_version, obj.kind, self.release):
            return
        if not custom_kinds.is_defined(self.store, obj):
            raise NoMatch(obj.kind, obj.api_version)

    def _placed(self, obj: T) -> T:
        """Set an object's namespace to `default` if it is empty.

        Raises:
            NotFound: the namespace does not exist.
        """
        kind = self.store.kinds.of(obj)
        if not kind.namespaced:
            obj.metadata.namespace = ""
            return obj
        obj.metadata.namespace = obj.metadata.namespace or "default"
        if self.store.find(Namespace, obj.metadata.namespace, copy=False) is None:
            raise NotFound("namespaces", obj.metadata.namespace)
        return obj

    def _allocate(self, made: KubeObject) -> None:
        """Allocate the addresses and node ports of a valid Service.

        Source: registry/core/service/storage beginCreate.
        """
        if isinstance(made, Service):
            from kitlib.apiserver.admission.service_allocation import allocate, init_ip_family_fields

            init_ip_family_fields(made)
            errors = allocate(made, self.store.list(Service, copy=False))
            if errors:
                raise Invalid(self.store.kinds.of(made).group_kind, made.name, errors)

    def _changed(self, made: T, old: KubeObject, subresource: str = "") -> T:
        """Return the object after the plugins; if they change a Scale, the workload gets its replicas."""
        about = attributes_of(self.store, made, old, subresource, dry_run=self._dry_running)
        mutated = plugins.admit(about, self._around())
        if about.new is not made:
            return made if mutated is about.new else strategy.scaled(made, mutated)
        return self._completed(mutated, made)

    def _completed(self, mutated: Any, before: T) -> T:
        if mutated is not before:
            check_size(mutated)
        made: T = custom_kinds.completed(self.store, mutated)
        return made

    def _around(self, given: ObjectMeta | None = None) -> AdmissionContext:
        """Return the context of a write for plugins; `given` is the metadata in the request for a new object."""
        accounts = bool(self.token_key)
        return AdmissionContext(self.store, self.release, accounts, given, self.warnings, caller=self.webhooks)

    def admit_body(self, body: T, subresource: str, parent: KubeObject) -> T:
        """Return the body of a POST to a subresource after admission; its warnings are the last write's.

        Args:
            body: a Binding or an Eviction.
            subresource: `binding` or `eviction`.
            parent: the pod.

        Raises:
            Forbidden, Invalid, PolicyDenied: a plugin rejects the request.
        """
        self.warnings.clear()
        about = attributes_of(self.store, body, None, subresource, dry_run=self._dry_running, parent=parent)
        made: Any = plugins.admit(about, self._around())
        self.ask_plugins(made, None, subresource, parent=parent)
        admitted: T = made
        return admitted

    def ask_plugins(
        self, made: KubeObject | None, old: KubeObject | None, subresource: str = "", **more: Any
    ) -> AdmissionContext:
        """Run the plugins' validation on a write; see `attributes_of`.

        Returns:
            The context after the plugins have run.

        Raises:
            Forbidden, Invalid, PolicyDenied: a plugin rejects the write.
        """
        about = attributes_of(self.store, made, old, subresource, dry_run=self._dry_running, **more)
        around = self._around()
        plugins.validate(about, around)
        return around
