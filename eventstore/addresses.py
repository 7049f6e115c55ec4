"""Tell addresses of databases from folders, and show them without their passwords."""

from __future__ import annotations

import os
import re
from typing import Final

from eventstore.errors import StoreError

_POSTGRES: Final = ("postgresql://", "postgres://")
_ADDRESS: Final = r"[a-z][a-z0-9+.-]*://|postgres(ql)?:|.*password\s*="
"""Matches addresses of any kind, even misspelled ones, so that none is taken for a folder."""
_SECRET: Final = r"(password\s*=).*"  # noqa: S105  an expression
"""Matches to the end: an & that is not percent-encoded may be of the password."""
_HOST: Final = r"(\[[^]/?@]*\]|[^][:/?@,]*)(:\d*)?"
_WITHOUT_PASSWORD: Final = (
    rf"[^:/]*://([^:/?@]*@)?{_HOST}(,{_HOST})*(/[^?@]*)?"
    r"(\?(user|host|hostaddr|port|dbname|(ssl)?password|passfile|service|options|application_name|"
    r"ssl\w+|connect_timeout|target_session_attrs)=.*)?"
)
"""Matches addresses whose user has no password; a parameter may have an unescaped @."""
_USER: Final = r"\A([^:]*:[^:]*:).*(?=@)"
_FLAGS: Final = re.IGNORECASE | re.DOTALL


def _is_address(store: str) -> bool:
    # To compile the expression takes a tenth of what opening a store does, and few stores have an address.
    return (":" in store or "=" in store) and re.match(_ADDRESS, store, _FLAGS) is not None


def is_postgres(store: str | os.PathLike[str]) -> bool:
    """Return True if a store is named by an address of PostgreSQL, False for a folder.

    Raises StoreError for any other address.
    """
    if not isinstance(store, str) or not _is_address(store):
        return False
    if not store.startswith(_POSTGRES):
        remedy = "name a folder, or an address that begins with postgresql://"
        raise StoreError(without_password(store), "is not the address of a store", remedy)
    if store.partition("://")[2].partition("?")[0].count("@") > 1:
        # What follows the first would be taken for a host, which the server's error would name.
        raise StoreError(without_password(store), "its password has an @ as it is", "write it as %40")
    return True


def without_password(store: str) -> str:
    """Return an address without its password, even one not percent-encoded; or the folder."""
    if not _is_address(store):
        return store
    store = re.sub(_SECRET, r"\1…", store, flags=_FLAGS)
    if re.fullmatch(_WITHOUT_PASSWORD, store, _FLAGS):
        return store
    # A password that is not percent-encoded may have any @ but the last, and even what looks like parameters.
    return re.sub(_USER, r"\1…", store, flags=_FLAGS)
