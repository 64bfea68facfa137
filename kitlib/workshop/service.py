"""The hub's service of a room, at /services/room/: trainer's page, calls for help, votes, servers, collected files.

JupyterHub starts it (`python -m kitlib.workshop.service`, see jupyterhub_config.py) in its own environment. The
trainer (an administrator of the hub) sees the room, a learner a page with one button. Visitors without an account can
vote too, until the trainer counts accounts only.
"""

from __future__ import annotations

import asyncio
import html
import json
import os
import signal
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from tornado.httpclient import AsyncHTTPClient, HTTPClientError
from tornado.httpserver import HTTPServer
from tornado.web import Application, HTTPError, RequestHandler, authenticated

from kitlib.api.errors import KitError
from kitlib.workshop import roster
from kitlib.workshop.desk import Desk, Settings

PAGES = Path(__file__).with_name("pages")
AT_ONCE = 4
"""Number of servers that start simultaneously before the workshop, so that the machine remains responsive."""
READY_SECONDS = 180
VOTER = "kitlib-voter"
MAX_BODY = 4096

hub: Any = import_module("jupyterhub.services.auth")


class Servers:
    """Starts learners' servers before people log in, through the hub's API.

    Args:
        accounts: accounts of the roster.
    """

    def __init__(self, accounts: list[str]) -> None:
        self._accounts = accounts
        self._ready: set[str] = set()
        self._failed: dict[str, str] = {}
        self._running: asyncio.Task[None] | None = None

    def __str__(self) -> str:
        if not self._accounts:
            return "There is no roster: servers start when people log in."
        why = "; ".join(f"{account} ({error})" for account, error in self._failed.items())
        failed = f", {len(self._failed)} failed: {why}" if self._failed else ""
        return f"{len(self._ready)} of {len(self._accounts)} servers were started{failed}."

    def start(self) -> None:
        """Start all servers that are not running, a few at a time."""
        if self._running is None or self._running.done():
            self._running = asyncio.ensure_future(self._start_all())

    async def _start_all(self) -> None:
        self._ready.clear()
        self._failed.clear()
        places = asyncio.Semaphore(AT_ONCE)

        async def one(account: str) -> None:
            async with places:
                try:
                    await self._start(account)
                    self._ready.add(account)
                except (HTTPClientError, OSError, TimeoutError) as error:
                    self._failed[account] = str(error)

        await asyncio.gather(*map(one, self._accounts))

    async def _start(self, account: str) -> None:
        user = f"/users/{quote(account)}"
        await call_hub("POST", user, also=(409,))  # 409: the hub knows the user already
        await call_hub("POST", f"{user}/server", also=(400,))  # 400: it runs already
        async with asyncio.timeout(READY_SECONDS):
            while not (await call_hub("GET", user))["server"]:
                await asyncio.sleep(1)


async def call_hub(method: str, path: str, also: tuple[int, ...] = ()) -> Any:
    """Send a request to the hub's API; return the JSON of the response, or None.

    Args:
        method: HTTP method.
        path: path below the API's address.
        also: HTTP statuses that do not count as errors.

    Raises:
        HTTPClientError: the hub responds with an error.
        OSError: the hub does not respond.
    """
    headers = {"Authorization": f"token {os.environ['JUPYTERHUB_API_TOKEN']}"}
    answer = await AsyncHTTPClient().fetch(
        f"{os.environ['JUPYTERHUB_API_URL']}{path}",
        method=method,
        headers=headers,
        # tornado refuses a POST without a body otherwise
        allow_nonstandard_methods=True,
        raise_error=False,
        connect_timeout=READY_SECONDS,  # a busy hub answers late
        request_timeout=READY_SECONDS,
    )
    if answer.code >= 400 and answer.code not in also:
        raise HTTPClientError(answer.code, answer.reason, answer)
    return json.loads(answer.body) if answer.body and answer.code < 300 else None


async def _has_server(user: str) -> bool:
    """Return whether a user's server is running, starting or stopping."""
    found = await call_hub("GET", user, also=(404,))
    return bool(found and found["servers"])


