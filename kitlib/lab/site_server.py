"""A web server for previews of a built site: the files of one folder, compressed, on the loopback interface.

`python -m http.server` sends WebAssembly and scripts uncompressed, three times the bytes of a public server.
"""

from __future__ import annotations

import gzip
import http.server
import re
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO

from kitlib.api.errors import KitError

COMPRESSED = frozenset(
    (".css", ".html", ".ipynb", ".js", ".json", ".map", ".md", ".mjs", ".svg", ".toml", ".ts", ".txt", ".wasm", ".yaml")
)
"""Endings of compressible files; wheels, archives and pictures are compressed already."""
TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm", ".whl": "application/zip"}
"""Content types without which browsers neither compile WebAssembly while loading nor run modules."""

_PREFIX = re.compile(r"/([\w.~-]+/)*", re.ASCII)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the files of a folder; compressible ones are compressed once and cached."""

    protocol_version = "HTTP/1.1"
    prefix = "/"
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, **TYPES}
    _kept: dict[tuple[str, float], bytes] = {}

    def do_GET(self) -> None:
        if self._is_outside():
            return
        body = self._compressed()
        if body is None:
            super().do_GET()
        else:
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        if not self._is_outside() and self._compressed() is None:
            super().do_HEAD()

    def _is_outside(self) -> bool:
        """Answer a request for something above the site: the folder without its slash redirects, all else is absent."""
        path = self.path.partition("?")[0].partition("#")[0]
        if path.startswith(self.prefix):
            return False
        if path + "/" == self.prefix:
            self.send_response(HTTPStatus.MOVED_PERMANENTLY)
            self.send_header("Location", self.prefix)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.send_error(HTTPStatus.NOT_FOUND, f"The site is at {self.prefix}")
        return True

    def translate_path(self, path: str) -> str:
        """Return the file of a path: the folder of the site stands at the prefix."""
        return super().translate_path("/" + path.removeprefix(self.prefix))

    def _compressed(self) -> bytes | None:
        """Send the headers of a compressed response and return its body; None if the file is sent uncompressed."""
        path = Path(self.translate_path(self.path))
        if path.is_dir() and self.path.partition("?")[0].endswith("/"):
            path = path / "index.html"
        accepted = "gzip" in self.headers.get("Accept-Encoding", "")
        if not accepted or path.suffix not in COMPRESSED or not path.is_file():
            return None
        changed = path.stat().st_mtime
        body = self._kept.get((str(path), changed))
        if body is None:
            body = self._kept[str(path), changed] = gzip.compress(path.read_bytes(), 6)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Vary", "Accept-Encoding")
        self.send_header("Last-Modified", self.date_time_string(int(changed)))
        self.end_headers()
        return body

    def copyfile(self, source: BinaryIO, outputfile: BinaryIO) -> None:  # type: ignore[override]
        try:
            super().copyfile(source, outputfile)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the reader has left the page

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing: a page requests hundreds of files."""


def site_server(folder: str | Path, port: int = 0, prefix: str = "/") -> http.server.ThreadingHTTPServer:
    """Return a server of a built site on this machine's loopback interface; the caller runs and closes it.

    Args:
        folder: a site that `kitlib site` built.
        port: 0 = a free one.
        prefix: the path of the site on the server, as `/kitlib/` on GitHub Pages.

    Raises:
        KitError: the folder holds no site, the port is taken, or the prefix is no path.
    """
    place = Path(folder).expanduser()
    if not (place / "jupyter-lite.json").is_file():
        raise KitError(f"{place}: not a site; build one with kitlib site {place}")
    if not _PREFIX.fullmatch(prefix):
        raise KitError(f"prefix {prefix!r}: must begin and end with a slash, such as /kitlib/")
    handler = type("PrefixHandler", (Handler,), {"prefix": prefix})
    try:
        return http.server.ThreadingHTTPServer(("127.0.0.1", port), partial(handler, directory=str(place)))
    except OSError as error:
        raise KitError(f"port {port}: {error.strerror or error}") from error
