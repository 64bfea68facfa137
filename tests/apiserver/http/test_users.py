"""Whom the server puts down as the sender of a certificate signing request."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kitlib.apiserver.http.dispatcher import Dispatcher, Response
from kitlib.apiserver.http.request import Request
from kitlib.apiserver.http.users import ADMINISTRATOR, User, service_account

PEM = b"-----BEGIN CERTIFICATE REQUEST-----\nTUlJ\n-----END CERTIFICATE REQUEST-----\n"
SPEC = {
    "request": base64.b64encode(PEM).decode(),
    "signerName": "example.com/signer",
    "usages": ["client auth"],
    "username": "forged",
    "groups": ["system:masters"],
    "extra": {"scopes": ["all"]},
}
ACCOUNT = service_account("ns", "web", "0b5c")


@pytest.mark.parametrize("user", [ADMINISTRATOR, User("bob", ("system:masters", "dev")), ACCOUNT])
def test_a_signing_request_names_who_sent_it_whatever_it_says(cluster: Any, user: User) -> None:
    body = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "a"}}
    url = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    dispatcher = Dispatcher(cluster)
    dispatcher.authorizer.allows = lambda user, about: True  # type: ignore[method-assign]
    answer = dispatcher.handle(Request("POST", url, {}, {}, json.dumps({**body, "spec": SPEC}).encode(), user))
    assert isinstance(answer, Response) and answer.code == 201, answer
    spec = json.loads(answer.body)["spec"]
    assert (spec["username"], spec["groups"], spec.get("uid", "")) == (user.name, list(user.groups), user.uid)
    assert "extra" not in spec
