from annotation.contributions import BackgroundWork, ContributingApp, Contributions


class AnnotationConfig(ContributingApp):
    name = "annotation"
    default = True
    verbose_name = "Annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def contributions(self) -> Contributions:
        """What rooms show and do in rooms that do not know them."""
        from django.utils.translation import gettext_lazy as _

        from annotation.audit.deleting import BinKind
        from annotation.call_enums import PromptPurpose
        from annotation.generation.making import continue_later, fill_calls
        from annotation.ingest.uploading import hide_upload, purge_upload, show_upload
        from annotation.models import QuestionBank, ReviewRound, SamplingPlan, Upload
        from annotation.outcomes.attention import adjudication_work, attention_work
        from annotation.outcomes.next_steps import banks_looked_after
        from annotation.outcomes.outcome_groups import FLAGGED, FOUND, SETTLED, VALID
        from annotation.questionbank.bank_life import hide_bank, purge_bank, show_bank
        from annotation.review.commenting import mentions_work
        from annotation.review.frames import BY_IMAGES
        from annotation.review.onlookers import finished_work
        from annotation.review.rounds import hide_round, purge_round, show_round
        from annotation.review.samples import hide_sample, purge_sample, show_sample
        from annotation.review.selected_questions import TAGGED
        from annotation.validators.judging_pairs import pairs_work
        from annotation.validators.taking_verdicts import fill_calls as fill_checks
        from annotation.validators.taking_verdicts import take_later
        from annotation.validators.validator_exams import by_model, by_readers, by_reviewers

        return Contributions(
            bin_kinds={
                "bank": BinKind(QuestionBank, _("question bank"), hide_bank, show_bank, purge_bank),
                "upload": BinKind(Upload, _("upload"), hide_upload, show_upload, purge_upload),
                "sample": BinKind(SamplingPlan, _("sample"), hide_sample, show_sample, purge_sample),
                "round": BinKind(ReviewRound, _("review round"), hide_round, show_round, purge_round),
            },
            archived={QuestionBank: "bank", SamplingPlan: "sample", ReviewRound: "round"},
            work=(adjudication_work, attention_work, banks_looked_after, finished_work, pairs_work, mentions_work),
            bank_filters=(BY_IMAGES, VALID, FOUND, FLAGGED, SETTLED, TAGGED),
            difficulties={"model": by_model, "reviewers": by_reviewers, "readers": by_readers},
            fillers={
                PromptPurpose.BULLETS: fill_calls,
                PromptPurpose.QUESTIONS: fill_calls,
                PromptPurpose.CHECK: fill_checks,
            },
            completed=(continue_later, take_later),
        )

    def background_work(self) -> BackgroundWork:
        from annotation.backup import taking
        from annotation.exports import releases, review_report_job
        from annotation.generation import making
        from annotation.ingest import searching, uploading
        from annotation.jobs.queueing import REHEARSAL, JobHandler, rehearse
        from annotation.model_calls import probing
        from annotation.people import event_log
        from annotation.questionbank import bank_life, uploads
        from annotation.questionbank.checking import COMPARISON
        from annotation.questionbank.duplicates import find_duplicates
        from annotation.review import selected_questions
        from annotation.validators import classifying, embedded_questions, judging_pairs, taking_verdicts

        return BackgroundWork(
            jobs=(
                JobHandler(REHEARSAL, rehearse),
                JobHandler(event_log.CHECK, event_log.run_check),
                JobHandler(uploads.CHECK, uploads.check_questions),
                JobHandler(uploads.STORE, uploads.store_questions),
                JobHandler(COMPARISON, find_duplicates),
                JobHandler(embedded_questions.KIND, embedded_questions.embed_in_background),
                JobHandler(judging_pairs.DRAWING, judging_pairs.draw_in_background),
                JobHandler(bank_life.DELETION, bank_life.delete_bank_job),
                JobHandler(selected_questions.KIND, selected_questions.run_change),
                JobHandler(releases.KIND, releases.pack_release),
                JobHandler(review_report_job.KIND, review_report_job.run_review_report),
                JobHandler(searching.JOB_KIND, searching.search_waiting),
                JobHandler(searching.AGAIN_JOB_KIND, searching.search_quarantined),
                JobHandler(uploading.JOB_KIND, uploading.ingest_upload),
                JobHandler(taking.JOB_KIND, taking.run_backup),
                JobHandler(probing.KIND, probing.run_probe),
                JobHandler(making.KIND, making.run_continuing),
                JobHandler(taking_verdicts.KIND, taking_verdicts.run_taking),
                JobHandler(classifying.KIND, classifying.classify_in_background),
            ),
        )

    def waiting_work(self) -> BackgroundWork:
        from annotation.audit.deleting import empty_bin
        from annotation.audit.recording import seal_hourly
        from annotation.ingest import receiving, searching
        from annotation.jobs.queueing import JobHandler
        from annotation.model_calls.asking import ask_in_background
        from annotation.people import deliveries, mailing
        from annotation.questionbank.bank_life import sweep_imports

        return BackgroundWork(
            jobs=(
                JobHandler(deliveries.JOB_KIND, deliveries.send_due),
                JobHandler(mailing.EMAIL, mailing.send_stored_email),
                JobHandler(mailing.PASSWORD_LINK, mailing.send_requested_password_link),
            ),
            sweeps=(
                sweep_imports,
                searching.begin_search,
                receiving.take_in_received,
                empty_bin,
                ask_in_background,
                deliveries.follow_log,
                seal_hourly,
            ),
        )
