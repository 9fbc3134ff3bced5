"""The events about new autorun files: each file is named, in sentences that fit one line."""

from agiraph.tools.sandbox.input_news import MOST_NAMED, NAMES_LENGTH, events_data, note
from agiraph.tools.sandbox.survey import FoundAutorun


def found(count: int) -> list[FoundAutorun]:
    return [FoundAutorun(f"{'deep/' * 8}{n}/.envrc", "the shell", n) for n in range(count)]


def test_each_new_file_is_named_among_many_decoys() -> None:
    events = events_data("/work", found(59))
    assert [path for data in events for path in data["paths"]] == [one.path for one in found(59)]
    assert [mark for data in events for mark in data["marks"]] == [one.mark for one in found(59)]
    assert all(sum(map(len, data["paths"])) <= NAMES_LENGTH for data in events)
    assert {data["more"] for data in events} == {None}


def test_files_without_a_name_are_counted() -> None:
    events = events_data("/work", found(MOST_NAMED + 7))
    assert [data["more"] for data in events] == [None] * (len(events) - 1) + [7]


def test_long_path_has_its_own_event() -> None:
    long = FoundAutorun(f"{'x' * 4000}/.git", "git", 1)
    assert [len(data["paths"]) for data in events_data("/work", [*found(1), long])] == [1, 1]


def test_the_model_reads_a_bounded_list() -> None:
    assert " and 39 more." in note(found(59))
