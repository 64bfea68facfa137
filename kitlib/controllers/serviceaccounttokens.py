"""Secrets of the type `kubernetes.io/service-account-token`: a token without expiry, deleted with the account.

Tokens are issued only while the cluster is served over HTTP, because nothing can use them otherwise.

Source: pkg/controller/serviceaccount/tokens_controller.go (syncSecret, syncServiceAccount, generateTokenIfNeeded,
secretUpdateNeeded).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kitlib.api.core import ConfigMap, Secret, ServiceAccount
from kitlib.api.serialize import deepcopy
from kitlib.api.service_account_token import TokenSubject, issue_legacy
from kitlib.apiserver.admission.service_account import AUTHENTICATION, CLIENT_CA, SYSTEM
from kitlib.controllers.controller import Controller, Handler, Key
from kitlib.controllers.informers import Delta

TYPE = "kubernetes.io/service-account-token"
NAME, UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"


class TokensController(Controller):
    """The controller of Secrets with tokens of service accounts."""

    name: ClassVar[str] = "serviceaccount-token-controller"
    account: ClassVar[str] = "tokens-controller"

    def handlers(self) -> Mapping[str, Handler]:
        return {"Secret": self._on_secret, "ServiceAccount": self._on_account, "ConfigMap": self._on_config_map}

    def _on_secret(self, change: Delta) -> None:
        if change.type != "DELETED" and isinstance(change.new, Secret) and change.new.type == TYPE:
            self.enqueue(change.new)

    def _on_account(self, change: Delta) -> None:
        for secret in self.informers.of_namespace("Secret", change.new.namespace):
            if isinstance(secret, Secret) and secret.metadata.annotations.get(NAME) == change.new.name:
                self._on_secret(Delta("MODIFIED", None, secret))

    def _on_config_map(self, change: Delta) -> None:
        """Queue all Secrets with tokens when the cluster is first served or its certificate changes."""
        if (change.new.namespace, change.new.name) == (SYSTEM, AUTHENTICATION):
            for secret in self.api.store.list(Secret, copy=False):
                self._on_secret(Delta("MODIFIED", None, secret))

    def sync(self, key: Key) -> None:
        """Source: syncSecret."""
        secret: Secret | None = self.find(Secret, key)
        if secret is None:
            return
        annotations = secret.metadata.annotations
        account = self.api.store.find(ServiceAccount, annotations.get(NAME, ""), key[0], copy=False)
        if account is None or annotations.get(UID, account.metadata.uid) != account.metadata.uid:
            self.api.delete(Secret, secret.name, secret.namespace)
            return
        published = self.api.store.find(ConfigMap, AUTHENTICATION, SYSTEM, copy=False)
        if not self.api.token_key or published is None:
            return
        changed = deepcopy(secret)
        changed.data["ca.crt"] = published.data.get(CLIENT_CA, "").encode()
        changed.data["namespace"] = changed.data.get("namespace") or secret.namespace.encode()
        if not changed.data.get("token"):
            whose = TokenSubject(secret.namespace, account.name, account.metadata.uid, secret=(secret.name, ""))
            changed.data["token"] = issue_legacy(self.api.token_key, whose).encode()
        changed.metadata.annotations |= {NAME: account.name, UID: account.metadata.uid}
        if changed != secret:
            self.api.update(changed)
