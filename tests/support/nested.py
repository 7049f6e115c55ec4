"""JSON values nested in all ways, with brackets in their texts."""

from __future__ import annotations

from hypothesis import strategies as st

NESTED = st.recursive(
    st.text(st.sampled_from('[]{}"\\a'), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=40,
)
