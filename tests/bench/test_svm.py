"""``make bench``: everything that it measures can be measured; how long it takes is no matter for tests."""

import pytest

from fwexp.bench import svm
from fwexp.testing import small_chains


@pytest.mark.slow
def test_all_that_is_measured_runs(capsys):
    measures = svm.measures_of(small_chains(20))
    assert len(measures) > 10
    svm.rounds(measures, "oracle pass, ocr2")
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line[:44].strip() for line in lines] == list(measures)
    assert all(float(number) > 0.0 for line in lines for number in line[44:].split()[1:])
