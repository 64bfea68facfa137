"""Versions as the server's library reads and orders them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kitlib.cel.semver import Semver


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Version string empty"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("v1.0.0", 'Invalid character(s) found in major number "v1"'),
        ("1.x.0", 'Invalid character(s) found in minor number "x"'),
        ("1.0.0.1", 'Invalid character(s) found in patch number "0.1"'),
        ("01.0.0", 'Major number must not contain leading zeroes "01"'),
        ("1.0.00", 'Patch number must not contain leading zeroes "00"'),
        ("1..0", 'strconv.ParseUint: parsing "": invalid syntax'),
        (f"1.{2**64}.0", f'strconv.ParseUint: parsing "{2**64}": value out of range'),
        ("1.0.0-", "Prerelease is empty"),
        ("1.0.0-a..b", "Prerelease is empty"),
        ("1.0.0-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("1.0.0-a_b", 'Invalid character(s) found in prerelease "a_b"'),
        ("1.0.0+", "Build meta data is empty"),
        ("1.0.0+a_b", 'Invalid character(s) found in build meta data "a_b"'),
    ],
)
def test_what_is_no_version(text: str, words: str) -> None:
    with pytest.raises(ValueError) as error:
        Semver.parse(text)
    assert str(error.value) == words


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("v1.0.0", "1.0.0"),
        ("1.0", "1.0.0"),
        ("v2", "2.0.0"),
        ("01.001.00", "1.1.0"),
        ("1.2.03-a.1", "1.2.3-a.1"),
        ("1.2.0-rc", "1.2.0-rc"),
        ("1.2.00-rc", "1.2.0-rc"),
    ],
)
def test_what_is_written_otherwise_means_a_version(text: str, same: str) -> None:
    assert Semver.parse(text, normalize=True) == Semver.parse(same)


@pytest.mark.parametrize("text", ["", "vv1", "1.0-rc", "v1.0+a", " 1.0.0"])
def test_what_means_none_either(text: str) -> None:
    with pytest.raises(ValueError):
        Semver.parse(text, normalize=True)


def test_versions_have_an_order() -> None:
    texts = ["1.0.0-1", "1.0.0-2", "1.0.0-11", "1.0.0-a", "1.0.0-a.1", "1.0.0-b", "1.0.0", "1.0.1", "1.10.0", "2.0.0"]
    versions = [Semver.parse(text) for text in texts]
    assert all(one < other and not other < one for one, other in pairwise(versions))
    assert not Semver.parse("1.0.0+a") < Semver.parse("1.0.0+b")
