from __future__ import annotations

import pytest
from pytest_django import DjangoDbBlocker

from tests.readerstudy.blinding.session import Recording, record
from tests.readerstudy.blinding.truth import ONE, OTHER


@pytest.fixture(scope="module", autouse=True)
def _refusals_are_not_logged(no_log: None) -> None:
    pass


@pytest.fixture(scope="module")
def recordings(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Recording, Recording]:
    """The whole session of forty cases, once in each world."""
    folder = tmp_path_factory.mktemp("worlds")
    with django_db_blocker.unblock():
        return record(ONE, folder), record(OTHER, folder)
