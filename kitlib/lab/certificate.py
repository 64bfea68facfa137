"""A certificate for the capstone: one page that states what a replay confirmed, signed with an instructor's key.

The instructor makes a key once (`kitlib certificate key instructor.pem`), signs a learner's progress file (`kitlib
certificate sign`), and gives the public half to those who check (`kitlib certificate verify`). The page carries
its statement as JSON; the signature (Ed25519, RFC 8032) is over that JSON. Verification makes the page again from
the statement and compares, so no visible word can be changed either.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from kitlib.api.convert import convert
from kitlib.api.errors import KitError
from kitlib.api.file_format import check_format
from kitlib.lab import collected, submissions
from kitlib.lab.definition import Ground, LabFolder
from kitlib.lab.files import write_whole
from kitlib.lab.launch import in_course
from kitlib.lab.moved import plain
from kitlib.lab.recheck import recheck
from kitlib.lab.signing import is_signed, private_key

CAPSTONE = "capstone"
MAX_PAGE = 1 << 20
FORMAT = 1
GOOD_FAITH = "the progress file names no account: the name is of good faith"
_MARK = re.compile(r'<script type="application/json" id="kitlib-certificate">(.*?)</script>', re.DOTALL)


class Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a certificate.

    Attributes:
        name: the learner's name.
        lab: the lab's name, without its number in newer certificates.
        title: the lab's title.
        points: confirmed points.
        of: possible points.
        tasks: titles of the solved tasks.
        seed: seed of the variant.
        date: day of the confirmation, `2026-01-05`.
        issuer: the instructor who confirmed the result; "" = not confirmed yet.
        earned_by: the hub's account in the progress file; "" = none; None = not recorded (older certificates).
        format: format of the statement; 0 = written by kitlib 0.1.
    """

    name: str
    lab: str
    title: str
    points: float
    of: float
    tasks: tuple[str, ...]
    seed: int
    date: str
    issuer: str = ""
    earned_by: str | None = None
    format: int = 0

    def to_data(self) -> dict[str, Any]:
        """Return the statement as plain data, as it was signed.

        Older statements have neither `earned_by` nor `format`: a field that the signer did not write would break their
        signature.
        """
        data: dict[str, Any] = msgspec.to_builtins(self)
        absent = {"earned_by"} if self.earned_by is None else set()
        absent |= set() if self.format else {"format"}
        return {name: value for name, value in data.items() if name not in absent}

    def to_bytes(self) -> bytes:
        """Return the signed bytes: JSON with sorted keys."""
        return json.dumps(self.to_data(), sort_keys=True, ensure_ascii=False).encode()


def confirmed(progress: str | Path, name: str, issuer: str, lab: str = CAPSTONE) -> Statement:
    """Replay the checks of a learner's progress file and return what the replay confirms.

    Raises:
        KitError: the file cannot be read, entries of two accounts are in it, or not every task of the lab is confirmed
            with all its points.
    """
    lab = plain(in_course("labs", lab).name)
    definition = submissions.course_labs()[lab]
    try:
        sent = submissions.read(Path(progress))
    except KitError as error:
        raise KitError(f"{progress}: {error}") from error
    owner = collected.account_of(Path(progress)) or "".join(sent.owners[:1])
    if others := set(sent.owners) - {owner}:
        raise KitError(f"{progress}: must have entries of only one account, got {', '.join(sorted({owner, *others}))}")
    checks = {key[1]: submitted for key, submitted in sent.checks.items() if key[0] == lab}
    missing = ""
    for attempt in _attempts(checks.values()):
        # The attempt has to solve every task: each incident of the capstone alone is a smaller problem.
        claimed = {
            (lab, task.key): msgspec.structs.replace(attempt, task=task.key, points=task.points, of=task.points)
            for task in definition.tasks
            if task.key in checks
        }
        claims = {claim.task: claim for claim in recheck(claimed)}
        unsolved = next((t.key for t in definition.tasks if t.key not in claims or claims[t.key].why), "")
        if not unsolved:
            seed, points = attempt.details.ground.seed, sum(claim.confirmed for claim in claims.values())
            made = _statement(name, lab, points, seed, issuer)
            return msgspec.structs.replace(made, earned_by=submissions.shortened(owner))
        why = claims[unsolved].why if unsolved in claims else "never checked with points"
        missing = missing or f"task {unsolved!r} is not confirmed: {why}"
    if not missing:
        missing = f"task {definition.tasks[0].key!r} is not confirmed: never checked with points"
    raise KitError(f"{progress}: {lab}: {missing} (one attempt must solve all tasks)")


def _attempts(checks: Iterable[submissions.Submitted]) -> list[submissions.Submitted]:
    """Return one check of each attempt, which is a variant with a journal, the last one first."""
    found: dict[tuple[bytes, Ground], submissions.Submitted] = {}
    for check in sorted(checks, key=lambda one: one.seconds, reverse=True):
        if check.points:
            found.setdefault((bytes(check.details.journal), check.details.ground), check)
    return list(found.values())


