"""Variables of Services: their names and values, and which Services a container is told of."""

from __future__ import annotations

from typing import Any

import pytest

from kitlib.api.core import Pod, Service
from kitlib.api.serialize import from_dict
from kitlib.kubelet.pods.environment import make_environment_variables
from kitlib.kubelet.pods.objects import API_SERVICE, Objects, Reference
from kitlib.kubelet.pods.service_links import service_variables

DNS = [{"name": "dns-udp", "port": 53, "protocol": "UDP"}, {"name": "dns", "port": 53, "protocol": "TCP"}]


def service(name: str, address: str, ports: Any = ({"port": 80},)) -> Service:
    return from_dict({"metadata": {"name": name}, "spec": {"clusterIP": address, "ports": [*ports]}}, Service)


@pytest.mark.parametrize(
    ("one", "variables"),
    [
        (service("headless", "None"), {}),
        (service("outside", ""), {}),
        (
            service("my-web", "fd00::1"),
            {
                "MY_WEB_SERVICE_HOST": "fd00::1",
                "MY_WEB_SERVICE_PORT": "80",
                "MY_WEB_PORT": "tcp://[fd00::1]:80",
                "MY_WEB_PORT_80_TCP": "tcp://[fd00::1]:80",
                "MY_WEB_PORT_80_TCP_PROTO": "tcp",
                "MY_WEB_PORT_80_TCP_PORT": "80",
                "MY_WEB_PORT_80_TCP_ADDR": "fd00::1",
            },
        ),
        (
            service("dns", "10.96.0.10", DNS),
            {
                "DNS_SERVICE_HOST": "10.96.0.10",
                "DNS_SERVICE_PORT": "53",
                "DNS_SERVICE_PORT_DNS_UDP": "53",
                "DNS_SERVICE_PORT_DNS": "53",
                "DNS_PORT": "udp://10.96.0.10:53",
                "DNS_PORT_53_UDP": "udp://10.96.0.10:53",
                "DNS_PORT_53_UDP_PROTO": "udp",
                "DNS_PORT_53_UDP_PORT": "53",
                "DNS_PORT_53_UDP_ADDR": "10.96.0.10",
                "DNS_PORT_53_TCP": "tcp://10.96.0.10:53",
                "DNS_PORT_53_TCP_PROTO": "tcp",
                "DNS_PORT_53_TCP_PORT": "53",
                "DNS_PORT_53_TCP_ADDR": "10.96.0.10",
            },
        ),
    ],
)
def test_a_service_with_an_address_has_variables(one: Service, variables: dict[str, str]) -> None:
    assert service_variables([one]) == variables


@pytest.mark.parametrize(("links", "hosts"), [(True, ["KUBERNETES", "WEB"]), (False, ["KUBERNETES"])])
def test_a_container_knows_the_api_server_and_unless_told_otherwise_its_namespace(
    links: bool, hosts: list[str]
) -> None:
    there: dict[Reference, Any] = {
        API_SERVICE: service("kubernetes", "10.96.0.1", [{"name": "https", "port": 443}]),
        Reference("Service", "shop", ""): [service("web", "10.96.0.2")],
        Reference("Service", "other", ""): [service("other", "10.96.0.3")],
    }
    given = [{"name": "URL", "value": "$(WEB_PORT)"}, {"name": "KUBERNETES_SERVICE_PORT", "value": "6443"}]
    spec = {"enableServiceLinks": links, "containers": [{"name": "c", "env": given}]}
    pod: Pod = from_dict({"metadata": {"name": "p", "namespace": "shop"}, "spec": spec}, Pod)
    values = make_environment_variables(pod, pod.spec.containers[0], Objects(there.get), {}).values
    assert sorted(name.removesuffix("_SERVICE_HOST") for name in values if name.endswith("_HOST")) == hosts
    assert values["URL"] == ("tcp://10.96.0.2:80" if links else "$(WEB_PORT)")
    assert values["KUBERNETES_SERVICE_PORT"] == "6443"
