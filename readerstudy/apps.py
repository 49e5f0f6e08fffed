from __future__ import annotations

from annotation.contributions import BackgroundWork, ContributingApp, Contributions


class ReaderstudyConfig(ContributingApp):
    name = "readerstudy"
    default = True
    verbose_name = "Reader studies"
    default_auto_field = "django.db.models.BigAutoField"

    def contributions(self) -> Contributions:
        """What annotation, which does not know this app, must know."""
        from django.utils.translation import gettext_lazy as _

        from annotation.audit.deleting import BinKind
        from annotation.demonstration.registry import Account
        from annotation.enums import Role
        from annotation.models.people import TokenScope
        from readerstudy.conducting import lifecycle
        from readerstudy.design.conflicts import readers_do_not_review
        from readerstudy.enrolment import inviting, joining
        from readerstudy.enrolment.inviting import readers_look_nothing_up
        from readerstudy.enrolment.participation import data_of_reader, forget_reader, readings_to_end
        from readerstudy.enrolment.reader_status import waiting_studies
        from readerstudy.leaderboard import teams
        from readerstudy.leaderboard.benchmarks import asks_bank, keeps_private
        from readerstudy.leaderboard.home import leaderboards_of_submitter, leaderboards_under_way
        from readerstudy.model_runs.next_steps import runs_looked_after
        from readerstudy.model_runs.planning import read_of_bank
        from readerstudy.model_runs.publishing import publish_later
        from readerstudy.models import ReaderStudy
        from readerstudy.predictions.entries import submitters_do_not_judge, submitters_review_nothing
        from readerstudy.predictions.failed_questions import FAILED
        from readerstudy.predictions.listing import models_of_submitter, runs_on_bank
        from readerstudy.predictions.looks import events_of_studies, readers_right_on, right_without_images
        from readerstudy.reading.showing import open_studies_with, shows_images, shows_to_coordinators
        from readerstudy.results.looking import SHARED, forget_named
        from readerstudy.study import permissions
        from readerstudy.study.acts_in_words import STUDY_ACTS, study_things
        from readerstudy.study.hidden_images import note_hidden_image, note_left_image
        from readerstudy.study.overview import studies_under_way

        draft = BinKind(
            ReaderStudy,
            _("draft of a reader study"),
            lifecycle.hide_study,
            lifecycle.show_study,
            lifecycle.purge_study,
            lifecycle.consequences_of_study,
            permissions.may_coordinate_study,
        )
        return Contributions(
            acts=STUDY_ACTS,
            things=study_things(),
            bin_kinds={"study": draft},
            archived={ReaderStudy: "study"},
            question_rules=(readers_do_not_review, submitters_review_nothing),
            role_rules=(readers_look_nothing_up, submitters_do_not_judge),
            person_parts=(permissions.parts_in_studies,),
            reads_blind=(permissions.reads_under_way,),
            event_scopes=(permissions.events_of_own_studies,),
            token_places={TokenScope.STUDY: permissions.token_places, TokenScope.TEAM: teams.token_places},
            openers={"links to results": SHARED},
            invitation_kinds={inviting.KIND: joining.READERS},
            work=(
                models_of_submitter,
                leaderboards_of_submitter,
                waiting_studies,
                studies_under_way,
                runs_looked_after,
                leaderboards_under_way,
            ),
            person_tables=(data_of_reader, teams.data_of_member),
            removal_obstacles=(readings_to_end,),
            forgetting=(forget_reader, forget_named),
            bank_filters=(FAILED,),
            bank_uses=(lifecycle.use_of_bank, runs_on_bank, asks_bank),
            bank_secrets=(keeps_private,),
            bank_readings=(read_of_bank,),
            question_events=(events_of_studies,),
            readers_right=(readers_right_on,),
            without_images=(right_without_images,),
            show_rules=(shows_images, shows_to_coordinators),
            image_hidden=(note_hidden_image,),
            image_left=(note_left_image,),
            image_uses=(open_studies_with,),
            completed=(publish_later,),
            accounts=(
                Account("Rosa Adeyemi", "rosa@demo.example", "demo-rosa-2026", Role.READER),
                Account("Robin Haas", "robin@demo.example", "demo-robin-2026", Role.READER),
                Account("Clemens Otieno", "clemens@demo.example", "demo-clemens-2026", Role.COORDINATOR),
                Account("Maren Solberg", "maren@demo.example", "demo-maren-2026", Role.MODEL_SUBMITTER),
            ),
        )

    def background_work(self) -> BackgroundWork:
        from annotation.jobs.queueing import JobHandler
        from readerstudy.analysis.comparing_models import run_repeatability
        from readerstudy.analysis.storing import REPEATABILITY, VARIANTS
        from readerstudy.conducting import lifecycle
        from readerstudy.demonstration.finished import add_studies
        from readerstudy.demonstration.models_at_work import add_models_at_work
        from readerstudy.demonstration.private_test import add_leaderboard
        from readerstudy.demonstration.prompt_iterations import add_prompt_iterations
        from readerstudy.exports import report_job
        from readerstudy.leaderboard import benchmarks, editions, submissions, versions
        from readerstudy.model_runs import publishing
        from readerstudy.predictions import uploads
        from readerstudy.results import comparison_job
        from readerstudy.results.variants import run_variant_tables

        return BackgroundWork(
            jobs=(
                JobHandler(uploads.CHECK, uploads.check_predictions),
                JobHandler(uploads.STORE, uploads.store_predictions),
                JobHandler(lifecycle.KIND, lifecycle.run_analysis),
                JobHandler(comparison_job.KIND, comparison_job.run_comparison),
                JobHandler(REPEATABILITY, run_repeatability),
                JobHandler(VARIANTS, run_variant_tables),
                JobHandler(report_job.KIND, report_job.run_report),
                JobHandler(publishing.KIND, publishing.run_publishing),
                JobHandler(benchmarks.PACK, versions.pack_inputs),
                JobHandler(submissions.CHECK, submissions.check_submission),
                JobHandler(editions.SCORE, editions.run_scoring),
                JobHandler(editions.PUBLISH, editions.run_publishing),
                JobHandler(editions.VERIFY, editions.run_verifying),
            ),
            demonstration=(add_studies, add_prompt_iterations, add_models_at_work, add_leaderboard),
        )

    def waiting_work(self) -> BackgroundWork:
        from readerstudy.enrolment.reader_status import sweep_reminders
        from readerstudy.leaderboard.editions import sweep_boards
        from readerstudy.reading.case_opening import sweep_readings

        return BackgroundWork(sweeps=(sweep_readings, sweep_reminders, sweep_boards))
