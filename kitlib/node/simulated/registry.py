"""Images that no registry has: the runtime's words about a pull that fails."""

from __future__ import annotations


def not_found(image: str) -> str:
    """Return the text of a failed pull of an image that its registry does not have.

    Source: containerd Pull, docker resolver Resolve; reference.ParseDockerRef.
    """
    registry, slash, _ = image.partition("/")
    if not slash:
        name = f"docker.io/library/{image}"
    else:
        name = image if registry == "localhost" or set(".:") & set(registry) else f"docker.io/{image}"
    if "@" not in name and ":" not in name.rpartition("/")[2]:
        name += ":latest"
    return (
        f'rpc error: code = NotFound desc = failed to pull and unpack image "{name}": '
        f'failed to resolve reference "{name}": {name}: not found'
    )
