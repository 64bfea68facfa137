"""Admission of a connection to a pod or a node: exec, attach, port-forward, a proxied request.

The object is the options of the connection, which mutating webhooks and policies may change.

Source: apiserver endpoints/handlers/rest.go ConnectResource.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kitlib.api.meta import KubeObject
from kitlib.apiserver.admission import plugins
from kitlib.apiserver.admission.attributes import attributes_of
from kitlib.apiserver.admission.plugin import AdmissionContext


def admitted(cluster: Any, options: KubeObject, parent: KubeObject, subresource: str) -> tuple[KubeObject, list[str]]:
    """Return the options of a connection after admission, and the warnings.

    Args:
        cluster: a `Cluster`, whose store may be the copy of one in a container: policies are read from the copy.
        options: the options in the request, such as PodExecOptions.
        parent: the name and the namespace of the pod or the node, which need not exist.
        subresource: `exec`, `attach`, `portforward` or `proxy`.

    Raises:
        Forbidden, PolicyDenied, MutationDenied, WebhookDenied, InternalError: the connection is rejected.
    """
    around = AdmissionContext(cluster.api.store, cluster.release, caller=cluster.api.webhooks)
    about = attributes_of(cluster.api.store, options, None, subresource, parent=parent)
    about = replace(about, new=plugins.admit(about, around))
    plugins.validate(about, around)
    return about.object, around.warnings
