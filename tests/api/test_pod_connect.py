"""The options of a stream from the parameters of its URL, as an API server decodes them."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

import pytest

from kitlib.api.errors import KitError
from kitlib.api.pod_connect import connect_options, proxy_options
from kitlib.api.serialize import to_dict


@pytest.mark.parametrize(
    ("subresource", "query", "expected"),
    [
        ("exec", "command=sh&command=-c&container=web", {"command": ["sh", "-c"], "container": "web"}),
        (
            "exec",
            "command=id&stdin=true&stdout=1&stderr=False&tty=0",
            {"command": ["id"], "stdin": True, "stdout": True},
        ),
        ("attach", "stdin=&tty=yes", {"stdin": True, "tty": True}),
        ("attach", "container=a&container=b&command=id", {"container": "a"}),
        ("portforward", "ports=80,443&ports=8080", {"ports": [80, 443, 8080]}),
        ("portforward", "", {}),
    ],
)
def test_the_options_of_a_stream(subresource: str, query: str, expected: dict[str, Any]) -> None:
    """Source: runtime.Convert_Slice_string_To_bool: all but "0" and "false" is true."""
    kinds = {"exec": "PodExecOptions", "attach": "PodAttachOptions", "portforward": "PodPortForwardOptions"}
    found = to_dict(connect_options(subresource, parse_qs(query, keep_blank_values=True)))
    assert found == {"apiVersion": "v1", "kind": kinds[subresource], **expected}


@pytest.mark.parametrize("port", ["", "http", "-1", "65536", "8.0", "9" * 5000, "²"])
def test_a_port_that_is_no_number_of_16_bits_is_refused(port: str) -> None:
    with pytest.raises(KitError, match="whole numbers of 16 bits"):
        connect_options("portforward", {"ports": [port]})


@pytest.mark.parametrize(
    ("plural", "kind"),
    [("nodes", "NodeProxyOptions"), ("pods", "PodProxyOptions"), ("services", "ServiceProxyOptions")],
)
def test_the_options_of_a_proxied_request_have_the_kind_of_their_resource(plural: str, kind: str) -> None:
    assert to_dict(proxy_options(plural, "/a")) == {"apiVersion": "v1", "kind": kind, "path": "/a"}
