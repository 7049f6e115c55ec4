"""Texts and tools from the files that options name."""

from __future__ import annotations

from io import BytesIO

import pytest

from cli.options import tools_of
from eventstore.errors import BadInputError


def file(content: bytes) -> BytesIO:
    given = BytesIO(content)
    given.name = "tools.json"
    return given


def test_definitions_come_as_they_are_written() -> None:
    written = b'[ {"name": "bash", "input_schema": {}} ]'
    assert tools_of(file(written)) == written


@pytest.mark.parametrize("content", [b"{}", b'["bash"]', b"[{}]", b"3", b"[{"])
def test_what_is_no_list_of_tools_is_told_with_its_file(content: bytes) -> None:
    with pytest.raises(BadInputError) as info:
        tools_of(file(content))
    assert info.value.source == "tools.json"
