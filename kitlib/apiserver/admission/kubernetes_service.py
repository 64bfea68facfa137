"""The Service `kubernetes` of a served cluster, at which the pods of a real cluster reach the API server.

Its address is outside the ranges of nodes and pods; like every Service here, it does not route traffic.

Source: pkg/controlplane/controller/kubernetesservice (CreateOrUpdateMasterServiceIfNeeded),
pkg/controlplane/reconcilers (EndpointsAdapter.EnsureEndpointSliceFromEndpoints).
"""

from __future__ import annotations

from kitlib.api.core import EndpointAddress, EndpointPort, Endpoints, EndpointSubset, Service, ServicePort, ServiceSpec
from kitlib.api.meta import KubeObject, ObjectMeta
from kitlib.api.networking import Endpoint, EndpointConditions, EndpointSlice, EndpointSlicePort

NAME, NAMESPACE = "kubernetes", "default"
CLUSTER_IP = "10.96.0.1"
"""The first address of the Services' range."""
ADDRESS, PORT, HTTPS = "172.18.0.1", 6443, "https"


def kubernetes_service() -> list[KubeObject]:
    """Return the Service, its Endpoints and its EndpointSlice."""
    ports = [ServicePort(name=HTTPS, protocol="TCP", port=443, target_port=PORT)]
    spec = ServiceSpec(type="ClusterIP", cluster_ip=CLUSTER_IP, cluster_ips=[CLUSTER_IP], ports=ports)
    subset = EndpointSubset(
        addresses=[EndpointAddress(ip=ADDRESS)], ports=[EndpointPort(name=HTTPS, port=PORT, protocol="TCP")]
    )
    return [
        Service(metadata=_meta(component="apiserver", provider="kubernetes"), spec=spec),
        Endpoints(metadata=_meta(**{"endpointslice.kubernetes.io/skip-mirror": "true"}), subsets=[subset]),
        EndpointSlice(
            metadata=_meta(**{"kubernetes.io/service-name": NAME}),
            address_type="IPv4",
            endpoints=[Endpoint(addresses=[ADDRESS], conditions=EndpointConditions(ready=True))],
            ports=[EndpointSlicePort(name=HTTPS, port=PORT, protocol="TCP")],
        ),
    ]


def _meta(**labels: str) -> ObjectMeta:
    return ObjectMeta(name=NAME, namespace=NAMESPACE, labels=labels)
