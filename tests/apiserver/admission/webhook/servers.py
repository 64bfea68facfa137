"""A webhook over TLS on the loopback interface, for tests: it answers what a function makes of each request."""

from __future__ import annotations

import base64
import datetime
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kitlib.apiserver.http.credentials import ServingCertificate, new_certificate, tls_context

Answer = Callable[[dict[str, Any]], dict[str, Any]]


def patch_of(*operations: dict[str, Any]) -> dict[str, Any]:
    """Return a response that allows the write with a JSON patch."""
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": text}


class Webhooks:
    """The servers of one test.

    Attributes:
        port: the port of the server.
        authority: the server's certificate in base64, the value of `caBundle`.
        asked: path and request of every call, in order.
        answers: path -> the function that makes a response.
    """

    def __init__(self, port: int, authority: str) -> None:
        self.port, self.authority = port, authority
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, Answer] = {}

    def hook(self, path: str, answer: Answer, resources: list[str], **fields: Any) -> dict[str, Any]:
        """Return a webhook of a configuration; `answer` is given requests to `path`."""
        self.answers[path] = answer
        rules = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": resources}]
        client = {"url": f"https://127.0.0.1:{self.port}{path}", "caBundle": self.authority}
        made = {"name": f"{path.strip('/')}.example.com", "clientConfig": client, "rules": rules}
        return {**made, "sideEffects": "None", "admissionReviewVersions": ["v1"], **fields}

    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]


def certificate_for(name: str) -> ServingCertificate:
    """Return a self-signed certificate for a DNS name, which a Service's webhook has."""
    key, named = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(named)
        .issuer_name(named)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return ServingCertificate(made.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


@contextmanager
def webhook_server(certificate: ServingCertificate | None = None) -> Iterator[Webhooks]:
    """Serve on a free port until the block ends."""
    certificate = certificate or new_certificate()
    found: list[Webhooks] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path, request = self.path.partition("?")[0], review["request"]
            found[0].asked.append((path, request))
            response = {"uid": request["uid"], **found[0].answers[path](request)}
            body = json.dumps({**review, "request": None, "response": response}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = tls_context(certificate).wrap_socket(server.socket, server_side=True)
    found.append(Webhooks(server.server_address[1], base64.b64encode(certificate.certificate).decode()))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield found[0]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
