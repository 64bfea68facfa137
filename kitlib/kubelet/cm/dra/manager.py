"""The devices of claims on a node: they are prepared before a pod starts, and passed to its containers.

A real kubelet calls the drivers' plugins, which return CDI devices. Here every driver returns immediately, with an
environment variable that lists a container's devices, as in the device manager.

Source: kubelet cm/dra (Manager.prepareResources, GetResources, newClaimInfoFromClaim); kuberuntime SyncPod.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kitlib.api.claims import ClaimError, claim_name, is_for_pod, is_reserved_for
from kitlib.api.core import Container, Pod
from kitlib.api.devices import ResourceClaim

Find = Callable[[str, str], ResourceClaim | None]


@dataclass
class ClaimManager:
    """Prepares the claims of a node's pods.

    Attributes:
        find: (namespace, name) -> claim of the API server; None = this node does not know claims.
    """

    find: Find | None = None

    def problem(self, pod: Pod) -> str:
        """Return the reason why the pod's claims cannot be prepared; "" = they can, or the pod has no claims."""
        extended = pod.status.extended_resource_claim_status
        if self.find is None or not (pod.spec.resource_claims or extended):
            return ""
        try:
            if extended is not None:
                self._check(pod, extended.resource_claim_name, True)
            for entry in pod.spec.resource_claims:
                name, must_own = claim_name(pod, entry)
                if name is not None:
                    self._check(pod, name, must_own)
        except ClaimError as error:
            return f"prepare dynamic resources: {error}"
        return ""

    def _check(self, pod: Pod, name: str, must_own: bool) -> None:
        claim = self.find(pod.namespace, name) if self.find is not None else None
        if claim is None:
            raise ClaimError(f'fetch ResourceClaim {name}: resourceclaims.resource.k8s.io "{name}" not found')
        if must_own and not is_for_pod(claim, pod):
            raise ClaimError(f"ResourceClaim {claim.key} was not created for pod {pod.key} (pod is not owner)")
        if not is_reserved_for(claim, pod):
            raise ClaimError(
                f"pod {pod.name} ({pod.metadata.uid}) is not allowed to use ResourceClaim {name} ({claim.metadata.uid})"
            )
        if claim.status.allocation is None:
            raise ClaimError(f"ResourceClaim {name}: not allocated")

    def environment(self, pod: Pod, container: Container) -> dict[str, str]:
        """Return the container's variables, one for each driver, with the devices of its requests.

        The variable of `gpu.example.com` is `GPU_EXAMPLE_COM`.
        """
        given: dict[str, list[str]] = {}
        for claim, request in self._extended(pod, container):
            _add(given, claim, request)
        entries = {entry.name: entry for entry in pod.spec.resource_claims}
        for taken in container.resources.claims if self.find is not None else ():
            entry = entries.get(taken.name)
            name = claim_name(pod, entry)[0] if entry is not None else None
            claim = self.find(pod.namespace, name) if self.find is not None and name is not None else None
            _add(given, claim, taken.request)
        return {variable: ",".join(devices) for variable, devices in sorted(given.items())}

    def _extended(self, pod: Pod, container: Container) -> Iterator[tuple[ResourceClaim | None, str]]:
        """Yield the claim for a pod's extended resources with each of its requests that belongs to the container."""
        status = pod.status.extended_resource_claim_status
        if status is None or self.find is None:
            return
        for mapping in status.request_mappings:
            if mapping.container_name == container.name:
                yield self.find(pod.namespace, status.resource_claim_name), mapping.request_name


def _add(given: dict[str, list[str]], claim: ResourceClaim | None, request: str) -> None:
    """Add the allocated devices of a claim's request; "" = of all requests."""
    allocation = claim.status.allocation if claim is not None else None
    for result in allocation.devices.results if allocation is not None else ():
        if request in ("", result.request.partition("/")[0]):
            variable = re.sub(r"[^A-Za-z0-9]", "_", result.driver).upper()
            given.setdefault(variable, []).append(result.device)
