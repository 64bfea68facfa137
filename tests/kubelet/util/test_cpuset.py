"""CPU lists are read and printed as the kernel and the kubelet do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitlib.kubelet.util.cpuset import format_cpus, parse_cpus


@given(st.sets(st.integers(0, 300)))
def test_a_list_of_cpus_is_read_back(cpus):
    assert parse_cpus(format_cpus(cpus)) == cpus


@pytest.mark.parametrize("text", ["0-", "-1", " 1", "a", "1,,2"])
def test_what_is_no_list_of_cpus_is_refused(text):
    with pytest.raises(ValueError, match="invalid syntax"):
        parse_cpus(text)
