"""`kitlib site --serve`: the files of a site, compressed where that helps, as the types that browsers want."""

from __future__ import annotations

import gzip
import http.client
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.lab.site_server import site_server

SCRIPT = b"export const one = 1;\n" * 500


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "jupyter-lite.json").write_text("{}")
    (tmp_path / "index.html").write_text("<p>here</p>" * 100)
    (tmp_path / "pyodide.mjs").write_bytes(SCRIPT)
    (tmp_path / "pyodide.asm.wasm").write_bytes(b"\0asm" * 1000)
    (tmp_path / "kitlib.whl").write_bytes(b"PK")
    with site_server(tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def asked(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, dict(answer.getheaders()), body


def test_what_gains_by_it_is_sent_compressed(port: int) -> None:
    for path, kind in (
        ("/pyodide.mjs", "text/javascript"),
        ("/pyodide.asm.wasm", "application/wasm"),
        ("/", "text/html"),
    ):
        status, headers, body = asked(port, path, Accept_Encoding="gzip, br")
        assert (status, headers["Content-Type"], headers["Content-Encoding"]) == (200, kind, "gzip")
        assert int(headers["Content-Length"]) == len(body) < len(gzip.decompress(body)) / 3
    assert gzip.decompress(asked(port, "/pyodide.mjs?v=1", Accept_Encoding="gzip")[2]) == SCRIPT


def test_without_being_asked_and_where_it_does_not_help_files_go_as_they_are(port: int) -> None:
    status, headers, body = asked(port, "/pyodide.mjs")
    assert (status, body) == (200, SCRIPT) and "Content-Encoding" not in headers
    assert "Content-Encoding" not in asked(port, "/kitlib.whl", Accept_Encoding="gzip")[1]
    status, headers, body = asked(port, "/pyodide.mjs", "HEAD", Accept_Encoding="gzip")
    assert (status, body, headers["Content-Encoding"]) == (200, b"", "gzip")


def test_nothing_outside_of_the_folder_is_sent(port: int) -> None:
    for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/missing.js"):
        assert asked(port, path, Accept_Encoding="gzip")[0] == 404


def test_a_folder_without_a_site_and_a_port_that_is_taken_are_refused(tmp_path: Path, port: int) -> None:
    with pytest.raises(KitError, match=r"empty: not a site; build one with kitlib site .*empty"):
        site_server(tmp_path / "empty")
    with pytest.raises(KitError, match=f"port {port}: Address already in use"):
        site_server(tmp_path, port)


def test_a_site_below_a_path_is_there_and_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "jupyter-lite.json").write_text("{}")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.html").write_text("<p>docs</p>")
    with site_server(tmp_path, prefix="/kitlib/") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        assert asked(port, "/kitlib/docs/")[2] == b"<p>docs</p>"
        assert gzip.decompress(asked(port, "/kitlib/docs/?q=/x", Accept_Encoding="gzip")[2]) == b"<p>docs</p>"
        status, headers, _ = asked(port, "/kitlib")
        assert (status, headers["Location"]) == (301, "/kitlib/")
        status, headers, _ = asked(port, "/kitlib/docs")
        assert status == 301 and headers["Location"].endswith("/kitlib/docs/")
        for path in ("/", "/docs/", "/kitlibdocs/"):
            assert asked(port, path)[0] == 404, path
            assert asked(port, path, "HEAD", Accept_Encoding="gzip")[0] == 404, path
        server.shutdown()


@pytest.mark.parametrize("prefix", ["", "kitlib", "/kitlib", "kitlib/", "/a b/", "//"])
def test_a_prefix_is_a_path_that_begins_and_ends_with_a_slash(tmp_path: Path, prefix: str) -> None:
    (tmp_path / "jupyter-lite.json").write_text("{}")
    with pytest.raises(KitError, match="must begin and end with a slash"):
        site_server(tmp_path, prefix=prefix)
