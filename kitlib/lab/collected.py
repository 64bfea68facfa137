"""Progress files that a hub collected: a copy of each account's file, and a signed list of the copies.

A learner can change their own file at any time, including the account in it. A collected copy is reliable: the account
is the owner of the folder, and the hub signs account, digest and time (`collected.json`, Ed25519) with a key that
learners' kernels cannot read. If all kernels run as the hub's user, they can read the key, and the list says so
(`good_faith`).
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from kitlib.api.convert import decoder
from kitlib.api.errors import KitError
from kitlib.api.file_format import check_format
from kitlib.lab import submissions
from kitlib.lab.files import write_whole
from kitlib.lab.signing import is_signed, make_key, private_key

FILE = "collected.json"
MAX_LIST = 8 << 20
FORMAT = 1


class Taken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A copied file.

    Attributes:
        digest: SHA-256 of its bytes, in hexadecimal.
        name: the learner's name in the roster; "" = none.
    """

    digest: str
    name: str = ""


class Collection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The signed list of copied files.

    Attributes:
        seconds: unix time by the hub's clock.
        good_faith: whether kernels could read the key and every learner's folder.
        files: account -> the copied file.
        refused: account -> the reason why its file was not copied.
        format: format of the list; 0 = written by kitlib 0.1.
    """

    seconds: float
    good_faith: bool
    files: dict[str, Taken]
    refused: dict[str, str] = {}
    format: int = 0


class _Signed(msgspec.Struct, forbid_unknown_fields=True):
    collection: msgspec.Raw
    signature: str


def collect(
    learners: Path, target: Path, key: Path, *, names: Mapping[str, str] | None = None, good_faith: bool = False
) -> Collection:
    """Copy every learner's progress file to `target`/ACCOUNT.jsonl, and sign the list of copies.

    Args:
        learners: the folder with ACCOUNT/progress.jsonl.
        target: folder of the copies, created if missing; earlier copies are replaced.
        key: an Ed25519 private key in PEM, created if missing.
        names: account -> the learner's name.
        good_faith: whether kernels can read the key and every learner's folder.

    Raises:
        KitError: a folder or the key cannot be read or written.
    """
    if not key.exists():
        make_key(key)
    files, refused = dict[str, Taken](), dict[str, str]()
    try:
        target.mkdir(parents=True, exist_ok=True)
        target.chmod(0o700)
        for path in sorted(learners.glob("*/progress.jsonl")):
            account = path.parent.name
            try:
                data = submissions.content(path)
            except KitError as error:
                refused[submissions.shortened(account)] = str(error)
                continue
            write_whole(target / f"{account}.jsonl", data)
            files[account] = Taken(hashlib.sha256(data).hexdigest(), (names or {}).get(account, ""))
        made = Collection(round(time.time(), 3), good_faith, files, refused, FORMAT)
        data = msgspec.json.encode(made, order="sorted")
        signature = base64.b64encode(private_key(key).sign(data)).decode()
        write_whole(target / FILE, msgspec.json.encode(_Signed(msgspec.Raw(data), signature)))
    except OSError as error:
        raise KitError(f"{target}: {error.strerror or error}") from error
    return made


def read(folder: Path, key: Path | None = None) -> Collection | None:
    """Return the list of a folder of collected files; None if a hub did not collect it.

    Args:
        folder: the folder with the copies and their list.
        key: the hub's public key; None = the signature is not checked.

    Raises:
        KitError: the list is invalid, or was not signed by this key.
    """
    place = folder / FILE
    if not place.exists():
        if key is not None:
            raise KitError(
                f"{place}: no such file: a hub did not collect this folder, so there is no signature to verify"
            )
        return None
    try:
        with place.open("rb") as opened:
            signed = decoder(_Signed).decode(opened.read(MAX_LIST))
        data = bytes(signed.collection)
        check_format(data, FORMAT, str(place))
        made = decoder(Collection).decode(data)
        signature = base64.b64decode(signed.signature, validate=True)
    except (OSError, ValueError, msgspec.DecodeError) as error:  # below msgspec 0.21 the last is no ValueError
        raise KitError(f"{place}: not a list of collected files: {error}") from error
    if key is not None and not is_signed(data, signature, key):
        raise KitError(
            f"{place}: the signature is invalid: the file was not signed with {key}, or was changed after signing"
        )
    return made


def account_of(file: Path) -> str:
    """Return the account of a collected file; "" if a hub did not collect it, or it has changed since.

    Raises:
        KitError: the list in its folder is invalid.
    """
    made = read(file.parent)
    taken = made.files.get(file.stem) if made else None
    if taken is None or taken.digest != hashlib.sha256(submissions.content(file)).hexdigest():
        return ""
    return file.stem
