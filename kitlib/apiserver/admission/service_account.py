"""ServiceAccount admission: a pod gets an account, and its token, the cluster's certificate and the namespace as files.

It applies only while the cluster is served over HTTP; otherwise tokens cannot be used.

Source: plugin/pkg/admission/serviceaccount (Admit, mountServiceAccountToken, TokenVolumeSource).
"""

from __future__ import annotations

from collections.abc import Callable

from kitlib.api.core import Container, Pod, ServiceAccount
from kitlib.api.errors import Forbidden
from kitlib.api.serialize import from_dict
from kitlib.api.volume import Volume
from kitlib.apiserver.admission.attributes import AdmissionAttributes
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin

DEFAULT = "default"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME = "kube-api-access-"
ROOT_CA = "kube-root-ca.crt"
AUTHENTICATION, SYSTEM = "extension-apiserver-authentication", "kube-system"
"""The ConfigMap in which the API server publishes its certificate, and its namespace."""
CLIENT_CA = "client-ca-file"
WARN_ONLY_EXPIRATION = 3607
"""The requested lifetime of a token in seconds; such a token is valid for a year, with a warning after this time."""
_MIRROR = "kubernetes.io/config.mirror"


def admit_service_account(
    pod: Pod, find: Callable[[str, str], ServiceAccount | None], suffix: Callable[[], str]
) -> None:
    """Set a new pod's service account, and mount its token unless the pod or the account declines it.

    Args:
        pod: the defaulted pod, changed in place.
        find: (name, namespace) -> the service account.
        suffix: returns random characters for the volume's name.

    Raises:
        Forbidden: the service account does not exist.
    """
    if _MIRROR in pod.metadata.annotations:
        return
    name = pod.spec.service_account_name = pod.spec.service_account_name or DEFAULT
    account = find(name, pod.namespace)
    if account is None and name != DEFAULT:  # a controller creates `default` right after its namespace
        why = f'error looking up service account {pod.namespace}/{name}: serviceaccount "{name}" not found'
        raise Forbidden("pods", pod.name, why)
    if not pod.spec.image_pull_secrets and account is not None:
        pod.spec.image_pull_secrets = list(account.image_pull_secrets)
    if _mounts(pod, account):
        _mount(pod, suffix)


def _mounts(pod: Pod, account: ServiceAccount | None) -> bool:
    """Return whether the token is mounted: the pod decides, then the service account. Source: shouldAutomount."""
    for declared in (pod.spec.automount_service_account_token, account and account.automount_service_account_token):
        if declared is not None:
            return bool(declared)
    return True


def _mount(pod: Pod, suffix: Callable[[], str]) -> None:
    there = next((volume.name for volume in pod.spec.volumes if volume.name.startswith(VOLUME)), "")
    name = there or VOLUME + suffix()
    containers = [*pod.spec.init_containers, *pod.spec.containers]
    without = [one for one in containers if all(mount.mount_path != MOUNT_PATH for mount in one.volume_mounts)]
    for container in without:
        _add_mount(container, name)
    if without and not there:
        pod.spec.volumes = [*pod.spec.volumes, _volume(name)]


def _add_mount(container: Container, name: str) -> None:
    made = from_dict({"volumeMounts": [{"name": name, "readOnly": True, "mountPath": MOUNT_PATH}]}, Container)
    container.volume_mounts = [*container.volume_mounts, *made.volume_mounts]


def _volume(name: str) -> Volume:
    """Return the projected volume of a token. Source: TokenVolumeSource."""
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": WARN_ONLY_EXPIRATION}},
        {"configMap": {"name": ROOT_CA, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return from_dict({"name": name, "projected": {"sources": sources, "defaultMode": 0o644}}, Volume)


class ServiceAccountPlugin(AdmissionPlugin):
    """A plugin for new pods of a served cluster."""

    def admit(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        if isinstance(about.new, Pod):
            store = around.store
            admit_service_account(
                about.new,
                lambda name, namespace: store.find(ServiceAccount, name, namespace, copy=False),
                store.new_suffix,
            )
