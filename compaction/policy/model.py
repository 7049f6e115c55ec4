"""A policy: how a harness keeps its context small, as data."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from compaction.continuations import CONTINUATIONS
from compaction.cuts import AnyCut
from compaction.part import Count, PolicyPart, Positive
from compaction.prompts import PROMPT_SHAPES
from compaction.rewrites import AnyRewrite
from compaction.triggers import DEFAULT_RESERVE, AnyTrigger, Threshold
from compaction.validation import check_names, one_of
from projections.placements import PLACEMENTS
from projections.tokens import CounterName

Name = Annotated[str, msgspec.Meta(min_length=1, description="a name")]
"""A name, never empty."""

ModelName = Annotated[str, msgspec.Meta(min_length=1, description="the name of a model")]
"""A model that is to be asked."""

PlacementName = Annotated[str, msgspec.Meta(extra=one_of("placement", PLACEMENTS))]
"""The name of a placement: how a summary stands in a request."""

ContinuationName = Annotated[str, msgspec.Meta(extra=one_of("continuation", CONTINUATIONS))]
"""The name of a continuation: what follows an automatic compaction."""

ShapeName = Annotated[str, msgspec.Meta(extra=one_of("shape", PROMPT_SHAPES))]
"""The shape in which a summary is asked for."""

MessageSource = Literal["context", "log"]
"""The source of a summarizer's messages: as contexts show them, or as the log has them, without rewrites."""


class Prompting(PolicyPart, frozen=True, tag="prompting"):
    """Settings of prompts, with the names of templates, "" for those that a policy does without.

    `shape` says how a prompt holds the conversation, and `source` (in TOML `from`) where its messages are read: as the
    context shows them, or as the log has them, without the rewrites in effect. `reserve` is what the bounds of answers
    are shares of; `output` (if over 0) bounds them in its place. `window` is what the summarizer takes; a longer
    conversation is summarized in several steps. `summarizer` is who is asked, by its name, "" for the usual one;
    `models` are those to ask, each where the ones before it fail; none: the summarizer's own. Raises ValueError for a
    shape that there is not.
    """

    shape: ShapeName = "serialized"
    source: MessageSource = msgspec.field(default="context", name="from")
    template: str = "compaction"
    update: str = "compaction-update"
    turn_prefix: str = "turn-prefix"
    short: str = ""
    reserve: Positive = DEFAULT_RESERVE
    output: Count = 0
    window: Positive = 180_000
    summarizer: str = ""
    models: tuple[ModelName, ...] = ()

    def __post_init__(self) -> None:
        check_names(self)


class Restoring(PolicyPart, frozen=True, tag="restoring"):
    """Limits of what is shown again behind a summary: the newest whole reads of recently read files."""

    files: Count = 5
    tokens_a_file: Count = 5_000
    tokens: Count = 50_000


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parts by which a context is kept small.

    `trigger` says when, `rewrites` what is tried first, in order, without a model (`before_requests`: before
    every request, and not only when the trigger fires), `cut` what is kept, `prompting` how the summary is asked
    for, `placement` where it stands, `continuation` what follows, `restoring` what is shown again. Without a cut
    no summary is made. After a request was refused for its length, `recovery` stands in for `cut` and
    `recovery_placement` for `placement` (None: as ever). `memory` is the type of `custom` entries that hold notes
    on the session (`text`): the newest since the compaction before is taken for a summary, and no model is asked.
    `counter` estimates tokens. Raises ValueError for a placement or a continuation that there is not.
    """

    name: Name
    description: str = ""
    counter: CounterName = "utf16/4"
    trigger: AnyTrigger = Threshold()
    rewrites: tuple[AnyRewrite, ...] = ()
    before_requests: bool = False
    cut: AnyCut | None = None
    recovery: AnyCut | None = None
    prompting: Prompting = Prompting()
    placement: PlacementName = "summary"
    recovery_placement: PlacementName | None = None
    continuation: ContinuationName = "none"
    restoring: Restoring | None = None
    memory: str = ""

    @property
    def summarizes(self) -> bool:
        """True if it makes summaries."""
        return self.cut is not None or self.recovery is not None

    def __post_init__(self) -> None:
        check_names(self)
