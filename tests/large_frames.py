"""Room for a deep stack of calls, taken once: Python takes it in pieces of 16 kB, and gives each back when it is empty.

A loop whose calls cross the end of a piece makes the kernel map and clear memory at each call. Pages are rendered a
hundred calls deep, and a test adds forty: by the depth at which it began, the same page took 1 to 2.8 times its time,
and 832,926 such pieces were a quarter of the time of the tests of permissions. A piece is as large as the frame needs
that does not fit into the last one, and up to twice that: so one frame that asks for much leaves room to all that it
calls. What it does not use costs nothing. The server begins a request in a thread of its own, where few pages are
as unlucky: there it was tried and brought 2 to 10 %, and is not used.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

SLOTS = 15_500  # of 8 bytes: a piece of 256 kB, of which half is left. Source: push_chunk in CPython's Python/pystate.c

Called = TypeVar("Called", bound=Callable[..., Any])


def with_large_frame(function: Called) -> Called:
    """The same function, changed: its frame leaves 130 kB of stack to what it calls."""
    code = cast("FunctionType", function).__code__
    cast("FunctionType", function).__code__ = code.replace(co_stacksize=SLOTS)
    return function
