"""The health endpoints answer as the real server's do, in short and check by check."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("/healthz", "ok"),
        ("/livez", "ok"),
        ("/readyz/ping", "ok"),
        ("/livez?verbose", "[+]ping ok\n[+]etcd ok\nlivez check passed\n"),
        ("/readyz?verbose=true", "[+]ping ok\n[+]etcd ok\n[+]shutdown ok\nreadyz check passed\n"),
        ("/livez?verbose&exclude=etcd", "[+]ping ok\n[+]etcd excluded: ok\nlivez check passed\n"),
        (
            "/livez?verbose&exclude=x",
            '[+]ping ok\n[+]etcd ok\nwarn: some health checks cannot be excluded: no matches for "x"\n'
            "livez check passed\n",
        ),
    ],
)
def test_a_check_is_told(call: Any, url: str, text: str) -> None:
    assert call("GET", url) == (200, text.encode())


def test_a_check_that_there_is_not_is_not_found(call: Any) -> None:
    assert call("GET", "/livez/nothing")[0] == 404
