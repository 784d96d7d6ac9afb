"""scikit-learn's own tests with our classes in its place: a part of them here, all if asked."""

from __future__ import annotations

import pytest
from conformance.listing import KINDS, Group, Result, judge, read
from conformance.running import FILES, QUICK, run, version_fault

FAULT = version_fault()
installed = pytest.mark.skipif(FAULT is not None, reason=str(FAULT))


def told(verdict) -> str:
    lines = [f"{failure.test}: {failure.message}" for failure in verdict.failures]
    return "\n".join([*lines, *verdict.stale])


@installed
@pytest.mark.slow
def test_a_part_of_scikit_learns_tests():
    verdict = judge(run(QUICK, jobs=1), read(), complete=False)
    assert not verdict.failures and not verdict.stale, told(verdict)
    assert verdict.total.passed > 300 and verdict.total.share > 0.96


@installed
@pytest.mark.exhaustive
def test_all_of_scikit_learns_tests():
    verdict = judge(run(FILES), read(), complete=True)
    assert not verdict.failures and not verdict.stale, told(verdict)
    assert verdict.total.share >= 0.98


def test_every_entry_says_why():
    for group in read():
        assert len(group.reason) > 15 and group.kind in KINDS
        for entry in group.tests:
            file, _, name = entry.partition("::")
            assert file in FILES and name.startswith("test_")


def result(test, outcome, ours=True):
    return Result(test, outcome, ours, 0.0, "")


def test_what_the_list_names_and_what_is_stale():
    groups = [
        Group("private", "a reason", ("f.py::test_a", "f.py::test_b[x-*]", "f.py::test_gone")),
        Group("other", "the last bits", ("f.py::test_c",), rounding=True),
    ]
    results = [
        result("f.py::test_a[1]", "failed"),
        result("f.py::test_a[2]", "passed"),
        result("f.py::test_b[x-1]", "failed"),
        result("f.py::test_b[y-1]", "failed"),
        result("f.py::test_c", "passed"),
        result("f.py::test_d", "passed", ours=False),
        result("f.py::test_e", "skipped"),
        result("f.py::test_ab", "passed"),
    ]
    verdict = judge(results, groups, complete=True)
    assert [failure.test for failure in verdict.failures] == ["f.py::test_b[y-1]"]
    assert verdict.stale == [
        "f.py::test_a names f.py::test_a[2], which passes",
        "f.py::test_gone names no test",
    ]
    total = verdict.total
    assert (total.passed, total.failed, total.private, total.other) == (3, 1, 2, 0)
    assert (total.skipped, total.foreign) == (1, 1)
    assert total.share == 3 / 4 and total.strict == 3 / 6
    assert judge(results, groups, complete=False).stale == verdict.stale[:1]


def test_a_list_that_says_too_little_is_refused(tmp_path):
    for text, message in (
        ("kind = 'mood'\nreason = 'because'\ntests = ['a']", "is none of"),
        ("kind = 'other'\nreason = ''\ntests = ['a']", "needs a reason"),
        ("kind = 'other'\nreason = 'because'\ntests = []", "needs a reason and tests"),
    ):
        (tmp_path / "list.toml").write_text(f"[[group]]\n{text}\n")
        with pytest.raises(ValueError, match=message):
            read(tmp_path / "list.toml")
