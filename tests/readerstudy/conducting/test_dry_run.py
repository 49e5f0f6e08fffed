"""The dry run: what a reader goes through, with nothing stored."""

from __future__ import annotations

from django.test import Client

from annotation.models import User
from readerstudy.models import ReaderStudy

ADDRESS = "/studies/trial/dry-run/"


def test_the_way_of_a_reader_stands_on_the_page(client: Client, draft: ReaderStudy, cora: User) -> None:
    client.force_login(cora)
    page = client.get(ADDRESS).content.decode()
    for words in ("You agree to take part.", "Choose one option.", "4 cases in all sets together"):
        assert words in page
