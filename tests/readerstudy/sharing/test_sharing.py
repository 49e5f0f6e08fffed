"""Results by a link: made by coordinators, open to whoever has it, showing nothing that is not to leave."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation.models import AuditEvent, User
from annotation.people.tokens import token_sha256
from readerstudy.enums import StudyState
from readerstudy.models import Analysis, ReaderStudy, ResultsLink
from readerstudy.results.looking import share_results
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import NOON, SECRETS
from tests.readerstudy.results.made import analysed_study, stored
from tests.readerstudy.studies import make_study

PAGES = ("shared-analysed", "shared-agreement", "shared-categories", "shared-times")
CLOSED = "This link does not work"

YES = {"confirmed": "yes"}


@pytest.fixture
def analysis(db: None) -> Analysis:
    found = analysed_study()
    ReaderStudy.objects.update(unblinded_at=NOON)
    found.study.refresh_from_db()
    return found


@pytest.fixture
def token(analysis: Analysis, cora: User) -> str:
    return share_results(analysis, days=7, note="", actor=cora, at=timezone.now()).token


def every_page(token: str) -> list[str]:
    figure = reverse("shared-figure", args=[token, "accuracy", "one", "svg"])
    return [*(reverse(name, args=[token]) for name in PAGES), figure]


def statuses(client: Client, token: str) -> set[int]:
    return {client.get(page).status_code for page in every_page(token)}


def share(client: Client, analysis: Analysis, **said: str) -> str:
    """The token of a link that was made on the page."""
    page = client.post(reverse("study-share", args=["trial", analysis.public_id]), {"days": "1", **said})
    found = re.search(r"/shared/([^/]+)/", page.content.decode())
    assert found
    return found[1]


def test_from_the_form_to_revoking(client: Client, analysis: Analysis, cora: User) -> None:
    client.force_login(cora)
    address = reverse("study-share", args=["trial", analysis.public_id])
    assert "No link was made" in client.get(address).content.decode()
    assert client.post(address, {"days": "365"}).status_code == 422
    token = share(client, analysis, note="<i>reviewers")
    link = ResultsLink.objects.get()
    assert link.token_sha256 == token_sha256(token)
    assert link.expires_at - link.created_at == timedelta(days=1)
    page = client.get(address).content.decode()
    assert "&lt;i&gt;reviewers" in page
    assert token not in page  # shown once
    assert "never" in page
    client.logout()
    assert statuses(client, token) == {200}
    client.force_login(cora)
    assert "never" not in client.get(address).content.decode()
    assert client.post(reverse("study-share-revoke", args=["trial", link.pk])).status_code == 200
    for _twice in range(2):
        client.post(reverse("study-share-revoke", args=["trial", link.pk]), YES)
    client.logout()
    assert statuses(client, token) == {404}
    acts = AuditEvent.objects.filter(act__startswith="results_link").values_list("act", flat=True)
    assert list(acts) == ["results_link.made", "results_link.first_used", "results_link.revoked"]
    client.force_login(cora)
    for _twice in range(2):
        client.post(reverse("study-share-restore", args=["trial", link.pk]))
    assert acts.filter(act="results_link.restored").count() == 1
    client.logout()
    assert statuses(client, token) == {200}
    assert not AuditEvent.objects.filter(facts__icontains=token).exists()
    assert "Times: UTC" in client.get(reverse("shared-analysed", args=[token])).content.decode()


def test_the_pages_lead_nowhere_else_and_are_kept_by_nobody(client: Client, token: str, cora: User) -> None:
    client.force_login(cora)  # even for somebody who is logged in
    for name in PAGES:
        response = client.get(reverse(name, args=[token]))
        page = response.content.decode()
        links = re.findall(r'<(?:a|form|div|img)\b[^>]*?(?:href|action|hx-get|src)="([^"]+)"', page)
        assert links
        assert not [one for one in links if not one.startswith((f"/shared/{token}/", "?", "#"))]
        assert '<meta name="robots" content="noindex' in page
        assert response["X-Robots-Tag"].startswith("noindex")
        assert response["Referrer-Policy"] == "no-referrer"
        assert "no-store" in response["Cache-Control"]
        assert "Cora" not in page


def test_nothing_of_a_case_leaves(client: Client, analysis: Analysis, cora: User) -> None:
    reason = "the key should be C"
    voided = {"kind": "case", "case": 4, "decided": "after_unblinding", "reason": reason}
    later = stored(analysis.study, json.loads(analysis.result) | {"excluded": [voided]})
    token = share_results(later, days=7, note="", actor=cora, at=timezone.now()).token
    secrets = [text for name, text in SECRETS.items() if name not in ("key", "difficulty", "category")]
    for name in PAGES:
        page = client.get(reverse(name, args=[token])).content.decode()
        assert not [text for text in (*secrets, reason, "I see it in case") if text in page]
    assert "Case 4" in client.get(reverse("shared-analysed", args=[token])).content.decode()
    for closed in ("cases/", "agreement/0/2/", "stands/", "share/"):
        assert client.get(f"/shared/{token}/{closed}").status_code == 404


def test_the_same_numbers_as_inside(client: Client, analysis: Analysis, token: str, cora: User) -> None:
    shared = {name: client.get(reverse(name, args=[token])).content.decode() for name in PAGES}
    client.force_login(cora)
    for name in PAGES:
        inside = client.get(reverse(name.replace("shared", "study"), args=["trial", analysis.public_id]))
        numbers = re.findall(r"\d+\.\d\d", inside.content.decode())
        assert numbers == re.findall(r"\d+\.\d\d", shared[name])


def test_expired_revoked_wrong_and_hidden_look_the_same(client: Client, analysis: Analysis, cora: User) -> None:
    made = [share_results(analysis, days=7, note="", actor=cora, at=timezone.now()) for _n in range(3)]
    ResultsLink.objects.filter(pk=made[0].link.pk).update(expires_at=NOON)
    ResultsLink.objects.filter(pk=made[1].link.pk).update(revoked_at=NOON)
    tokens = [made[0].token, made[1].token, "wrong"]
    found = [client.get(reverse("shared-analysed", args=[token])) for token in tokens]
    ReaderStudy.objects.update(state=StudyState.OPEN)
    found.append(client.get(reverse("shared-analysed", args=[made[2].token])))
    assert {one.status_code for one in found} == {404}
    bodies = {re.sub(r"X-CSRFToken[^}]*", "", one.content.decode()) for one in found}
    assert len(bodies) == 1
    assert CLOSED in bodies.pop()
    assert client.post(reverse("shared-analysed", args=["wrong"])).status_code == 405


def test_many_wrong_links_do_not_close_the_right_one(client: Client, token: str) -> None:
    """Colleagues behind one address would lock each other out; a token is too long to be guessed."""
    for number in range(settings.FAILURES_OF_ACCOUNT_THERE + 1):
        assert client.get(reverse("shared-analysed", args=[f"wrong{number}"])).status_code == 404
    assert statuses(client, token) == {200}


def test_a_use_is_noted_once_a_minute(
    client: Client, token: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.get(reverse("shared-analysed", args=[token]))
    for name in PAGES:
        with django_assert_num_queries(1):  # the link with its analysis and study
            client.get(reverse(name, args=[token]))


def test_nothing_is_shared_from_the_pages_of_another_study(client: Client, analysis: Analysis, cora: User) -> None:
    link = share_results(analysis, days=1, note="", actor=cora, at=timezone.now()).link
    make_study("Other", state=StudyState.CLOSED, unblinded_at=NOON)
    client.force_login(cora)
    assert client.post(reverse("study-share-revoke", args=["other", link.pk])).status_code == 404
    assert client.get(reverse("study-share", args=["other", analysis.public_id])).status_code == 404


def test_unseen_results_are_not_shared(db: None, cora: User) -> None:
    analysis = analysed_study()
    with pytest.raises(StudyRefused, match="not been looked at"):
        share_results(analysis, days=7, note="", actor=cora, at=timezone.now())
