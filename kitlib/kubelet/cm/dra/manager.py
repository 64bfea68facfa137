"""Devices of claims on a node: prepared before a pod starts, and told to the containers that take them.

A real kubelet asks the drivers' plugins, which answer with CDI devices; here every driver answers at once, with an
environment variable that lists a container's devices, as the device manager's plugins do.

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
    """Looks after the claims of a node's pods.

    Attributes:
        find: (namespace, name) -> claim as the API server has it; None = nobody tells this node of claims.
    """

    find: Find | None = None

    def problem(self, pod: Pod) -> str:
        """Why the pod's claims cannot be prepared; "" = they can, or there is nothing to prepare."""
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
        """What the container is told: a variable for each driver, with the devices of the requests that it takes.

        `gpu.example.com` -> `GPU_EXAMPLE_COM`.
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
        """The claim for a pod's extended resources, with each request of it that the container takes."""
        status = pod.status.extended_resource_claim_status
        if status is None or self.find is None:
            return
        for one in status.request_mappings:
            if one.container_name == container.name:
                yield self.find(pod.namespace, status.resource_claim_name), one.request_name


def _add(given: dict[str, list[str]], claim: ResourceClaim | None, request: str) -> None:
    """Note the devices that a request of a claim got; "" = all requests."""
    allocation = claim.status.allocation if claim is not None else None
    for result in allocation.devices.results if allocation is not None else ():
        if request in ("", result.request.partition("/")[0]):
            variable = re.sub(r"[^A-Za-z0-9]", "_", result.driver).upper()
            given.setdefault(variable, []).append(result.device)