def _statement(name: str, lab: str, points: float, seed: int, issuer: str) -> Statement:
    lab = plain(lab)
    definition = LabFolder.read(in_course("labs", lab), seed).definition
    if not name.strip() or len(name) > 200:
        raise KitError(f"name: must have 1 to 200 characters, got {len(name)}")
    return Statement(
        name=submissions.shortened(name.strip()),
        lab=lab,
        title=definition.title,
        points=points,
        of=sum(task.points for task in definition.tasks),
        tasks=tuple(_short(task.title) for task in definition.tasks),
        seed=seed,
        date=datetime.now(UTC).date().isoformat(),
        issuer=submissions.shortened(issuer),
        format=FORMAT,
    )


def _short(title: str) -> str:
    return title if len(title) <= 110 else f"{title[:109]}…"


def unsigned(name: str, lab: str, points: float, seed: int) -> str:
    """Return the page for a lab that is solved here; it says that it is not confirmed yet."""
    return page(_statement(name, lab, points, seed, ""))


def sign(statement: Statement, key: str | Path) -> str:
    """Return the signed page.

    Raises:
        KitError: the key cannot be read.
    """
    return page(statement, base64.b64encode(private_key(key).sign(statement.to_bytes())).decode())


def verify(file: str | Path, key: str | Path) -> Statement:
    """Return the statement of a signed page, if the key signed it and the page shows nothing else.

    Raises:
        KitError: the file is not a certificate, is not signed by this key, or shows something else than its statement.
    """
    try:
        text = Path(file).read_bytes()[:MAX_PAGE].decode()
    except (OSError, ValueError) as error:
        raise KitError(f"cannot verify {file} with {key}: {error}") from error
    found = _MARK.search(text)
    if found is None:
        raise KitError(f"{file}: not a certificate: the file contains no statement of kitlib")
    try:
        data: Any = json.loads(found[1].replace("<\\/", "</"))
        check_format(data["statement"], FORMAT, str(file))
        statement = convert(data["statement"], Statement)
        signature = base64.b64decode(data["signature"], validate=True)
    except (ValueError, KeyError, TypeError, msgspec.ValidationError) as error:
        raise KitError(f"{file}: not a certificate: {error}") from error
    if not is_signed(statement.to_bytes(), signature, key):
        raise KitError(
            f"{file}: the signature is invalid: the file was not signed with {key}, or was changed after signing"
        )
    if page(statement, data["signature"]) != text:
        raise KitError(f"{file}: the page differs from the signed statement")
    return statement


def page(statement: Statement, signature: str = "") -> str:
    """Return the page: a picture to print, and the statement with its signature for verification."""
    data = json.dumps(
        {"statement": statement.to_data(), "signature": signature}, sort_keys=True, ensure_ascii=False
    ).replace("</", "<\\/")
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Certificate</title>'
        "<style>@page{size:A4 landscape;margin:10mm}body{margin:0;font-family:system-ui}svg{width:100%;height:auto}"
        f"</style>{picture(statement, signature)}"
        f'<script type="application/json" id="kitlib-certificate">{data}</script></html>\n'
    )


def picture(statement: Statement, signature: str = "") -> str:
    """Return the certificate as SVG."""
    said: list[tuple[int, int, str, str]] = [
        (90, 22, "#555", "How Kubernetes enforces resources and how its scheduler decides"),
        (150, 44, "#111", statement.name),
        (195, 20, "#333", f"has solved “{statement.title}”: {statement.points:g} of {statement.of:g} points"),
    ]
    said += [(245 + 30 * n, 15, "#333", f"✓ {task}") for n, task in enumerate(statement.tasks)]
    below = 275 + 30 * len(statement.tasks)
    who = f"confirmed by a replay, {statement.issuer}" if signature else "not confirmed: an instructor has to sign it"
    said.append((below, 16, "#333", f"{statement.date} · variant {statement.seed} · {who}"))
    if statement.earned_by is not None:
        below += 24
        by = f"earned by the account {statement.earned_by}" if statement.earned_by else GOOD_FAITH
        said.append((below, 13, "#333", by))
    if signature:
        said.append((below + 28, 10, "#555", f"Ed25519 {signature}"))
    lines = "".join(
        f'<text x="500" y="{y}" font-size="{size}" fill="{color}" text-anchor="middle">{html.escape(text)}</text>'
        for y, size, color, text in said
    )
    border = "#0072B2" if signature else "#999"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 {below + 60}" role="img" '
        f'aria-label="{html.escape(f"Certificate of {statement.name}", quote=True)}" font-family="system-ui">'
        f'<rect x="12" y="12" width="976" height="{below + 36}" fill="#fff" stroke="{border}" stroke-width="4"/>'
        f"{lines}</svg>"
    )


def write(file: str | Path, text: str) -> None:
    """Write a page. Raises: KitError."""
    try:
        write_whole(Path(file), text)
    except OSError as error:
        raise KitError(f"{file}: {error.strerror or error}") from error


class Certificate:
    """A page in a notebook; `save` writes it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def save(self, file: str | Path) -> None:
        """Write the page. Raises: KitError."""
        write(file, self._text)

    def __repr__(self) -> str:
        return "A certificate, not signed yet: send your progress file to the instructor"

    def _repr_html_(self) -> Any:
        return self._text[self._text.index("<svg") : self._text.index("</svg>") + 6]