class _Base(RequestHandler):
    """The common base of all pages."""

    desk: Desk
    servers: Servers

    def initialize(self, desk: Desk, servers: Servers) -> None:
        self.desk, self.servers = desk, servers

    def set_default_headers(self) -> None:
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Content-Security-Policy", "default-src 'self' 'unsafe-inline'; frame-ancestors 'none'")

    def page(self, name: str, token: str = "") -> None:
        text = (PAGES / name).read_text(encoding="utf-8")
        style = (PAGES / "style.css").read_text(encoding="utf-8")
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(text.replace("{{style}}", style).replace("{{token}}", html.escape(token, quote=True)))

    def say(self, text: str, status: int = 200) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(text)

    def body(self) -> dict[str, Any]:
        """Return the request's JSON object. Raises: HTTPError."""
        try:
            found = json.loads(self.request.body[:MAX_BODY]) if len(self.request.body) <= MAX_BODY else None
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or not self.request.headers.get("Content-Type", "").startswith(
            "application/json"
        ):
            raise HTTPError(400, "a JSON object of at most 4 KiB is expected")
        return found


class _OfPeople(hub.HubOAuthenticated, _Base):
    """A page for users who are logged in."""

    @property
    def account(self) -> str:
        return str(self.current_user["name"])

    @property
    def is_trainer(self) -> bool:
        return bool(self.current_user.get("admin"))

    def require_trainer(self) -> None:
        if not self.is_trainer:
            raise HTTPError(403, "this page is the trainer's")

    @property
    def token(self) -> str:
        value = self.xsrf_token
        return value.decode() if isinstance(value, bytes) else str(value)


class _Start(_OfPeople):
    @authenticated
    def get(self) -> None:
        self.page("board.html" if self.is_trainer else "learner.html", self.token)


class _Board(_OfPeople):
    @authenticated
    def get(self) -> None:
        self.require_trainer()
        self.finish({**self.desk.board(), "servers": str(self.servers)})


class _Questions(_OfPeople):
    @authenticated
    def get(self) -> None:
        self.require_trainer()
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps([[question.place, question.key, question.text] for question in self.desk.questions()]))


class _Look(_OfPeople):
    @authenticated
    async def get(self, account: str) -> None:
        self.require_trainer()
        try:
            self.say(await asyncio.to_thread(self.desk.look, account))
        except KitError as error:
            self.say(str(error))


class _Act(_OfPeople):
    @authenticated
    async def post(self) -> None:
        self.require_trainer()
        body = {key: str(value) for key, value in self.body().items()}
        acts: dict[str, Callable[[], Awaitable[str]]] = {
            "answered": lambda: self._done(self.desk.answer, body.get("account", "")),
            "open": lambda: self._done(self.desk.decide, body.get("lab", ""), True),
            "close": lambda: self._done(self.desk.decide, body.get("lab", ""), False),
            "vote": lambda: self._done(
                self.desk.vote, body.get("step", ""), body.get("place", ""), body.get("key", "")
            ),
            "word": lambda: self._forget_word(body.get("account", "")),
            "start": self._start,
            "collect": lambda: asyncio.to_thread(self.desk.collect),
        }
        if body.get("act") not in acts:
            raise HTTPError(400, f"act: valid values: {', '.join(acts)}")
        try:
            self.say(await acts[body["act"]]())
        except (KitError, HTTPClientError, OSError, TimeoutError) as error:
            self.say(str(error), 400)

    async def _done(self, act: Callable[..., None], *arguments: Any) -> str:
        act(*arguments)
        return ""

    async def _start(self) -> str:
        self.servers.start()
        return str(self.servers)

    async def _forget_word(self, account: str) -> str:
        """Delete the hub's user, which deletes the learner's personal password but no file.

        Source: FirstUseAuthenticator.delete_user.
        """
        if account in ("", roster.TRAINER):
            raise KitError(f"account {account!r} is not the account of a learner")
        user = f"/users/{quote(account, safe='')}"
        # a user whose server is still stopping cannot be deleted, and stopping may take longer than the hub waits
        await call_hub("DELETE", f"{user}/server", also=(400, 404))
        async with asyncio.timeout(READY_SECONDS):
            while await _has_server(user):
                await asyncio.sleep(0.5)
        await call_hub("DELETE", user, also=(404,))
        return f"{account} chooses a new word at the next login."


