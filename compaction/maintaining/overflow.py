"""What an error of a provider says of the length of a request."""

from __future__ import annotations

import re
from typing import Final

_TOO_LONG: Final = re.compile(
    r"prompt is too long|context[ _]length[ _]exceeded|maximum context length|context window|input is too long"
    r"|exceeds? (?:the )?(?:context|maximum) ?(?:limit|length|tokens)|too many (?:input )?tokens|request_too_large"
    r"|input token count .* exceeds",
    re.IGNORECASE,
)


def is_overflow(error: str) -> bool:
    """Whether an error says that the context is too long; what is only too much per minute is another thing."""
    return bool(_TOO_LONG.search(error)) and "rate limit" not in error.lower()
