from __future__ import annotations

from django.apps import AppConfig


class ReaderstudyConfig(AppConfig):
    name = "readerstudy"
    verbose_name = "Reader studies"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Tell annotation, which does not know this app, what it must know."""
        from django.utils.translation import gettext_lazy as _

        from annotation.bin import archiving, deleting
        from annotation.demonstration import accounts, parts
        from annotation.jobs.handlers import register_handler
        from annotation.jobs.sweeping import register_sweep
        from annotation.people import role_conflicts, rosters
        from annotation.people.waiting import works
        from annotation.questionbank.keeping import register_use
        from annotation.review import diagram
        from annotation.site import conflicts, showings
        from readerstudy.comparison import comparison_job
        from readerstudy.conducting.diagrams import place_states, study_states
        from readerstudy.conducting.lifecycle import KIND, use_of_bank
        from readerstudy.demonstration.building import ACCOUNTS
        from readerstudy.design.conflicts import readers_do_not_review
        from readerstudy.enrolment.reader_eligibility import readers_look_nothing_up
        from readerstudy.enrolment.reader_status import waiting_studies
        from readerstudy.models import ReaderStudy
        from readerstudy.predictions.eligibility import submitters_do_not_judge, submitters_review_nothing
        from readerstudy.predictions.listing import models_of_submitter, runs_on_bank
        from readerstudy.predictions.uploads import CHECK, STORE
        from readerstudy.reading.showing import open_studies_with, shows_images, shows_to_coordinators
        from readerstudy.report.report_job import KIND as REPORT
        from readerstudy.study.overview import studies_under_way
        from readerstudy.study.permissions import parts_in_studies

        diagram.register("study", study_states)
        diagram.register("place", place_states)
        register_use("study", use_of_bank)
        register_use("predictions", runs_on_bank)
        accounts.register(*ACCOUNTS)
        parts.register("readerstudy.demonstration.building.add_studies")
        archiving.register(ReaderStudy, "study")
        acts = "readerstudy.conducting.lifecycle"
        hide, show, purge, effects = (f"{acts}.{act}_study" for act in ("hide", "show", "purge", "consequences_of"))
        may = "readerstudy.study.permissions.may_coordinate_study"
        deleting.register(
            "study", deleting.BinKind(ReaderStudy, _("draft of a reader study"), hide, show, purge, effects, may)
        )
        conflicts.rules.register("readers", readers_do_not_review)
        conflicts.rules.register("submitters", submitters_review_nothing)
        role_conflicts.rules.register("readers", readers_look_nothing_up)
        role_conflicts.rules.register("submitters", submitters_do_not_judge)
        rosters.parts.register("studies", parts_in_studies)
        showings.rules.register("readings", shows_images)
        showings.rules.register("coordinators of studies", shows_to_coordinators)
        showings.uses.register("studies", open_studies_with)
        register_handler(CHECK, "readerstudy.predictions.uploads.check_predictions")
        register_handler(STORE, "readerstudy.predictions.uploads.store_predictions")
        register_handler(KIND, "readerstudy.conducting.lifecycle.run_analysis")
        register_handler(comparison_job.KIND, "readerstudy.comparison.comparison_job.run_comparison")
        register_handler(comparison_job.REPEATABILITY, "readerstudy.comparison.repeating.run_repeatability")
        register_handler(REPORT, "readerstudy.report.report_job.run_report")
        register_sweep("readerstudy.reading.expiring.sweep_readings")
        register_sweep("readerstudy.monitoring.unfinished.sweep_reminders")
        works.register("readers", waiting_studies)
        works.register("studies", studies_under_way)
        works.register("models", models_of_submitter)
