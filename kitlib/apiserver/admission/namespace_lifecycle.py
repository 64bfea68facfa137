"""NamespaceLifecycle: nothing is created in a namespace that is being deleted.

Source: plugin/pkg/admission/namespace/lifecycle.
"""

from __future__ import annotations

from kitlib.api.core import Namespace
from kitlib.api.errors import Forbidden
from kitlib.apiserver.admission.attributes import AdmissionAttributes
from kitlib.apiserver.admission.plugin import AdmissionContext, AdmissionPlugin


class NamespaceLifecyclePlugin(AdmissionPlugin):
    """A plugin that checks the namespaces of new objects."""

    def admit(self, about: AdmissionAttributes, around: AdmissionContext) -> None:
        obj = about.object
        namespace = around.store.get(Namespace, obj.namespace, copy=False)
        if namespace.metadata.deletion_timestamp is not None:
            why = f"unable to create new content in namespace {obj.namespace} because it is being terminated"
            raise Forbidden(about.resource.qualified, obj.name, why)
