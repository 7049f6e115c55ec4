from __future__ import annotations

import re

import msgspec

from cli.views.model import audit_view
from cli.views.page.build import sections_of
from cli.views.page.charts import Place, places
from cli.views.page.material import Material
from compaction import move_to, record_compaction
from eventstore.records import ModelChange
from tests.cli.report.reading import lines_in, material_of, target
from tests.support.measured import future_use, loss
from tests.support.talk import Story, assistant, user


def marked(material: Material) -> list[Place]:
    lines = lines_in(material)
    return places(material, lines, sections_of(material, lines), target)


def titles(story: Story, **where: str) -> list[str]:
    return [place.title for place in marked(material_of(story.log, **where))]


def test_a_replacement_tells_its_sizes(story: Story) -> None:
    story.says(user("x" * 400), user("x" * 40))
    record_compaction(story.writer, summary="x" * 20, first_kept="e2")
    (title,) = titles(story)
    assert re.findall(r"#?\d+", title) == ["1", "#3", "110", "15"]


def test_a_change_of_the_model_tells_which_is_next(story: Story) -> None:
    story.add(ModelChange(provider="p", model_id="n"))
    (title,) = titles(story)
    assert (title.startswith("#1: "), title.endswith(" p n")) == (True, True)


def test_an_entry_that_another_branch_leaves_is_marked(story: Story) -> None:
    story.says(user("a"), assistant("b"))
    move_to(story.writer, "e1")
    (title,) = titles(story)
    assert re.findall(r"#?\d+", title) == ["#1", "1"]


def test_what_is_not_on_the_path_is_not_marked(story: Story) -> None:
    story.says(user("a"))
    story.add(ModelChange(provider="p", model_id="n"))
    move_to(story.writer, "e1")
    (title,) = titles(story)
    assert re.findall(r"#?\d+", title) == ["#1", "1"]


def test_an_event_that_needed_what_was_lost_is_marked_once(story: Story) -> None:
    story.says(user("a"), user("b"))
    record_compaction(story.writer, summary="s", first_kept="e2")
    story.says(assistant("c"))
    material = material_of(story.log)
    lost = [loss(name, needed=4) for name in ("one", "two", "three", "four", "two")]
    (compaction,) = material.view.audit.compactions
    metrics = msgspec.structs.replace(compaction.metrics, future_use=future_use(0, 5, *lost))
    audit = msgspec.structs.replace(
        material.view.audit, compactions=[msgspec.structs.replace(compaction, metrics=metrics)]
    )
    found = marked(msgspec.structs.replace(material, view=audit_view(audit)))
    assert [(place.seq, place.kind, place.where) for place in found] == [
        (3, "compaction", "above"),
        (4, "need", "curve"),
    ]
    assert found[1].title.startswith("#4 ")
    assert re.search(r": one, two, three \D*1\b", found[1].title)


def test_places_stand_in_order_of_the_path(demo: Material) -> None:
    found = [place.seq for place in marked(demo)]
    assert found == sorted(found)
    assert set(found) <= demo.path
