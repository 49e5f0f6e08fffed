from __future__ import annotations

from django.apps import AppConfig


class ReaderstudyConfig(AppConfig):
    name = "readerstudy"
    verbose_name = "Reader studies"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Tell annotation, which does not know this app, what it must know."""
        from django.utils.translation import gettext_lazy as _

        from annotation.audit.acts_in_words import register_acts
        from annotation.bin import deleting
        from annotation.demonstration import registry
        from annotation.discussion.history import histories
        from annotation.jobs.handlers import register_handler
        from annotation.jobs.queueing import register_sweep
        from annotation.leaving.open_work import works
        from annotation.leaving.person_data import parts
        from annotation.leaving.removing import forgetting, obstacles
        from annotation.model_calls.call_batches import completed
        from annotation.people.accounts import parts as parts_of_people
        from annotation.people.event_log import readings_under_way, scopes
        from annotation.people.event_things import register_things
        from annotation.people.invitations import register_kind
        from annotation.people.revived import openers
        from annotation.people.roles import conflict_rules
        from annotation.people.tokens import place_rules
        from annotation.questionbank.filters import register_filter
        from annotation.questionbank.keeping import register_use
        from annotation.site import hooks
        from annotation.validators.difficulty_ratings import readers_right
        from readerstudy.comparison import comparison_job
        from readerstudy.conducting.lifecycle import KIND, use_of_bank
        from readerstudy.demonstration.accounts import ACCOUNTS
        from readerstudy.design.conflicts import readers_do_not_review
        from readerstudy.enrolment import inviting, joining
        from readerstudy.enrolment.reader_eligibility import readers_look_nothing_up
        from readerstudy.enrolment.reader_status import waiting_studies
        from readerstudy.enrolment.removed_accounts import data_of_reader, forget_reader, readings_to_end
        from readerstudy.figures.figure_files import forget_named
        from readerstudy.model_runs.publishing import KIND as PUBLISH
        from readerstudy.model_runs.publishing import publish_later
        from readerstudy.model_runs.run_access import read_of_bank
        from readerstudy.models import ReaderStudy
        from readerstudy.predictions.eligibility import submitters_do_not_judge, submitters_review_nothing
        from readerstudy.predictions.listing import models_of_submitter, runs_on_bank
        from readerstudy.predictions.uploads import CHECK, STORE
        from readerstudy.reading.showing import open_studies_with, shows_images, shows_to_coordinators
        from readerstudy.report.report_job import KIND as REPORT
        from readerstudy.sharing.linking import SHARED
        from readerstudy.study.acts_in_words import STUDY_ACTS, study_things
        from readerstudy.study.overview import studies_under_way
        from readerstudy.study.permissions import (
            events_of_own_studies,
            parts_in_studies,
            reads_under_way,
            token_places,
        )
        from readerstudy.unblinding.failed_questions import FAILED
        from readerstudy.unblinding.question_history import events_of_studies
        from readerstudy.unblinding.readers_right import readers_right_on

        register_acts(STUDY_ACTS)
        obstacles.register("studies", readings_to_end)
        forgetting.register("studies", forget_reader)
        forgetting.register("figures", forget_named)
        parts.register("studies", data_of_reader)
        register_things(**study_things())
        readings_under_way.register("studies", reads_under_way)
        scopes.register("studies", events_of_own_studies)
        register_filter(FAILED)
        register_use("study", use_of_bank)
        register_use("predictions", runs_on_bank)
        registry.register_accounts(*ACCOUNTS)
        registry.register_part("readerstudy.demonstration.building.add_studies")
        registry.register_part("readerstudy.demonstration.models_at_work.add_models_at_work")
        deleting.register_archived(ReaderStudy, "study")
        acts = "readerstudy.conducting.lifecycle"
        hide, show, purge, effects = (f"{acts}.{act}_study" for act in ("hide", "show", "purge", "consequences_of"))
        may = "readerstudy.study.permissions.may_coordinate_study"
        deleting.register_kind(
            "study", deleting.BinKind(ReaderStudy, _("draft of a reader study"), hide, show, purge, effects, may)
        )
        hooks.question_rules.register("readers", readers_do_not_review)
        hooks.question_rules.register("submitters", submitters_review_nothing)
        conflict_rules.register("readers", readers_look_nothing_up)
        conflict_rules.register("submitters", submitters_do_not_judge)
        place_rules.register("study", token_places)
        register_kind(inviting.KIND, joining.READERS)
        openers.register("links to results", SHARED)
        parts_of_people.register("studies", parts_in_studies)
        hooks.bank_readings.register("studies", read_of_bank)
        hooks.show_rules.register("readings", shows_images)
        hooks.show_rules.register("coordinators of studies", shows_to_coordinators)
        hooks.image_uses.register("studies", open_studies_with)
        register_handler(CHECK, "readerstudy.predictions.uploads.check_predictions")
        register_handler(STORE, "readerstudy.predictions.uploads.store_predictions")
        register_handler(KIND, "readerstudy.conducting.lifecycle.run_analysis")
        register_handler(comparison_job.KIND, "readerstudy.comparison.comparison_job.run_comparison")
        register_handler(comparison_job.REPEATABILITY, "readerstudy.comparison.repeating.run_repeatability")
        register_handler(comparison_job.VARIANTS, "readerstudy.comparison.variants.run_variant_tables")
        register_handler(REPORT, "readerstudy.report.report_job.run_report")
        completed.register("model runs", publish_later)
        register_handler(PUBLISH, "readerstudy.model_runs.publishing.run_publishing")
        register_sweep("readerstudy.reading.expiring.sweep_readings")
        register_sweep("readerstudy.monitoring.unfinished.sweep_reminders")
        histories.register("studies", events_of_studies)
        readers_right.register("studies", readers_right_on)
        works.register("readers", waiting_studies)
        works.register("studies", studies_under_way)
        works.register("models", models_of_submitter)
