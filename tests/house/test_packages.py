"""The first lines of a package: its contents, the packages that may import it, and its public interface."""

from __future__ import annotations

import ast
import re

import pytest

from tests.rooms import KITLIB

PACKAGES = sorted(str(path.parent.relative_to(KITLIB)) for path in KITLIB.rglob("__init__.py") if path.parent != KITLIB)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_is_in_it_what_imports_it_and_where_its_face_is(package: str) -> None:
    module = ast.parse((KITLIB / package / "__init__.py").read_text())
    text = ast.get_docstring(module) or ""
    first, imported, face = text.partition("\n\n")[0], text.find("\nImported by "), text.find("Face: ")
    assert re.search(r"[.:]$", first.partition("\n")[0]) and len(first) > 15, text
    assert 0 < imported < face, text
    for name in re.findall(r"`([a-z_]\w*)[.`]", text[face:].partition("\n\n")[0]):
        there = KITLIB / package / name
        assert there.is_dir() or there.with_suffix(".py").is_file() or re.search(rf"\b{name}\b", ast.unparse(module)), (
            f"{name} is no module of the package"
        )
