from __future__ import annotations

from eventstore.paths import SnapshotCache


def test_a_result_is_made_once_a_key() -> None:
    memo: SnapshotCache[int] = SnapshotCache()
    made: list[int] = []
    results = [memo.get("key", lambda: made.append(1) or len(made)) for _ in range(3)]
    assert results == [1, 1, 1]


def test_keys_do_not_share_results() -> None:
    memo: SnapshotCache[str] = SnapshotCache()
    assert [memo.get(key, lambda key=key: key.upper()) for key in "aba"] == ["A", "B", "A"]


def test_none_is_a_result_too() -> None:
    memo: SnapshotCache[None] = SnapshotCache()
    assert memo.get("key", lambda: None) is None
    assert memo.get("key", lambda: 1) is None  # type: ignore[arg-type,return-value]


def test_it_holds_a_bounded_number_of_results() -> None:
    memo, most = SnapshotCache[int](), 1024
    for number in range(5000):
        memo.get(number, lambda number=number: number)
        assert len(memo._kept) == number + 1 or (number >= most and len(memo._kept) <= most)
