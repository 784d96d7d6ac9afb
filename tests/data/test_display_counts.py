import pytest

from fenchel.data.display.counts import counted


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 rows"), (1, "1 row"), (11, "11 rows"), (1204, "1,204 rows")]
)
def test_a_count_has_its_noun(count, words):
    assert counted(count, "row") == words
