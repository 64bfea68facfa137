"""`kitlib certificate`: keys, signed pages for the capstone, and their verification."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kitlib.commands.arguments import file_named, path


def add(commands: Any) -> None:
    made = commands.add_parser(
        "certificate",
        help="sign and verify certificates for the capstone",
        description="Confirm a learner's capstone by a replay and sign a page that says so (Ed25519).",
    )
    parts = made.add_subparsers(title="actions", metavar="ACTION", required=True)
    key = parts.add_parser("key", help="make an instructor's key")
    key.add_argument("file", type=path, help="file for the private key; the public key is written to FILE.pub")
    key.set_defaults(run=make_key)
    sign = parts.add_parser("sign", help="replay a progress file and sign a certificate")
    sign.add_argument("progress", type=path, help="path of the learner's progress.jsonl")
    sign.add_argument("--name", required=True, help="learner's name to print on the certificate")
    sign.add_argument("--issuer", default="", help="name of the issuer to print on the certificate")
    sign.add_argument("--key", type=path, required=True, help="path of the instructor's private key")
    sign.add_argument("--lab", default="capstone", help="lab to certify, by name or number (default: the capstone)")
    sign.add_argument(
        "-o",
        "--output",
        type=file_named(".html"),
        default=Path("certificate.html"),
        help="path of the certificate page to write",
    )
    sign.set_defaults(run=run_sign)
    verify = parts.add_parser("verify", help="check who signed a certificate")
    verify.add_argument("file", type=path, help="path of the certificate page")
    verify.add_argument("--key", type=path, required=True, help="path of the instructor's public key")
    verify.set_defaults(run=run_verify)


def make_key(options: argparse.Namespace) -> int:
    from kitlib.lab.signing import make_key

    private, public = make_key(options.file)
    print(f"{private}: keep it to yourself\n{public}: give it to those who verify")
    return 0


def run_sign(options: argparse.Namespace) -> int:
    from kitlib.lab import certificate

    statement = certificate.confirmed(options.progress, options.name, options.issuer, options.lab)
    certificate.write(options.output, certificate.sign(statement, options.key))
    print(f"{options.output}: {statement.name}, {statement.points:g} of {statement.of:g} points, confirmed by a replay")
    return 0


def run_verify(options: argparse.Namespace) -> int:
    from kitlib.lab.certificate import verify

    found = verify(options.file, options.key)
    print(
        f"{found.name}: {found.lab}, {found.points:g} of {found.of:g} points, {found.date}, {found.issuer or 'no name'}"
    )
    return 0
