"""The login of a room: people know the password of the room, and each has a personal password.

The password of the room is KITLIB_HUB_PASSWORD, on the whiteboard. A learner chooses a personal password at the first
login; FirstUseAuthenticator keeps its hash in passwords.dbm, in the hub's folder. Deleting the user in /hub/admin, or
"new word" on the trainer's page, deletes this password; the learner's files remain. With a roster (KITLIB_HUB_ROSTER,
a CSV file with a column `account`) only its accounts can log in, without one every name can. With
KITLIB_HUB_ADMIN_PASSWORD (at least 32 characters), `trainer` can log in as administrator.
"""

import asyncio
import csv
import hmac
import os
from pathlib import Path

from firstuseauthenticator import FirstUseAuthenticator

config = c  # type: ignore[name-defined]  # noqa: F821  # every loader of such files provides it
word = os.environ.get("KITLIB_HUB_PASSWORD", "")
if len(word) < 8:
    raise SystemExit("KITLIB_HUB_PASSWORD: at least 8 characters are needed")
admin_word = os.environ.get("KITLIB_HUB_ADMIN_PASSWORD", "")
if admin_word and len(admin_word) < 32:
    raise SystemExit("KITLIB_HUB_ADMIN_PASSWORD: at least 32 characters are needed")
roster = os.environ.get("KITLIB_HUB_ROSTER", "")
accounts = set()
if roster:
    with Path(roster).open(encoding="utf-8-sig", newline="") as opened:
        accounts = {row["account"] for row in csv.DictReader(opened)}


class RoomLogin(FirstUseAuthenticator):
    """The login form: the personal password in the first field, the room's in the second."""

    _one_by_one = asyncio.Lock()

    async def authenticate(self, handler, data):
        name = self.normalize_username(data["username"])
        if name == "trainer":
            return name if admin_word and _same(data["password"], admin_word) else None
        # before the parent class, which stores the password of every account that it accepts
        if not _same(data.get("otp", "").strip(), word) or not self.validate_username(name):
            return None
        if accounts and name not in accounts:
            return None
        # hashing takes a third of a second of a processor and more on a busy one: in the hub's own thread, nobody
        # would get an answer meanwhile; one after the other, since they share a file
        async with self._one_by_one:
            return await asyncio.to_thread(asyncio.run, super().authenticate(handler, data))


def _same(given, expected):
    return hmac.compare_digest(given.encode(), expected.encode())


config.JupyterHub.authenticator_class = RoomLogin
config.Authenticator.admin_users = {"trainer"}
config.Authenticator.allowed_users = accounts
config.Authenticator.allow_all = not accounts
config.Authenticator.username_pattern = r"^[a-z][a-z0-9-]{0,30}$"
config.Authenticator.request_otp = True
config.Authenticator.otp_prompt = "Word of the room (on the whiteboard)"
config.JupyterHub.template_vars = {
    "announcement_login": "The password is a word of your own, chosen at your first login: 7 characters or more. "
    "If you forget it, the trainer lets you choose a new one; your work stays."
}
