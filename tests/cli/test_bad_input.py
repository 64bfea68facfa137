"""Two hundred wrong commands over all commands: a one-line error, exit code 2, never a traceback."""

from __future__ import annotations

import gzip
import json
import tarfile
from pathlib import Path

import pytest

from kitlib import cli

NUMBERS = {  # option -> values that it refuses
    "up --port": ("-1", "65536", "99999", "x", "1.5", ""),
    "up --nodes": ("-1", "x", "1.5"),
    "up --pace": ("-1", "nan", "inf", "x"),
    "lab --port": ("0", "-1", "65536", "99999", "x"),
    "sweep s.yaml --workers": ("-1", "x", "1.5"),
    "sweep s.yaml --timeout": ("0", "-1", "nan", "x"),
    "lab-report . --workers": ("-1", "x"),
    "conformance f --every": ("0", "-1", "x"),
    "conformance f --differences": ("-1", "x"),
    "room . --watch": ("0", "-1", "nan", "x"),
    "workshop d --learners": ("0", "-3", "x"),
    "workshop d --memory": ("0", "-1", "x"),
    "workshop d --cpus": ("0", "-1", "nan", "x"),
    "workshop d --processes": ("0", "x"),
    "workshop d --nodes": ("-1", "x"),
    "workshop d --node-cpus": ("0", "x"),
    "bench apply --pods": ("0", "-1", "x"),
    "bench apply --nodes": ("0", "x"),
    "bench apply --points": ("0", "x"),
    "bench apply --runs": ("0", "-1", "x"),
}
CHOICES = {
    "demo --cgroup-version": ("3", "v2", ""),
    "demo --controller": ("io", "CPU", ""),
    "demo --driver": ("sytemd", "Systemd", "cgroup"),
    "up --kind": ("kind", "dokcer", ""),
    "lab --nodes": ("dockr", "real"),
    "lab --app": ("jupyter", "Lab"),
    "bench": ("aply", "everything", ""),
    "image": ("biuld", "push", ""),
    "certificate": ("keys", "signn"),
}
NAMES = {  # option -> names that do not tell the format that is written
    "bundle": ("out.zip", "out", "tar", ".tar", "out.tar.bz2", "out.tar.xz", "out.7z", "out.whl"),
    "image save": ("nodes", "nodes.tar.gz", "nodes.zip", ".tar"),
    "cheat-sheet -o": ("sheet.pdf", "sheet", "sheet.htm"),
    "sweep s.yaml -o": ("out.xlsx", "out", "out.json"),
    "lab-report . -o": ("out.xlsx", "out", "out.pdf"),
    "room . -o": ("out.pdf", "out"),
    "certificate sign p --name n --key k -o": ("c.pdf", "c"),
}
EMPTY_NAMES = (  # a variable of a shell that is not set
    "up --kubeconfig",
    "up --machines",
    "up --kubelet-config",
    "explain p -f NODES --kubelet",
    "explain p --live --kubeconfig",
    "explain -f",
    "whatif drain a -f NODES --picture",
    *(
        "workshop --no-wheel",
        "room",
        "lab-report",
        "lab-export",
        "site",
        "certificate key",
        "sweep",
        "image load",
        "up",
    ),
    *(
        "lab --copy-only",
        "room . --roster",
        "room . --file",
        "lab-report . --feedback",
        "lab-report . --key",
        "conformance",
    ),
    *("certificate sign --name n --key k", "certificate verify --key k", "bundle NEW.tar --image", "site d --pyodide"),
)
COMMANDS = ("dmeo", "Demo", "doctr", "kitlib", "explian", "laab", "up2", "--demo", "-x", "swep", "imag", "")
UNKNOWN = tuple(f"{name} --no-such-option" for name in cli.COMMANDS if name not in ("image", "certificate", "bench"))
LACKING = (
    *("conformance", "sweep", "image", "image save", "image load", "bundle", "site", "workshop", "room"),
    *("lab-report", "lab-export", "certificate", "certificate key", "certificate sign", "certificate verify", "bench"),
    *("certificate sign p", "certificate verify c", "lab --port", "up --kubeconfig", "explain -f", "explain --message"),
)
WITHOUT_EFFECT = (  # options that another option or word would need
    "explain p -f NODES --kubelet NODES",
    "whatif drain a -f NODES --kubelet NODES",
    "bench apply --workload basic",
    "bench apply --nodes 5",
    "bench scheduler --points 5",
    "site d --prefix /kitlib/",
    "workshop d --without-roster",
)
TOO_MUCH = ("demo x", "doctor x", "cheat-sheet x", "bundle a.tar b.tar", "lab a b", "lab-report a b")
FILES = (  # FILE = one that is missing, FOLDER = a folder, EMPTY, BINARY, TEXT, LIST = a file with such content
    *(f"explain -f {one}" for one in ("FILE", "FOLDER", "EMPTY", "BINARY", "TEXT", "LIST", "NODELESS")),
    *(f"sweep {one}" for one in ("FILE", "FOLDER", "EMPTY", "BINARY", "TEXT", "LIST", "NODELESS")),
    *(f"conformance {one}" for one in ("FILE", "FOLDER", "EMPTY", "BINARY", "GZIP")),
    *(f"conformance --kind quantity {one}" for one in ("FOLDER", "EMPTY", "BINARY", "TEXT", "LIST", "GZIP")),
    *(f"conformance --kind nothing {one}" for one in ("TEXT",)),
    *(f"up {one}" for one in ("FILE", "FOLDER", "BINARY", "TEXT", "LIST")),
    *(f"lab-report {one}" for one in ("FILE", "TEXT")),
    *(f"room {one}" for one in ("TEXT",)),
    *(f"lab-export {one}" for one in ("TEXT",)),
    "lab-export NEW no-such-lab",
    *(f"workshop {one}" for one in ("TEXT",)),
    *(f"certificate verify {one} --key {two}" for one in ("FILE", "TEXT") for two in ("FILE", "BINARY")),
    *(f"certificate sign {one} --name n --key FILE" for one in ("FILE", "BINARY", "FOLDER")),
    "certificate key FOLDER",
    "cheat-sheet -o FILE/sheet.html",
    "cheat-sheet -o TEXT/sheet.html",
    "bundle --image FILE NEW.tar",
    "bundle --no-image --image TEXT NEW.tar",
    *(f"bundle --image {one} NEW.tar" for one in ("EMPTY", "BINARY", "FOLDER", "TAR")),
    *(f"whatif apply {one} -f NODES" for one in ("FILE", "FOLDER", "BINARY", "TEXT", "LIST", "MISFIT")),
    *(f"workshop NEW --trainer {one}" for one in ("FILE", "FOLDER")),
    *(f"explain p --live --kubeconfig {one}" for one in ("FILE", "TEXT")),
    *(
        "explain -f NODES\t\x1b[31m",
        "explain -f\ta\nb",
        "up\ta\nb",
        "certificate key\ta\x1bb/c",
        "up http://host/x.yaml",
    ),
    *(f"lab --copy-only {one}" for one in ("TEXT", "TEXT/below")),
    *("lab --copy-only https://my.site/kitlib/#garbage", "lab --copy-only #garbage", "lab --copy-only #kitlib="),
    *("lab --copy-only https://my.site/kitlib/", "lab --copy-only https://my.site/#kitlib=%%%"),
    *("lab --copy-only --lab-seed x NEW", "lab --copy-only --lab-seed -1 NEW"),
    *("explain --live --file TEXT", "explain --release 9.99 -f NODES", "explain --release x -f NODES"),
    *(
        "explain a b c -f NODES",
        "whatif",
        "whatif drain -f NODES",
        "whatif drain nobody -f NODES",
        "whatif x y -f NODES",
    ),
    *(
        "whatif drain a -f TEXT",
        "whatif lose nobody -f NODES",
        "whatif scale deploy/x -f NODES",
        "whatif then -f NODES",
    ),
    *("explain nobody -f NODES", "explain default/nobody -f NODES", "explain -f NODES"),
    *("room FOLDER --open no-such", "room FOLDER --close 99", "room FOLDER --seed 03", "room FOLDER --seed 03=x"),
    *("up --release 0.1", "up --release x"),
)
ALL = (
    *(
        f"{option}\t{value}"
        for table in (NUMBERS, CHOICES, NAMES)
        for option, values in table.items()
        for value in values
    ),
    *(f"{option}\t" for option in EMPTY_NAMES),
    *WITHOUT_EFFECT,
    *COMMANDS,
    *UNKNOWN,
    *LACKING,
    *TOO_MUCH,
    *FILES,
)
CONTENT = {
    "EMPTY": b"",
    "BINARY": b"\xff\xfe\x00\x01\x80",
    "TEXT": b"just a sentence: with: colons\n",
    "LIST": b"[1, 2, 3]\n",
    "NODELESS": json.dumps({"kind": "List", "apiVersion": "v1", "items": []}).encode(),
    "GZIP": b"not gzip",
    "MISFIT": b"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {priority: [1]}\n",
    "NODES": b"apiVersion: v1\nkind: Node\nmetadata: {name: a}\n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    for name, content in CONTENT.items():
        (folder / (f"{name}.gz" if name == "GZIP" else name)).write_bytes(content)
    (folder / "FOLDER").mkdir()
    with tarfile.open(folder / "TAR", "w") as archive:
        archive.add(folder / "NODES", "NODES")
    with gzip.open(folder / "cut.gz", "wb") as out:
        out.write(b"{}")
    return folder


def words(command: str, place: Path) -> list[str]:
    """Return the words of a command; what follows a tab is one word, even an empty one."""
    head, tab, value = command.partition("\t")
    named = [*head.split(), *([value] if tab else [])] or [""]
    found = []
    for word in named:
        name = word.partition("/")[0]
        known = name in CONTENT or name in ("FILE", "FOLDER", "TAR", "NEW", "NEW.tar")
        found.append(str(place / word) + (".gz" if word == "GZIP" else "") if known else word)
    return found


def test_there_are_two_hundred_of_them_and_every_command_is_among_them() -> None:
    assert len(set(ALL)) == len(ALL) >= 200
    assert {command.split()[0] for command in ALL if command.split()} >= set(cli.COMMANDS)


@pytest.mark.parametrize("command", ALL, ids=lambda command: repr(command.replace("\t", " ")))
def test_a_wrong_command_is_answered_in_one_line(
    command: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    code = cli.main(words(command, place))
    told = capsys.readouterr().err
    assert code == 2, told
    lines = [line for line in told.splitlines() if not line.startswith("kitlib lab-report: points")]
    assert len(lines) == 1, told
    assert lines[0].isprintable(), lines
    assert lines[0].startswith("kitlib") and ": " in lines[0] and "Traceback" not in told
    assert not [raw for raw in ("Expected `", "object is not", "codec can't", "invalid _") if raw in told]