class _Me(_OfPeople):
    @authenticated
    def get(self) -> None:
        mine = next((seat for seat in self.desk.seats() if seat.learner == self.account), None)
        name = self.desk.settings.people.get(self.account, "")
        self.finish({"learner": self.account, "name": name, "state": mine.state if mine else ""})


class _Help(_OfPeople):
    @authenticated
    def post(self) -> None:
        self.desk.call(self.account, self.body().get("wanted") is True)
        self.say("")


class _Voting(_OfPeople):
    """Pages for everybody. A vote is a JSON request, which another site cannot send, so no token is required."""

    def check_xsrf_cookie(self) -> None:
        return

    @property
    def voter(self) -> str:
        if self.current_user:
            return self.desk.votes.voter_of(self.account)
        return self.desk.votes.voter(self.get_cookie(VOTER) or "")


class _VotePage(_Voting):
    def get(self) -> None:
        if not self.voter:
            address = (
                # the last entry is the proxy's, the others may be forged by the client
                self.request.headers.get("X-Forwarded-For", "").split(",")[-1].strip() or self.request.remote_ip or ""
            )
            try:
                mark = self.desk.votes.new_voter(address)
            except KitError as error:
                self.say(str(error), 429)
                return
            self.set_cookie(VOTER, mark, httponly=True, samesite="Lax", path=self.request.path)
        self.page("vote.html")


class _VoteLogin(_OfPeople):
    @authenticated
    def get(self) -> None:
        self.redirect("./")


class _VoteState(_Voting):
    def get(self) -> None:
        self.finish(self.desk.votes.state(self.voter))


class _Cast(_Voting):
    def post(self) -> None:
        if not self.voter:
            self.say("Reload the page, then vote.", 403)
            return
        try:
            self.desk.votes.cast(self.voter, self.body().get("answer"))
            self.say("Counted. You may change your vote until the result is shown.")
        except KitError as error:
            self.say(str(error), 400)


def application(desk: Desk, servers: Servers, prefix: str, secret: bytes) -> Application:
    """Return the pages below `prefix`, which ends with a slash."""
    shared = {"desk": desk, "servers": servers}
    handlers: dict[str, type[RequestHandler]] = {
        "": _Start,
        "board.json": _Board,
        "questions.json": _Questions,
        "look/([^/]+)": _Look,
        "act": _Act,
        "me.json": _Me,
        "help": _Help,
        "vote/": _VotePage,
        "vote/login": _VoteLogin,
        "vote/state.json": _VoteState,
        "vote/cast": _Cast,
    }
    routes: list[Any] = [(f"{prefix}{path}", handler, shared) for path, handler in handlers.items()]
    routes.append((f"{prefix}oauth_callback", hub.HubOAuthCallbackHandler))
    return Application(routes, cookie_secret=secret, xsrf_cookies=True)


def settings_of(environment: dict[str, str]) -> Settings:
    """Return the settings from the environment that jupyterhub_config.py sets. Raises: KitError."""
    people = roster.read(environment["KITLIB_HUB_ROSTER"]) if environment.get("KITLIB_HUB_ROSTER") else ()
    return Settings(
        learners=Path(environment["KITLIB_HUB_LEARNERS"]),
        room=Path(environment["KITLIB_ROOM"]),
        collected=Path(environment["KITLIB_HUB_COLLECTED"]),
        key=Path(environment["KITLIB_HUB_KEY"]),
        people={person.account: person.name for person in people},
        places=int(environment["KITLIB_HUB_PLACES"]),
        good_faith=bool(environment.get("KITLIB_HUB_GOOD_FAITH")),
    )


async def serve() -> None:
    """Serve the room until the hub ends this process with SIGINT or SIGTERM."""
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):  # SIGINT may have been inherited as ignored
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    settings = settings_of(dict(os.environ))
    servers = Servers(list(settings.people))
    address = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"])
    made = application(Desk(settings), servers, os.environ["JUPYTERHUB_SERVICE_PREFIX"], os.urandom(32))
    HTTPServer(made).listen(address.port or 80, address.hostname or "127.0.0.1")
    if os.environ.get("KITLIB_HUB_START") == "1" and settings.people:
        servers.start()
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(serve())
