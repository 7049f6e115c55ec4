"""Images and files give way to a word about them."""

from __future__ import annotations

from compaction.rewrites import Evict
from compaction.sized_context import sized
from eventstore.records import TextReplacement
from projections.context.build import build_context
from tests.compaction.rewrites.contexts import TOKENS, why_nothing
from tests.support.talk import assistant, image, result, text, user


def test_every_image_is_removed_and_the_text_beside_it_stays(story):
    story.says(user([text("look"), image()]), result(image(), "seen", image()))
    plan = Evict().plan(sized("s", build_context(story.log, "s").parts, TOKENS))
    assert plan == [
        TextReplacement(target="e1", text="[image/png removed]", block=1),
        TextReplacement(target="e2", text="[image/png removed]", block=0),
        TextReplacement(target="e2", text="[image/png removed]", block=2),
    ]


def test_files_are_removed_with_the_images_for_both_make_a_request_too_large(story):
    story.says(user([text("read this"), {"type": "document", "source": {}}]))
    plan = Evict().plan(sized("s", build_context(story.log, "s").parts, TOKENS))
    assert plan == [TextReplacement(target="e1", text="[document removed]", block=1)]


def test_blocks_of_the_models_own_stay(story):
    story.says(assistant({"type": "redacted", "data": "x"}))
    assert Evict().plan(sized("s", build_context(story.log, "s").parts, TOKENS)) == []


def test_it_says_why_it_finds_nothing(story):
    story.says(user("look"))
    assert why_nothing(story, Evict())


def test_a_name_that_would_end_its_marker_is_encoded(story):
    story.says(user([{**image(), "mimeType": "a]\n[b"}]))
    (shown,) = Evict().plan(sized("s", build_context(story.log, "s").parts, TOKENS))
    assert shown.text == "[a%5D%0A%5Bb removed]"
