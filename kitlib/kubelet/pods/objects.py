"""The objects that a kubelet may read: its node, Services, and what its pods refer to (ConfigMaps, Secrets, volumes).

Source: kubelet configmap.Manager, secret.Manager; plugin/pkg/auth/authorizer/node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kitlib.api.core import ConfigMap, Container, Node, PersistentVolumeClaim, Pod, Secret, Service
from kitlib.api.errors import KitError
from kitlib.api.persistent_volume import PersistentVolume
from kitlib.api.volume import Volume
from kitlib.api.volume_files import ServiceAccountTokenProjection

CONFIG_MAP, SECRET, NODE, SERVICE = "ConfigMap", "Secret", "Node", "Service"
CLAIM, VOLUME = "PersistentVolumeClaim", "PersistentVolume"
_TOKEN = "token:"
DEFAULT_EXPIRATION = 3600
"""The default lifetime of a token in seconds. Source: pkg/apis/core/v1 SetDefaults_ServiceAccountTokenProjection."""


class Reference(NamedTuple):
    """An object that a pod refers to."""

    kind: str
    namespace: str
    name: str


class TokenReference(NamedTuple):
    """A service account's token that a pod's volume requests, as a reference with a name that no Secret can have.

    Attributes:
        pod, uid: the name and the UID of the volume's pod.
        seconds: the lifetime of the token.
        audience: the recipient of the token; "" = the API server.
    """

    pod: str
    uid: str
    seconds: int
    audience: str

    def in_namespace(self, namespace: str) -> Reference:
        """Return the reference to the token."""
        return Reference(SECRET, namespace, f"{_TOKEN}{self.pod}:{self.uid}:{self.seconds}:{self.audience}")

    @classmethod
    def parse(cls, reference: Reference) -> TokenReference | None:
        """Return the token of a reference; None if it refers to another object."""
        if reference.kind != SECRET or not reference.name.startswith(_TOKEN):
            return None
        pod, uid, seconds, audience = reference.name.removeprefix(_TOKEN).split(":", 3)
        return cls(pod, uid, int(seconds), audience)


class MissingObject(KitError):
    """A ConfigMap, a Secret or a key of one does not exist; the message is the kubelet's."""


class Objects:
    """The objects that a kubelet may read.

    Attributes:
        find: returns the object of a reference; None if it does not exist. A Service without a name refers to all
            Services of a namespace.
    """

    def __init__(self, find: Callable[[Reference], Any | None] = lambda reference: None) -> None:
        self.find = find

    def node(self, name: str) -> Node | None:
        found: Node | None = self.find(Reference(NODE, "", name))
        return found

    def claim(self, namespace: str, name: str) -> PersistentVolumeClaim | None:
        """Return a claim that a pod's volume uses."""
        found: PersistentVolumeClaim | None = self.find(Reference(CLAIM, namespace, name))
        return found

    def volume(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        """Return the volume that a claim names."""
        found: PersistentVolume | None = self.find(volume_of(claim))
        return found

    def services(self, pod: Pod) -> dict[str, Service]:
        """Return the Services that a pod's containers are told of. Source: kubelet getServiceEnvVarMap."""
        master = self.find(API_SERVICE)  # also without links
        found = {master.name: master} if master is not None else {}
        links = pod.spec.enable_service_links is not False
        return found | {one.name: one for one in (links and self.find(services_of(pod))) or ()}

    def data(self, kind: str, namespace: str, name: str) -> dict[str, bytes]:
        """Return the keys of an object with their content.

        Raises:
            MissingObject: the object does not exist.
        """
        found = self.find(Reference(kind, namespace, name))
        if found is None:
            raise MissingObject(f'{kind.lower()} "{name}" not found')
        return content(found)


def content(found: ConfigMap | Secret) -> dict[str, bytes]:
    """Return key -> content of a ConfigMap or a Secret."""
    if isinstance(found, ConfigMap):
        return {key: value.encode() for key, value in found.data.items()} | found.binary_data
    return dict(found.data)


API_SERVICE = Reference(SERVICE, "default", "kubernetes")


def services_of(pod: Pod) -> Reference:
    """Return the reference to the Services of a pod's namespace."""
    return Reference(SERVICE, pod.namespace, "")


def references(pod: Pod) -> set[Reference]:
    """Return the ConfigMaps, Secrets and claims that a pod names. Source: pkg/api/v1/pod VisitPodConfigmapNames."""
    spec = pod.spec
    found = {_reference(pod, kind, name) for kind, name in _of_volumes(pod)}
    for container in (*spec.init_containers, *spec.containers, *spec.ephemeral_containers):
        found |= {_reference(pod, kind, name) for kind, name in _of_container(container)}
    return {one for one in found if one.name}


def tokens(pod: Pod) -> set[Reference]:
    """Return the tokens that a pod's volumes request."""
    return {
        token_of(pod, source.service_account_token)
        for volume in pod.spec.volumes
        if volume.projected is not None
        for source in volume.projected.sources
        if source.service_account_token is not None
    }


def token_of(pod: Pod, wanted: ServiceAccountTokenProjection) -> Reference:
    """Return the token that a source of a projected volume requests."""
    seconds = wanted.expiration_seconds or DEFAULT_EXPIRATION
    return TokenReference(pod.name, pod.metadata.uid, seconds, wanted.audience).in_namespace(pod.namespace)


def _reference(pod: Pod, kind: str, name: str) -> Reference:
    return Reference(kind, pod.namespace, name)


def _of_container(container: Container) -> Iterator[tuple[str, str]]:
    for source in container.env_from:
        if source.config_map_ref is not None:
            yield CONFIG_MAP, source.config_map_ref.name
        if source.secret_ref is not None:
            yield SECRET, source.secret_ref.name
    for variable in container.env:
        if variable.value_from is not None and variable.value_from.config_map_key_ref is not None:
            yield CONFIG_MAP, variable.value_from.config_map_key_ref.name
        if variable.value_from is not None and variable.value_from.secret_key_ref is not None:
            yield SECRET, variable.value_from.secret_key_ref.name


def claim_of(pod: Pod, volume: Volume) -> str:
    """Return the name of the claim of a pod's volume; "" = no claim."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod.name}-{volume.name}" if volume.ephemeral is not None else ""


def volume_of(claim: PersistentVolumeClaim) -> Reference:
    """Return the reference to the volume of a bound claim."""
    return Reference(VOLUME, "", claim.spec.volume_name)


def _of_volumes(pod: Pod) -> Iterator[tuple[str, str]]:
    for volume in pod.spec.volumes:
        if volume.config_map is not None:
            yield CONFIG_MAP, volume.config_map.name
        yield CLAIM, claim_of(pod, volume)
        if volume.secret is not None:
            yield SECRET, volume.secret.secret_name
        for source in volume.projected.sources if volume.projected is not None else ():
            if source.config_map is not None:
                yield CONFIG_MAP, source.config_map.name
            if source.secret is not None:
                yield SECRET, source.secret.name
