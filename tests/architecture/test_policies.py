"""Every address says who may open it."""

from __future__ import annotations

from django.urls import get_resolver

from annotation.enums import Role
from annotation.views.site import errors
from annotation.views.site.decorators import patterns

POLICIES = {"anyone", "person"}
OPEN = {  # what people see who are not logged in
    "login",
    "account_login",  # the same
    "mfa_authenticate",
    "mfa_login_webauthn",
    "provider-login",
    "provider-answer",
    "logout",
    "password-reset",
    "password-reset-sent",
    "password-reset-confirm",
    "invitation",
    "study-invitation",
    "shared-analysed",
    "shared-agreement",
    "shared-categories",
    "shared-figure",
    "shared-times",
    "healthz",
}


ALL = [pattern for _before, pattern in patterns(get_resolver())]


def test_every_address_has_a_policy_and_a_name() -> None:
    for pattern in ALL:
        assert pattern.name, f"{pattern.pattern} has no name"
        policy = getattr(pattern.callback, "policy", None)
        assert policy is not None, f"the view of {pattern.name} carries none of annotation.views.site.decorators"
        roles = policy.removeprefix("role:").split(",") if policy.startswith("role:") else []
        assert policy in POLICIES or (roles and set(roles) <= set(Role.values())), pattern.name


def test_few_pages_are_open_to_anyone() -> None:
    found = {p.name for p in ALL if getattr(p.callback, "policy", "") == "anyone"}
    assert found == OPEN


def test_names_are_given_once() -> None:
    names = [p.name for p in ALL]
    assert len(names) == len(set(names))


def test_error_pages_are_open() -> None:
    views = (
        errors.bad_request,
        errors.forbidden,
        errors.not_found,
        errors.server_error,
        errors.outage_answer,
        errors.refusal_answer,
        errors.csrf_failure,
    )
    assert {getattr(view, "policy", "") for view in views} == {"anyone"}


def test_the_admin_of_django_is_off() -> None:
    assert not [p for p in ALL if "admin" in str(p.pattern) and "administrator" not in str(p.pattern)]
