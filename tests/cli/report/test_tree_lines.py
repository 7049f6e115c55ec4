from __future__ import annotations

from pathlib import Path

from cli.views.model import TreeLine
from cli.views.page.lines import tree_lines
from compaction import move_to
from eventstore import EventLog
from eventstore.records import Label
from tests.cli.report.reading import lines_in, material_of, target
from tests.support.talk import PiSession, Story, assistant, result, user


def drawn(story: Story, **where: str) -> list[TreeLine]:
    material = material_of(story.log, **where)
    return list(tree_lines(material, lines_in(material), target))


def seen(lines: list[TreeLine]) -> list[tuple[int, str, int]]:
    """Of each line its level, its event's number, and how many entries it stands for."""
    return [(line.level, f"{line.sign}{line.seq}", line.hidden) for line in lines]


def test_turns_stand_alone_and_what_is_between_them_is_counted(story: Story) -> None:
    story.says(user("a"), assistant("b"), result("c"), assistant("d"), user("e"), assistant("f"))
    lines = drawn(story)
    assert seen(lines) == [(0, "●1", 0), (0, "2", 3), (0, "●5", 0), (0, "·6", 0)]
    assert lines[1].text == "#2 to #4"


def test_a_run_of_one_names_that_one(story: Story) -> None:
    story.says(user("a"), assistant("b"), user("c"))
    assert drawn(story)[1].text == "#2"


def test_a_branch_off_the_path_is_indented_and_comes_before_the_path_goes_on(story: Story) -> None:
    story.says(user("a"), assistant("b"), user("c"), assistant("d"))
    move_to(story.writer, "e2")
    story.says(user("another way"))
    lines = drawn(story)
    assert seen(lines) == [
        (0, "●1", 0),
        (0, "·2", 0),
        (1, "●3", 0),
        (1, "·4", 0),
        (0, "↷5", 0),
        (0, "●6", 0),
    ]
    assert [line.is_aside for line in lines] == [False, False, True, True, False, False]


def test_the_leaf_is_marked_where_one_stands(story: Story) -> None:
    story.says(user("a"), user("b"))
    assert [line.is_leaf for line in drawn(story)] == [False, True]
    assert [line.is_leaf for line in drawn(story, leaf="e1")] == [True, False]


def test_a_labelled_entry_stands_alone_with_its_label(story: Story) -> None:
    story.says(user("a"), assistant("b"), assistant("c"))
    story.add(Label(target_id="e2", label="here"))
    assert [(line.seq, line.label) for line in drawn(story)][:2] == [(1, ""), (2, "here")]


def test_a_line_leads_where_it_is_told_and_a_run_to_its_first_entry(story: Story) -> None:
    story.says(user("a"), assistant("b"), assistant("c"), user("d"))
    material = material_of(story.log)
    lines = tree_lines(material, lines_in(material), lambda seq: f"r-{seq}")
    assert [line.target for line in lines] == ["r-1", "e-2", "r-4"]


def test_branches_off_branches_are_drawn_however_deep_they_are(store: EventLog, tmp_path: Path) -> None:
    session = PiSession()
    for number in range(1200):
        session.says(f"c{number}", user("on"))
    # Each of them has a younger sibling, and so is off the path of its parent.
    for number in reversed(range(1200)):
        session.says(f"s{number}", user("aside"), parent=f"c{number}")
    material = material_of(store, session.store_in(store, tmp_path))
    levels = [line.level for line in tree_lines(material, lines_in(material), target)]
    assert len(levels) == 2400
    assert max(levels) > 1000


def test_what_goes_on_after_a_compaction_is_counted_and_no_turn(story: Story) -> None:
    story.says(user("a"), assistant("b"), user("[Resuming] a"), assistant("c"), user("d"))
    assert seen(drawn(story)) == [(0, "●1", 0), (0, "2", 3), (0, "●5", 0)]
