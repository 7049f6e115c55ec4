"""Images give way to a word about them."""

from __future__ import annotations

from compaction.rewrites import Evict, sized
from eventstore.records import Shown
from projections.context import build_context
from tests.compaction.rewrites.contexts import TOKENS
from tests.support.talk import image, result, text, user


def test_every_image_is_removed_and_the_text_beside_it_stays(story):
    story.says(user([text("look"), image()]), result(image(), "seen", image()))
    plan = Evict().plan(sized("s", build_context(story.log, "s").parts, TOKENS))
    assert plan == [
        Shown(target="e1", shown="[image/png removed]", block=1),
        Shown(target="e2", shown="[image/png removed]", block=0),
        Shown(target="e2", shown="[image/png removed]", block=2),
    ]
