"""Names of images: repository, tag and digest, as Kubernetes parses them.

Source: k8s.io/kubernetes/pkg/util/parsers ParseImageName; distribution/reference ParseNormalizedNamed, regexp.go.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

DEFAULT_DOMAIN, LEGACY_DOMAIN, OFFICIAL = "docker.io", "index.docker.io", "library/"
LATEST = "latest"
MAX_REPOSITORY = 255
_DIGITS = {"sha256": 64, "sha384": 96, "sha512": 128}
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"{_DOMAIN}/(?P<path>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?"
    r"(?:@(?P<algorithm>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*):(?P<hex>[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")


class ImageReference(NamedTuple):
    """A parsed image name: the repository with its registry, the tag ("" beside a digest alone), the digest."""

    repository: str
    tag: str
    digest: str


@lru_cache(maxsize=1024)
def parse_image_name(image: str) -> ImageReference | None:
    """Return the parts of an image's name; None where it is not a valid one.

    A name without tag and digest has the tag `latest`.
    """
    # 64 hexadecimal digits are an image id and not a name. Source: ParseNormalizedNamed.
    if _IDENTIFIER.fullmatch(image):
        return None
    first, slash, rest = image.partition("/")
    # The first part is a registry only if it looks like a host name; "library/nginx" is a path on the default one.
    if slash and (set(".:") & set(first) or first == "localhost" or first != first.lower()):
        domain, remainder = (DEFAULT_DOMAIN if first == LEGACY_DOMAIN else first), rest
    else:
        domain, remainder = DEFAULT_DOMAIN, image
    if domain == DEFAULT_DOMAIN and "/" not in remainder:
        remainder = OFFICIAL + remainder
    found = _REFERENCE.fullmatch(f"{domain}/{remainder}")
    if found is None or len(found["path"]) > MAX_REPOSITORY:
        return None
    digest = ""
    if found["hex"] is not None:
        if len(found["hex"]) != _DIGITS.get(found["algorithm"]) or found["hex"] != found["hex"].lower():
            return None
        digest = f"{found['algorithm']}:{found['hex']}"
    return ImageReference(f"{domain}/{found['path']}", found["tag"] or ("" if digest else LATEST), digest)


def default_pull_policy(image: str) -> str:
    """Return `imagePullPolicy` where a container does not set it. Source: SetDefaults_Container."""
    found = parse_image_name(image)
    return "Always" if found is not None and found.tag == LATEST else "IfNotPresent"
