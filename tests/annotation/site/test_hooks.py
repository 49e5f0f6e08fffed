"""Functions under names: each name once, in the order in which they came."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from annotation.site.hooks import Hooks


def one() -> int:
    return 1


def other() -> int:
    return 2


def test_a_name_is_taken_once() -> None:
    hooks: Hooks[Callable[[], int]] = Hooks()
    hooks.register("one", one)
    hooks.register("one", one)
    with pytest.raises(ValueError, match="one"):
        hooks.register("one", other)
    assert list(hooks) == [one]
    hooks.unregister("one")
    hooks.register("one", other)
    assert dict(hooks.items()) == {"one": other}


def test_they_come_in_the_order_of_registering() -> None:
    hooks: Hooks[Callable[[], int]] = Hooks()
    hooks.register("z", one)
    hooks.register("a", other)
    assert list(hooks) == [one, other]
