"""The first lines of a package: its contents, the packages that may import it, and its public interface."""

from __future__ import annotations

import ast

import pytest

from tests.rooms import KITLIB, rooms

PACKAGES = [*rooms(), *(f"apiserver/{name}" for name in ("admission", "http", "store", "validation"))]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_is_in_it_what_imports_it_and_where_its_face_is(package: str) -> None:
    text = ast.get_docstring(ast.parse((KITLIB / package / "__init__.py").read_text())) or ""
    first, imported, face = text.partition("\n")[0], text.find("\nImported by "), text.find("\nFace: ")
    assert first.endswith(".") and len(first) > 40
    assert 0 < imported < face, text
