"""What an admission plugin is, and what it is given with every write.

Source: k8s.io/apiserver/pkg/admission (MutationInterface, ValidationInterface).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kitlib.api.core import ResourceQuota
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.api.release import Release
from kitlib.apiserver.admission.attributes import Attributes
from kitlib.apiserver.store.store import Store


@dataclass
class AdmissionContext:
    """What plugins may look at besides the write, and what they leave behind.

    Attributes:
        store: all objects.
        release: whose gates hold.
        service_accounts: whether pods run as service accounts.
        given: the metadata that was sent with a new object; None for a change.
        warnings: for the client.
        charged: quotas with their new use, which are stored together with the object.
    """

    store: Store
    release: Release
    service_accounts: bool = False
    given: ObjectMeta | None = None
    warnings: list[str] = field(default_factory=list)
    charged: list[ResourceQuota] = field(default_factory=list)


class AdmissionPlugin:
    """One admission plugin; a subclass overrides one method or both."""

    def admit(self, about: Attributes, around: AdmissionContext) -> KubeObject | None:
        """Change the object before it is validated: in place, or by returning another one.

        Raises:
            Forbidden, Invalid: the write is refused.
        """
        return None

    def validate(self, about: Attributes, around: AdmissionContext) -> None:
        """Refuse the write, or warn of it.

        Raises:
            Forbidden, Invalid: the write is refused.
        """

    def admit_again(self, about: Attributes, around: AdmissionContext) -> KubeObject | None:
        """Change the object once more, after a later plugin changed it.

        Source: apiserver pkg/admission reinvocation.go.
        """
        return self.admit(about, around)

    def asks_again(self) -> bool:
        """Return whether all plugins are asked once more because of the change that this one made."""
        return False
