"""The server of a webhook: where a configuration leads."""

from __future__ import annotations

import pytest

from kitlib.api.apiextensions import ServiceReference, WebhookClientConfig
from kitlib.apiserver.admission.webhook_calls import WebhookError
from kitlib.apiserver.admission.webhook_servers import target_of
from kitlib.cluster import Cluster


def test_a_service_of_another_name_leads_to_a_manager_beside_the_cluster() -> None:
    with Cluster.simulated(0) as cluster:
        spec = {"type": "ExternalName", "externalName": "localhost"}
        meta = {"name": "hook", "namespace": "default"}
        plain = {"metadata": {**meta, "name": "plain"}, "spec": {"ports": [{"port": 443}]}}
        for one in ({"metadata": meta, "spec": spec}, plain):
            cluster.apply({"apiVersion": "v1", "kind": "Service", **one})
        store = cluster.api.store
        reference = ServiceReference(namespace="default", name="hook", path="/x", port=9443)
        found = target_of(store, WebhookClientConfig(service=reference, ca_bundle=b"pem"), 5)
        assert (found.url, found.host, found.port) == ("https://hook.default.svc:9443/x", "localhost", 9443)
        assert (found.server_name, found.authority, found.timeout) == ("hook.default.svc", b"pem", 5)
        wrong = [
            ("plain", 443, 'no endpoints available for service "plain"'),
            ("plain", 80, 'no service port 80 found for service "plain"'),
            ("none", 443, 'service "none" not found'),
        ]
        for name, port, said in wrong:
            reference = ServiceReference(namespace="default", name=name, port=port)
            with pytest.raises(WebhookError, match=said):
                target_of(store, WebhookClientConfig(service=reference), 5)
