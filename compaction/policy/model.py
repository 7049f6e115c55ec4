"""Define a policy: data that says how a harness keeps its context small."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from compaction.continuations import CONTINUATIONS
from compaction.cuts import AnyCut, KeepRecent
from compaction.part import Count, PolicyPart, Positive
from compaction.prompts import PROMPT_SHAPES
from compaction.rewrites import LAYERS, AnyRewrite
from compaction.triggers import DEFAULT_RESERVE, AnyTrigger, Threshold
from compaction.validation import check_known_names, one_of
from projections.placements import PLACEMENTS
from projections.tokens import CounterName

Name = Annotated[str, msgspec.Meta(min_length=1, description="a name")]
"""A nonempty name."""

ModelName = Annotated[str, msgspec.Meta(min_length=1, description="the name of a model")]
"""The name of a model to ask."""

PlacementName = Annotated[str, msgspec.Meta(extra=one_of("placement", PLACEMENTS))]
"""The name of a placement: the place of a summary in a request."""

ContinuationName = Annotated[str, msgspec.Meta(extra=one_of("continuation", CONTINUATIONS))]
"""The name of a continuation, which follows an automatic compaction."""

ShapeName = Annotated[str, msgspec.Meta(extra=one_of("shape", PROMPT_SHAPES))]
"""The name of a prompt shape."""

MessageSource = Literal["context", "log"]
"""The messages that a summarizer reads: as the context shows them, or as stored."""


class Prompting(PolicyPart, frozen=True, tag="prompting"):
    """Settings of prompts; a template's name is "" if the policy does not use it.

    `shape` is the shape of the prompt. `source` (in TOML `from`) chooses messages as the context shows them,
    or as stored, without rewrites. Answers are limited to shares of `reserve`, or to `output` if that is over
    0. `window` is the summarizer's window; a longer conversation is summarized in several steps. `summarizer`
    is a name, "" for the default; `models` are tried in order, none means the summarizer's own. Raises
    ValueError for an unknown shape.
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
        check_known_names(self)


class Restoring(PolicyPart, frozen=True, tag="restoring"):
    """Limits of what is shown again after a summary: recently read files."""

    files: Count = 5
    tokens_a_file: Count = 5_000
    tokens: Count = 50_000


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parts that keep a context small.

    `trigger` decides when to compact. `rewrites` are tried first, in order, without a model; with
    `before_requests`, before every request. `cut` decides what is kept, None for no summaries. `prompting` is
    how to ask for the summary, `placement` its place in a request, `continuation` what follows, `restoring`
    what is shown again. After a request was refused for its length, `recovery` overrides `cut` and
    `recovery_placement` overrides `placement`, unless they are None. `memory` is the type of `custom` entries
    with notes on the session (`text`): the newest since the last compaction replaces the summary. `counter`
    estimates tokens. Raises ValueError for an unknown placement or continuation, and for layers of rewrites
    in another order than offload, snip, micro.
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

    def keeping(self, tokens: int) -> Policy:
        """Return this policy with another number of recent tokens to keep; itself without a cut."""
        if self.cut is None:
            return self
        return msgspec.structs.replace(self, cut=self.cut.keeping(tokens) or KeepRecent(tokens=tokens))

    @property
    def summarizes(self) -> bool:
        """True if the policy makes summaries."""
        return self.cut is not None or self.recovery is not None

    def __post_init__(self) -> None:
        check_known_names(self)
        layers = [part for part in self.rewrites if isinstance(part, LAYERS)]
        if layers != sorted(layers, key=lambda part: LAYERS.index(type(part))):
            order = ", ".join(str(part.__struct_config__.tag) for part in layers)
            message = f"`rewrites` are in the order {order}, which has to be offload, snip, micro"
            raise ValueError(message)
