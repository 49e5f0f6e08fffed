"""Every act that a page offers is reachable over the API, or stands here with the reason why it is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.urls import get_resolver

from annotation.views.site.decorators import methods_of, patterns
from tests.annotation.api.unreached import NOT, REACHED

ALL = {str(one.name): one for _before, one in patterns(get_resolver())}


def acts() -> Iterator[str]:
    for name, pattern in ALL.items():
        if not name.startswith("api-") and "POST" in methods_of(pattern.callback):
            yield name


def test_every_act_of_a_page_is_in_one_of_the_tables() -> None:
    tables = (set(REACHED), set(NOT))
    assert set(acts()) == set().union(*tables)
    assert sum(map(len, tables)) == len(set().union(*tables))


def test_what_is_said_to_be_reached_is_there() -> None:
    assert {name for name in REACHED.values() if name not in ALL} == set()
    for name in set(REACHED.values()):
        view: Any = ALL[name].callback
        assert [one for one in ("post", "put", "patch", "delete") if hasattr(view.cls, one)], name


def test_every_reason_is_a_sentence() -> None:
    assert all(len(reason) > 10 for reason in NOT.values())
