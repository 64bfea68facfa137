"""The Leases of the nodes whose kubelets the kit runs: one in kube-node-lease each, renewed every ten seconds.

Renewals are not written one by one. The kubelet's Lease is computed when Leases are read or watched: its renewTime is
then updated in the store, as an ordinary change with its own resource version. A patch for each node every ten seconds
would halve the speed of an idle cluster of 100 simulated nodes (measured).

On virtual time a kubelet always renews its Lease on time. A node in a container reports each renewal, so that missing
ones are noticed. The Leases of other programs' nodes are ordinary objects. Admission does not see the renewals.

Source: kubelet nodeLeaseDurationSeconds (40) and renewal fraction (0.25); component-helpers apimachinery/lease
controller.go (newLease, ensureLease, retryUpdateLease); kubelet util.SetNodeOwnerFunc.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kitlib.api.coordination import Lease, LeaseSpec
from kitlib.api.core import Node
from kitlib.api.meta import ObjectMeta, OwnerReference
from kitlib.apiserver.store.store import Store

NAMESPACE = "kube-node-lease"
LEASE_DURATION = 40
"""The duration of a Lease in seconds."""
RENEW_INTERVAL = 10.0
"""The interval between two renewals in seconds."""
Renewed = Callable[[], datetime | None]


@dataclass
class _Kept:
    """The Lease of one node.

    Attributes:
        node: the UID of the Node object.
        began: the time at which the kubelet created the Lease.
        renewed: returns the time of the last renewal; None = it is renewed on time.
        made: the number of times that the object was created; a deleted one is created again.
    """

    node: str
    began: datetime
    renewed: Renewed | None
    made: int = 0


class NodeLeases:
    """The Leases of one cluster's nodes.

    Args:
        store: the object store to which they are written when Leases are read.

    Attributes:
        on_stop: called with the name of a node that renews its Lease no more.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._kept, self._writing = store, dict[str, _Kept](), False
        self.on_stop: Callable[[str], None] = lambda name: None
        store.before_read["leases.coordination.k8s.io"] = self.write_due

    def keep(self, node: Node, renewed: Renewed | None = None) -> None:
        """Maintain the Lease of a node whose kubelet the kit runs.

        Args:
            node: the registered Node.
            renewed: returns the time of the kubelet's last renewal, None before the first; no function = on time.
        """
        self._kept[node.name] = _Kept(node.metadata.uid, self._store.now(), renewed)

    def drop(self, name: str) -> None:
        """Stop maintaining a node's Lease; the garbage collector deletes the object with its Node."""
        self._kept.pop(name, None)

    def stop(self, name: str) -> None:
        """Renew a node's Lease no more: its machine is off. The object remains."""
        kept = self._kept.get(name)
        if kept is not None:
            last = self._renew_time(kept)
            kept.renewed = lambda: last
            self.on_stop(name)

    def is_on_time(self, name: str) -> bool:
        """Return whether a node's Lease is renewed on time by construction, so that its health need not be watched."""
        kept = self._kept.get(name)
        return kept is not None and kept.renewed is None

    def renew_time(self, name: str) -> datetime | None:
        """Return when a node's Lease was last renewed; None = the node has none."""
        kept = self._kept.get(name)
        if kept is not None:
            return self._renew_time(kept)
        self._writing = True  # do not update the other nodes' Leases for this read
        try:
            lease: Lease | None = self._store.find(Lease, name, NAMESPACE, copy=False)
        finally:
            self._writing = False
        return lease.spec.renew_time if lease is not None else None

    def _renew_time(self, kept: _Kept) -> datetime:
        if kept.renewed is not None:
            return kept.renewed() or kept.began
        passed = (self._store.now() - kept.began).total_seconds()
        return kept.began + timedelta(seconds=passed // RENEW_INTERVAL * RENEW_INTERVAL)

    def write_due(self) -> None:
        """Update the maintained Leases in the store: create those that are missing, write new renewTimes."""
        if self._writing:
            return
        self._writing = True
        try:
            # The store calls this method before each read of Leases, also before those in _write: the flag ends the
            # recursion.
            for name, kept in list(self._kept.items()):
                self._write(name, kept)
        finally:
            self._writing = False

    def _write(self, name: str, kept: _Kept) -> None:
        lease: Lease | None = self._store.find(Lease, name, NAMESPACE)
        renewed = self._renew_time(kept)
        if lease is None:
            self._store.create(_new(name, kept, renewed))
            kept.made += 1
        elif lease.spec.renew_time != renewed and lease.metadata.deletion_timestamp is None:
            lease.spec.renew_time = renewed
            self._store.update(lease)


def _new(name: str, kept: _Kept, renewed: datetime) -> Lease:
    """Return a Lease as the kubelet creates it.

    The Lease's UID is derived from the node's: a read must not change the UIDs of objects that are created after it.
    """
    owner = OwnerReference(api_version="v1", kind="Node", name=name, uid=kept.node)
    uid = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{kept.node}/{kept.made}"))
    created = kept.began if not kept.made else None
    meta = ObjectMeta(name=name, namespace=NAMESPACE, uid=uid, creation_timestamp=created, owner_references=[owner])
    spec = LeaseSpec(holder_identity=name, lease_duration_seconds=LEASE_DURATION, renew_time=renewed)
    return Lease(metadata=meta, spec=spec)
