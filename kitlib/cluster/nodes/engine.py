"""The container engine of this machine: whether real nodes can start now, why not, and what they can use."""

from __future__ import annotations


def engine_answers() -> tuple[bool, str]:
    """Ask the engine for its version and for the images that nodes need, without building or pulling any.

    Returns:
        Whether real nodes can start at once, and a sentence with the engine or the reason.
    """
    from kitlib.api.errors import KitError
    from kitlib.node.real import engine, host, image

    try:
        client, endpoint = engine.reach()
    except KitError as error:
        return False, str(error)
    try:
        there = host.host_of(client, endpoint)
        if there.hindrance:
            return False, f"{there.name} {there.version} answers, but {there.hindrance}"
        if not image.ready(client):
            return False, f"{there.name} {there.version} answers, but the nodes' image is not there: kitlib image build"
    except KitError as error:
        return False, f"the container engine fails: {str(error)[:160]}"
    finally:
        client.close()
    return True, f"{there.name} {there.version} answers"


def engine_processors() -> int:
    """Return the number of processors of the engine's machine; 0 without an answer."""
    return _said("NCPU")


def engine_cgroup_version() -> int:
    """Return the cgroup version of the engine's machine; 0 without an answer."""
    return _said("CgroupVersion")


def _said(name: str) -> int:
    """Return a number from the engine's answer to /info; 0 without one."""
    from kitlib.api.errors import KitError
    from kitlib.node.real import engine

    try:
        client = engine.connect()
    except KitError:
        return 0
    try:
        with engine.asking("the engine says nothing of itself"):
            return int(client.info().get(name) or 0)
    except KitError:
        return 0
    finally:
        client.close()


def engine_has_systemd() -> bool:
    """Return whether a node with the systemd cgroup driver can start at once: its image or its base image exists."""
    from kitlib.api.errors import KitError
    from kitlib.node.real import engine, image

    try:
        client = engine.connect()
    except KitError:
        return False
    try:
        return image.ready(client, systemd=True)
    except KitError:
        return False
    finally:
        client.close()
