"""Whose jobs a person sees and may stop, and what is shown of a result."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.jobs.handlers import JobRefused
from annotation.models import Job, User
from annotation.site.permissions import is_administrator, is_coordinator


def jobs_of(person: User) -> QuerySet[Job]:
    """Coordinators and administrators see every job, others their own."""
    jobs = Job.objects.select_related("created_by")
    return jobs if is_coordinator(person) or is_administrator(person) else jobs.filter(created_by=person)


def may_manage(person: User, job: Job) -> bool:
    return job.created_by_id == person.pk or is_coordinator(person)


def check_may_manage(person: User, job: Job) -> None:
    """Raises JobRefused for somebody who may look at the job and no more."""
    if not may_manage(person, job):
        sentence = _("Only who started a job, or a coordinator, can stop it or try it again.")
        raise JobRefused("not_yours", sentence, status=403)


def facts_of_result(job: Job) -> dict[str, Any]:
    """The plain values of the result: counts, names."""
    result = job.result or {}
    return {name: value for name, value in result.items() if name != "page" and not isinstance(value, list | dict)}


def refusals_of(job: Job) -> list[Any]:
    """The files or records that were not taken, each with its reason."""
    result = job.result or {}
    return result.get("refused") or result.get("errors") or []
