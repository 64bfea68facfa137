"""The reports of a kubelet that the API server has not accepted yet.

A refused report is sent again every ten seconds until it is accepted, or until a newer one takes its place. While a
webhook is asked, the kubelet goes on. Loaded with the first refusal, or when the cluster is served.

Source: kubelet status.manager syncBatch, syncPod (which only log a failure); kubelet.updateNodeStatus.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from kitlib.api.errors import KitError
from kitlib.apiserver.admission.apiserver import APIServer
from kitlib.apiserver.admission.requester import kubelet, requested_by
from kitlib.apiserver.admission.webhook_calls import Attempts, Pending

SYNC_PERIOD = timedelta(seconds=10)
"""The time after which a refused report is sent again. Source: kubelet status syncPeriod, nodeStatusUpdateFrequency."""
Write = Callable[[APIServer], None]
_Key = tuple[str, str]


@dataclass
class _Unsent:
    """A report that the API server has not accepted yet.

    Attributes:
        write: writes the report.
        attempts: the answers of webhooks so far.
        asking: whether a webhook is being asked.
        refusal: the last refusal; "" = none yet.
        tried_at: the date of the last attempt; None = not tried.
    """

    write: Write
    attempts: Attempts = field(default_factory=Attempts)
    asking: bool = False
    refusal: str = ""
    tried_at: datetime | None = None


class UnsentReports:
    """The unsent reports of one node.

    Args:
        node: the node's name.
        api: the API server.
        refused: receives a text about each new refusal.
    """

    def __init__(self, node: str, api: APIServer, refused: Callable[[str], None]) -> None:
        self._node, self._api, self._refused = node, api, refused
        self._unsent: dict[_Key, _Unsent] = {}
        self._events = 0

    def waiting(self, kind: str, name: str) -> Write | None:
        """Return the unsent report about a thing; None if there is none."""
        found = self._unsent.get((kind, name))
        return found.write if found is not None else None

    def send(self, kind: str, name: str, write: Write) -> None:
        """Write a report in place of the unsent one about the same thing.

        Args:
            kind: `pod`, `condition`, `node`, or `event`, which takes no other one's place and is not sent again.
            name: the thing of this kind.
            write: writes the report.
        """
        if kind == "event":
            self._events += 1
            name = str(self._events)
        before = self._unsent.get((kind, name))
        if before is not None and before.asking:
            before.write = write  # written when the webhook has answered
            return
        self._attempt((kind, name), _Unsent(write, refusal=before.refusal if before is not None else ""))

    def retry(self) -> None:
        """Send the refused reports again whose time has come."""
        if not self._unsent:
            return
        due = self._api.store.now() - SYNC_PERIOD
        for key, unsent in list(self._unsent.items()):
            if not unsent.asking and (unsent.tried_at is None or unsent.tried_at <= due):
                self._attempt(key, unsent)

    def _attempt(self, key: _Key, unsent: _Unsent) -> None:
        api, background = self._api, self._api.webhooks
        unsent.asking, unsent.tried_at = False, api.store.now()
        try:
            if background is None or not background.defers:
                unsent.write(api)
            else:
                # Attempts of its own: those of a request that settles would handle that request again.
                with unsent.attempts.attempt(api.store.names):
                    unsent.write(api)
        except Pending as pending:
            assert background is not None, "only a caller of webhooks defers a write"
            unsent.asking = True
            self._unsent[key] = unsent
            background.start(pending.calls, unsent.attempts, partial(self._go_on, key, unsent))
        except KitError as error:
            self._keep(key, unsent, str(error))
        else:
            self._unsent.pop(key, None)

    def _go_on(self, key: _Key, unsent: _Unsent) -> None:
        with requested_by(kubelet(self._node)):
            self._attempt(key, unsent)

    def _keep(self, key: _Key, unsent: _Unsent, why: str) -> None:
        unsent.attempts = Attempts()
        if key[0] == "event":  # an event about a refused event would be refused, too
            self._unsent.pop(key, None)
            return
        self._unsent[key] = unsent
        if unsent.refusal != why:
            unsent.refusal = why
            self._refused(f"{key[0]}: {why[:300]}")
