"""The image of a node: built on the user's machine, from Debian, another base image, or a given root file system.

It has two parts. The base with Python, crun and stress-ng needs a network once; the kit's own library with numpy on top
needs none and takes a few seconds. A control plane runs from the same image. The image's name contains a hash of the
library, so a changed library never runs in an old image. `save` and `load` transfer both to a place without internet. A
second image, larger by systemd and its bus, is only for nodes with the systemd cgroup driver.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from kitlib.api.errors import KitError
from kitlib.node.real import reaper
from kitlib.node.real.engine import FULL, EngineError, asking, patiently
from kitlib.node.real.leftovers import labelled, remove_unfinished
from kitlib.node.real.root_check import PROGRAMS, SYSTEMD_PROGRAMS, can_install, missing_packages, offline

BASE = "kitlib-base"
NAME = "kitlib-node"
SYSTEMD = "-systemd"
"""Suffix of both names for nodes with systemd as process 1."""
DEBIAN = "debian:bookworm-slim"
PACKAGE = Path(__file__).resolve().parents[2]
PACKAGES = ("api", "apiserver", "cel", "cluster", "controllers", "kubelet", "node", "scheduler")
"""The packages of the kit that run in a node or in the control plane."""
_LEFT_OUT = ("apiserver/http",)
"""Parts of these packages that are not copied into the image."""
_UNUSED = ("tests", "testing", "f2py", "distutils", "random", "polynomial", "fft", "doc", "include", "_pyinstaller")
"""Folders of numpy that the scheduler does not need, a third of its size."""
_UNUSED_FILES = ("_simd.", "_tests.")
_LINE = 100
_COMMAND = re.compile(r"""(The command '|STEP ")(.{40}).+(' returned|":)""", re.DOTALL)
"""The end of a failed build repeats the whole command, which would push its output out of the error."""
_REMOVING = "Removing intermediate container"
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ONE_ID = "Loaded image ID: "
_NAMES = ("Loaded image: ", "Loaded image(s): ")
"""The prefix of the names in an engine's answer to /images/load."""

Tell = Callable[[str], None]


class ImageError(KitError):
    """An error while building, saving or loading an image."""


def sources() -> Iterator[tuple[str, Path]]:
    """Yield the name in the image and the path of every file of the kit that the image contains."""
    yield "kitlib/__init__.py", PACKAGE / "__init__.py"
    for package in PACKAGES:
        for path in sorted((PACKAGE / package).rglob("*")):
            name = path.relative_to(PACKAGE)
            code = "__pycache__" not in name.parts and not any(name.is_relative_to(part) for part in _LEFT_OUT)
            if code and path.is_file():
                yield f"kitlib/{name.as_posix()}", path


