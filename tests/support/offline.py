"""Forbid a process to open sockets, by a filter in the kernel: native code cannot go around it."""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from typing import Final

import pytest

_SOCKET: Final = {"x86_64": 41, "aarch64": 198}
"""The number of the system call, by machine."""
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_KILL_PROCESS, _ALLOW = 0x80000000, 0x7FFF0000

needs_filter = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in _SOCKET,
    reason="the filter is one of Linux",
)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def refuse_sockets() -> None:
    """End this process with SIGSYS if it opens a socket from now on, in whatever thread or program."""
    # Each step: code, steps to skip if true, if false, value. The call's number is at offset 0.
    steps = (
        (_LOAD, 0, 0, 0),
        (_EQUAL, 0, 1, _SOCKET[platform.machine()]),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_RETURN, 0, 0, _ALLOW),
    )
    program = _Program(len(steps), b"".join(struct.pack("=HBBI", *each) for each in steps))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter")
