"""Whether real nodes can be started on this machine right now, if not, why, and how many processors they can have."""

from __future__ import annotations


def engine_answers() -> tuple[bool, str]:
    """Ask the engine for its version, and whether it has what a node is made from; nothing is built or fetched.

    Returns:
        Whether real nodes can start at once, and a sentence: on which engine, or why not.
    """
    from kitlib.api.errors import KitError
    from kitlib.node.real import engine, image

    try:
        client = engine.connect()
    except KitError as error:
        return False, str(error)
    try:
        version = client.version().get("Version", "?")
        if not image.ready(client):
            return False, f"engine {version} answers, but the nodes' image is not there yet: kitlib image build"
    except Exception as error:  # the SDK passes on errors of requests, urllib3 and the socket layer
        return False, f"the container engine fails: {str(error).splitlines()[0][:160]}"
    finally:
        client.close()
    return True, f"engine {version} answers"


def engine_processors() -> int:
    """How many processors the engine's machine has; 0 where no engine says so."""
    from kitlib.api.errors import KitError
    from kitlib.node.real import engine

    try:
        client = engine.connect()
    except KitError:
        return 0
    try:
        return int(client.info().get("NCPU") or 0)
    except Exception:  # the SDK passes on errors of requests, urllib3 and the socket layer
        return 0
    finally:
        client.close()