def fingerprint() -> str:
    """Return a hash of the Dockerfiles and of every file of the kit in the image."""
    whole = hashlib.sha256(dockerfile() + dockerfile(systemd=True))
    for name, path in sources():
        whole.update(f"\0{name}\0".encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()[:12]


def dockerfile(*, systemd: bool = False) -> bytes:
    """Return the Dockerfile of the node's image."""
    return (PACKAGE / "node" / "real" / ("Dockerfile.systemd" if systemd else "Dockerfile")).read_bytes()


def tag(*, systemd: bool = False) -> str:
    """Return the name of the image for this version of the library, with or without systemd."""
    return f"{_named(NAME, systemd)}:{fingerprint()}"


def base_of(*, systemd: bool = False) -> str:
    """Return the name of the base image."""
    return f"{_named(BASE, systemd)}:latest"


def _named(name: str, systemd: bool) -> str:
    return name + SYSTEMD if systemd else name


def context(base: str, name: str, *, systemd: bool = False) -> bytes:
    """Return the engine's build context as a tar archive: the Dockerfile and the library.

    The image with systemd copies the library from the other image.

    Args:
        base: the name of the base image.
        name: the name of the image, for its label.
        systemd: whether to return the context of the image with systemd.
    """
    buffer = io.BytesIO()
    if systemd:
        given = dockerfile(systemd=True).replace(f"BASE={DEBIAN}".encode(), f"BASE={base}".encode())
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            given = given.replace(f"NODE={NAME}".encode(), f"NODE={tag()}".encode())
            _add(archive, "Dockerfile", labelled(given, name))
        return buffer.getvalue()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        given = dockerfile().replace(f"BASE={DEBIAN}".encode(), f"BASE={base}".encode())
        _add(archive, "Dockerfile", labelled(given, name))
        for name, path in sources():
            _add(archive, f"site/{name}", path.read_bytes())
        for name, path in _foreign():
            _add(archive, f"site/{name}", path.read_bytes())
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o644
    archive.addfile(info, io.BytesIO(content))


def _foreign() -> Iterator[tuple[str, Path]]:
    """Yield this machine's msgspec and numpy; if they do not fit the image's Python, the build fetches others."""
    for name in ("msgspec", "numpy"):
        found = importlib.util.find_spec(name)
        if found is None or not found.submodule_search_locations:
            continue
        place = Path(next(iter(found.submodule_search_locations)))
        for part in (place, place.parent / f"{name}.libs"):
            for path in sorted(part.rglob("*")):
                inside = path.relative_to(part)
                used = not set(inside.parts[:-1]) & set(_UNUSED) and not any(w in path.name for w in _UNUSED_FILES)
                if path.is_file() and (path.suffix == ".py" or ".so" in path.suffixes) and used:
                    yield f"{part.name}/{inside.as_posix()}", path


def have(client: Any, name: str) -> bool:
    """Return whether the engine has an image of this name."""
    from docker.errors import ImageNotFound

    try:
        with asking(f"image {name}"):
            client.images.get(name)
    except EngineError as error:
        if isinstance(error.__cause__, ImageNotFound):
            return False
        raise
    return True


def ready(client: Any, *, systemd: bool = False) -> bool:
    """Return whether a node can be started without a network: the image or its base exists."""
    return have(client, tag(systemd=systemd)) or have(client, base_of(systemd=systemd))


def ensure(client: Any, tell: Tell = lambda text: None, *, systemd: bool = False) -> str:
    """Return the image's name, after building the image if it does not exist.

    Raises:
        ImageError: the image cannot be built.
    """
    return standing(client, systemd=systemd) or build(client, tell=tell, systemd=systemd)


def standing(client: Any, *, systemd: bool = False) -> str:
    """Return the image's name if it exists; "" if it must be built."""
    name = tag(systemd=systemd)
    return name if have(client, name) else ""


def build(
    client: Any,
    *,
    base: str = "",
    root: str | os.PathLike[str] | None = None,
    systemd: bool = False,
    tell: Tell = lambda text: None,
) -> str:
    """Build the image.

    Args:
        client: client of the engine.
        base: name of a base image; "" = the base that was prepared before, else Debian.
        root: path of a tar archive of a root file system, or of a directory with one, to use as the base.
        systemd: whether to build the image for the systemd cgroup driver. It is made from the other image, which is
            built first if it does not exist, and without a base of its own from that one's base.
        tell: function that is called with every line of the engine's output.

    Returns:
        The image's name.

    Raises:
        ImageError: the build failed; the message has the end of the engine's output.
    """
    if systemd:
        ensure(client, tell)
    if root is not None:
        if base:
            raise ImageError("image: a base or a root file system can be given, not both")
        base = _checked_import(client, Path(root), systemd=systemd)
    elif not base:
        known = (base_of(systemd=systemd), base_of())
        base = next((candidate for candidate in known if have(client, candidate)), DEBIAN)
    name, ours = tag(systemd=systemd), base_of(systemd=systemd)
    if base != ours:  # the old base is replaced only after the new one was built
        try:
            _run_build(
                client, context(base, ours, systemd=systemd), ours, tell, "packages", _lacks(root, systemd=systemd)
            )
        finally:
            if root is not None:
                _forget(client, base)
        base = ours  # later builds need no network
    _run_build(client, context(base, name, systemd=systemd), name, tell)
    _forget_older(client, name)
    return name


def _forget(client: Any, name: str) -> None:
    """Remove a name of an image; images built on it keep its layers."""
    from docker.errors import DockerException

    with suppress(DockerException):
        client.images.remove(name, noprune=True)


def _forget_older(client: Any, name: str) -> None:
    """Remove images of earlier sources that are older than a day; running ones stay."""
    from docker.errors import DockerException

    limit = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S")
    for old in client.images.list(name.partition(":")[0]):
        if str(old.attrs.get("Created", ""))[: len(limit)] > limit:
            continue
        for standing in old.tags:
            if standing != name and standing.partition(":")[0] == name.partition(":")[0]:
                with suppress(DockerException):
                    client.images.remove(standing)


def _run_build(client: Any, archive: bytes, name: str, tell: Tell, target: str = "node", lacks: str = "") -> None:
    reaper.start()  # removes the finished layers if this process is killed
    with asking("images without a name"):
        remove_unfinished(client)
    last: list[str] = []
    with asking(f"image {name}: the engine refused to build", ImageError):
        said = client.api.build(
            fileobj=io.BytesIO(archive),
            custom_context=True,
            tag=name,
            target=target,
            rm=True,
            forcerm=True,
            decode=True,
        )
        for piece in said:
            text = str(piece.get("stream") or piece.get("error") or piece.get("status") or "").strip()
            text = _COMMAND.sub(r"\1\2 …\3", _ESCAPES.sub("", text))
            if text and not text.startswith(_REMOVING):
                last = [*last[-7:], text]
                tell(text[:_LINE])
            if "error" in piece:
                way = lacks or _hint(text, SYSTEMD + ":" in name)
                raise ImageError(f"image {name}: {' / '.join(last)[-600:]}{way}")


def _hint(text: str, systemd: bool) -> str:
    """Return the remedy if the base could not be fetched or the disk is full; "" = none is known."""
    if "no space left" in text:
        return f" ({FULL})"
    words = ("pull", "manifest", "lookup", "registry", "no such host", "Could not resolve", "dial tcp")
    if any(word in text for word in words):
        build = "kitlib image build --systemd" if systemd else "kitlib image build"
        return f". Without a network: {build} --root ROOT.tar, or kitlib image load FILE"
    return ""


def _checked_import(client: Any, root: Path, *, systemd: bool) -> str:
    """Import a root file system under its own name, so that the existing base is kept.

    Raises:
        ImageError: it cannot be read, or lacks programs that cannot be installed.
    """
    if not (root.is_dir() or root.is_file()):
        raise ImageError(f"{root}: there is no such root file system")
    try:
        lacking = missing_packages(root, systemd=systemd)
        hopeless = bool(lacking) and not can_install(root)
    except tarfile.TarError as error:  # its text is a list of all compressions that were tried
        raise ImageError(f"{root}: neither a directory nor a tar archive of a root file system") from error
    except OSError as error:
        raise ImageError(f"{root}: cannot be read: {error.strerror or error}") from error
    if hopeless:
        raise ImageError(f"{root}: nothing was built{_lacks(root, systemd=systemd)}")
    return _import(client, root, f"{_named(BASE, systemd)}-import")


def _lacks(root: str | os.PathLike[str] | None, *, systemd: bool) -> str:
    """Return which programs a given root file system lacks and how to add them without a network; "" = none."""
    lacking = missing_packages(Path(root), systemd=systemd) if root is not None else []
    if not lacking:
        return ""
    every = dict.fromkeys([*PROGRAMS.values(), *(SYSTEMD_PROGRAMS.values() if systemd else ())])
    return f". It lacks {', '.join(lacking)}; without a network: {offline(every)}"


def _import(client: Any, root: Path, name: str) -> str:
    """Create an image from a root file system."""
    if not root.is_dir():
        with root.open("rb") as given:
            return _import_tar(client, given, name)
    with tempfile.TemporaryFile() as packed:
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(root, arcname=".", filter=_plain_file)
        packed.seek(0)
        return _import_tar(client, packed, name)


def _plain_file(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out devices, caches and documentation: the engine creates /dev itself."""
    name = info.name.removeprefix("./")
    left = ("var/cache/apt/", "var/lib/apt/lists/", "usr/share/doc/", "usr/share/man/", "usr/share/locale/", "proc/")
    return None if info.ischr() or info.isblk() or info.isfifo() or name.startswith(left) else info


def _import_tar(client: Any, archive: IO[bytes], name: str) -> str:
    made = f"{name}:latest"
    with asking("the root file system cannot be imported", ImageError), patiently(client):
        client.api.import_image_from_data(archive, repository=name, tag="latest")
    if not have(client, made):
        raise ImageError("the root file system cannot be imported: is it a tar archive of one?")
    return made


def save(client: Any, file: str | os.PathLike[str]) -> int:
    """Write the images that exist, and their bases, to a file; the image without systemd is built if necessary.

    After a failure an existing file is unchanged.

    Returns:
        Number of bytes written.

    Raises:
        ImageError: the engine does not return the images, or the file cannot be written.
    """
    names = [ensure(client)]
    others = (base_of(), tag(systemd=True), base_of(systemd=True))
    names += [name for name in others if have(client, name)]
    target = Path(file)
    unfinished, size = target.with_name(f"{target.name}.part"), 0
    # the SDK's own method takes one image only; together they share their layers
    where = f"{client.api.base_url}/images/get"
    try:
        with (
            asking(f"{file}: the engine does not give the image", ImageError),
            client.api.get(where, params={"names": names}, stream=True) as answer,
        ):
            if not answer.ok:
                raise ImageError(f"{file}: the engine does not give the image: {answer.text[:300]}")
            with open(unfinished, "wb") as written:
                for piece in answer.iter_content(1 << 20):
                    size += written.write(piece)
        unfinished.replace(target)
    except OSError as error:
        raise ImageError(f"{file}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return size


def load(client: Any, file: str | os.PathLike[str]) -> list[str]:
    """Load the images of a file that `save` wrote.

    Returns:
        The names of the images that the file held, sorted.

    Raises:
        ImageError: the engine rejects the archive, or it holds no image of the kit.
    """
    try:
        with open(file, "rb") as source, asking(f"{file}: the engine does not take it", ImageError), patiently(client):
            names = sorted(_loaded(client, client.api.load_image(source)))
    except OSError as error:
        raise ImageError(f"{file}: {error.strerror}") from error
    except _NotTaken as error:
        raise ImageError(f"{file}: the engine does not take it: {error}") from None
    ours = tuple(_named(name, systemd) for name in (NAME, BASE) for systemd in (False, True))
    if not any(name.partition(":")[0].endswith(ours) for name in names):
        raise ImageError(f"{file}: holds {', '.join(names) or 'no image'}, none of the kit's")
    return names


class _NotTaken(Exception):
    """An error in the engine's streamed answer."""


def _loaded(client: Any, said: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names in an engine's answer to /images/load.

    Docker sends a line for each name, and the ID of an image without names; Podman sends all names in one line, with
    commas, which the SDK's own method reads as a single name.
    Source: moby image/tarexport load.go; Podman pkg/api/handlers/compat LoadImages.
    """
    names: set[str] = set()
    for piece in said:
        if "error" in piece or "errorDetail" in piece:
            raise _NotTaken((piece.get("errorDetail") or {}).get("message") or piece.get("error") or "no reason given")
        for line in str(piece.get("stream") or "").splitlines():
            if line.startswith(_ONE_ID):
                names.update(client.images.get(line.removeprefix(_ONE_ID).strip()).tags)
            elif line.startswith(_NAMES):
                names.update(name.strip() for name in line.partition(": ")[2].split(",") if name.strip())
    return names
