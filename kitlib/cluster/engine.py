"""Whether a container engine answers on this machine, and if not, why."""

from __future__ import annotations

import importlib.util


def engine_answers() -> tuple[bool, str]:
    """Ask the engine that the Docker SDK finds for its version.

    Returns:
        Whether one answers, and a sentence: which, or why not.
    """
    if importlib.util.find_spec("kitlib.cluster.docker") is None:
        return False, "this version of the kit has no real nodes yet"
    try:
        import docker
    except ImportError:
        return False, "the docker package is not installed (pip install 'kitlib[docker]')"
    try:
        client = docker.from_env(timeout=5)
        try:
            version = client.version()
        finally:
            client.close()
    except Exception as error:  # the SDK passes on errors of requests, urllib3 and the socket layer
        return False, f"no container engine answers: {str(error).splitlines()[0][:160]}"
    return True, f"engine {version.get('Version', '?')} answers"
