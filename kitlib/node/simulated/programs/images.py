"""The table of images: the program that each image starts, by name.

A container's `command` replaces the image's entrypoint and arguments, `args` replaces only its arguments.

Source: kubernetes.io, "Define a Command and Arguments for a Container"; the images' public Dockerfiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kitlib.api.core import Container


class Entrypoint(NamedTuple):
    """The program that an image starts: its entrypoint, and the arguments if the container gives none."""

    entrypoint: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


_SHELL = Entrypoint((), ("sh",))
_IMAGES = {
    "agnhost": Entrypoint(("/agnhost",), ("pause",)),
    "alpine": _SHELL,
    "alpine-stress-ng": Entrypoint(("stress-ng",)),
    "amazonlinux": _SHELL,
    "bash": Entrypoint(("docker-entrypoint.sh",), ("bash",)),
    "busybox": _SHELL,
    "centos": _SHELL,
    "debian": _SHELL,
    "echoserver": Entrypoint(("nginx",)),
    "fedora": _SHELL,
    "hello-world": Entrypoint(("/hello",)),
    "hpa-example": Entrypoint((), ("apache2-foreground",)),
    "http-echo": Entrypoint(("http-echo",)),
    "httpd": Entrypoint((), ("httpd-foreground",)),
    "mariadb": Entrypoint(("docker-entrypoint.sh",), ("mariadbd",)),
    "memcached": Entrypoint(("docker-entrypoint.sh",), ("memcached",)),
    "mongo": Entrypoint(("docker-entrypoint.sh",), ("mongod",)),
    "mysql": Entrypoint(("docker-entrypoint.sh",), ("mysqld",)),
    "nginx": Entrypoint(("/docker-entrypoint.sh",), ("nginx", "-g", "daemon off;")),
    "nginx-slim": Entrypoint(("nginx",), ("-g", "daemon off;")),
    "nginx-unprivileged": Entrypoint(("/docker-entrypoint.sh",), ("nginx", "-g", "daemon off;")),
    "pause": Entrypoint(("/pause",)),
    "perl": Entrypoint((), ("perl", "-de0")),
    "polinux/stress": Entrypoint((), ("stress",)),
    "postgres": Entrypoint(("docker-entrypoint.sh",), ("postgres",)),
    "progrium/stress": Entrypoint(("stress",)),
    "python": Entrypoint((), ("python3",)),
    "redis": Entrypoint(("docker-entrypoint.sh",), ("redis-server",)),
    "registry": Entrypoint(("registry",)),
    "resource-consumer": Entrypoint(("consumer",)),
    "stress-ng": Entrypoint(("stress-ng",)),
    "ubuntu": Entrypoint((), ("bash",)),
    "vish/stress": Entrypoint(("/stress", "-logtostderr")),
}


def entry_of(image: str) -> Entrypoint | None:
    """Return the program of an image, whatever its registry, tag and digest; None = unknown."""
    name = image.partition("@")[0]
    last = name.rpartition("/")[2].partition(":")[0]
    path = name[: len(name) - len(name.rpartition("/")[2])] + last
    two = "/".join(path.split("/")[-2:])
    return _IMAGES.get(two) or _IMAGES.get(last)


def command_line(container: Container) -> list[str] | None:
    """Return the command line of a container; None if neither its manifest nor its image defines it.

    The arguments of an unknown image count as the whole command.
    """
    if container.command:
        return [*container.command, *container.args]
    entry = entry_of(container.image)
    if entry is None:
        return list(container.args) or None
    return _joined(entry, container.args)


def _joined(entry: Entrypoint, args: Sequence[str]) -> list[str]:
    words = [*entry.entrypoint, *(args or entry.arguments)]
    if not entry.entrypoint and args and args[0].startswith("-"):
        # a runtime would not find a program of that name; options are meant for the image's own program
        words = [*entry.arguments[:1], *args]
    if words[:1] in (["docker-entrypoint.sh"], ["/docker-entrypoint.sh"]):  # starts the program in its arguments
        words = words[1:]
    return words
