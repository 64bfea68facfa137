"""Tables of types as text: a section for each package (`[PACKAGE]`), a line for each type (`TYPE: FIELD; FIELD`)."""

from __future__ import annotations

from importlib import resources as package_data


def read_types(package: str, name: str) -> dict[str, str]:
    """Read a table that is a file of the kit.

    Args:
        package: the Python package of the file.
        name: the name of the file.

    Returns:
        Type with its package -> its fields as text.
    """
    found: dict[str, str] = {}
    section = ""
    for line in package_data.files(package).joinpath(name).read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        else:
            kind, _, fields = line.partition(": ")
            found[f"{section}.{kind}"] = fields
    return found
