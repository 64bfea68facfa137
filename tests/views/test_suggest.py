"""What was meant by an amount that is not a quantity."""

import pytest

from kitlib.views.suggest import FORM, quantity_suggestion


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("128MB", "Did you mean 128M or 128Mi?"),
        ("128mb", "Did you mean 128M or 128Mi?"),
        ("2 GiB", "Did you mean 2Gi?"),
        ("1,5", "Did you mean 1.5?"),
        ("2 cores", "Did you mean 2?"),
        ("500 millicores", "Did you mean 500m?"),
        ("64K", "Did you mean 64k or 64Ki?"),
        ("plenty", FORM),
        ("", FORM),
        ("7xx", FORM),
    ],
)
def test_the_suggestion(typed, meant):
    assert quantity_suggestion(typed) == meant
