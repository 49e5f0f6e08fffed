"""A case page is light: everything but the images, as it travels."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from annotation.models import Image, User
from tests.annotation.review.cases import assignments_of, make_round
from tests.annotation.review.pixels import give_pixels

MOST_BYTES = 120_000


@pytest.mark.django_db
def test_a_case_page_without_its_images_is_under_120_kb(client: Client, rita: User) -> None:
    review_round = make_round(rita)
    for image in Image.objects.all():
        give_pixels(image, seed=1)
    client.force_login(rita)
    page = client.get(reverse("review-case", args=[assignments_of(rita, review_round)[0].public_id])).content
    named = sorted(set(re.findall(r'"/static/([^"]+)"', page.decode())))
    assert "annotation/review/case.js" in named
    files = [finders.find(name) for name in named]
    assert all(files)
    compressed = sum(len(gzip.compress(Path(file).read_bytes())) for file in files if isinstance(file, str))
    assert len(page) + compressed < MOST_BYTES
