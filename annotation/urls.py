"""Addresses, by room. Each room keeps its own block."""

from django.urls import path, re_path

from annotation.views.ingest import images, quarantine, quarantine_many, quarantine_words, renditions, uploads
from annotation.views.people import account, invitation_files, invitations, people
from annotation.views.questionbank import bank, question_imports
from annotation.views.review import case_acts as review_acts
from annotation.views.review import cases as review
from annotation.views.review import round_acts, round_exports, rounds
from annotation.views.sampling import samples as sampling
from annotation.views.site import bin, home, jobs

urlpatterns = [
    path("", home.home, name="home"),
    # reviewing, first: addresses are tried in order, and these are asked most
    path("review/", review.review_rounds, name="review-rounds"),
    path("review/rounds/<slug:slug>/", review.review_worklist, name="review-worklist"),
    path("review/rounds/<slug:slug>/continue/", review.review_continue, name="review-continue"),
    path("review/<str:public_id>/", review.review_case, name="review-case"),
    path("review/<str:public_id>/answer/", review_acts.review_answer, name="review-answer"),
    path("review/<str:public_id>/report/", review_acts.review_report, name="review-report"),
    path("review/<str:public_id>/draft/", review_acts.review_draft, name="review-draft"),
    path("review/<str:public_id>/events/", review_acts.review_events, name="review-events"),
    path("review/<str:public_id>/submit/", review_acts.review_submit, name="review-submit"),
    path("review/<str:public_id>/skip/", review_acts.review_skip, name="review-skip"),
    path("review/<str:public_id>/return/", review_acts.review_return, name="review-return"),
    path("review/<str:public_id>/identifies/", review_acts.review_identifies, name="review-identifies"),
    path("review/<str:public_id>/categories/", review_acts.review_categories, name="review-categories"),
    # people
    path("login/", account.login, name="login"),
    path("logout/", account.logout, name="logout"),
    path("profile/", account.profile, name="profile"),
    path("password/", account.password_change, name="password-change"),
    path("password/forgotten/", account.password_reset, name="password-reset"),
    path("password/forgotten/sent/", account.password_reset_sent, name="password-reset-sent"),
    path("password/new/<uidb64>/<token>/", account.password_reset_confirm, name="password-reset-confirm"),
    path("invitation/<str:token>/", invitations.invitation, name="invitation"),
    path("invitations/<int:pk>/revoke/", invitations.invitation_revoke, name="invitation-revoke"),
    path("invitations/<int:pk>/restore/", invitations.invitation_restore, name="invitation-restore"),
    path("people/", people.people, name="people"),
    path("people/add/", people.person_add, name="person-add"),
    path("people/invite/", invitations.person_invite, name="person-invite"),
    path("people/invite/file/", invitation_files.person_invite_file, name="person-invite-file"),
    path("people/<int:pk>/", people.person, name="person"),
    path("people/<int:pk>/roles/give/", people.person_grant, name="person-grant"),
    path("people/<int:pk>/roles/<int:membership>/take/", people.person_withdraw, name="person-withdraw"),
    path("people/<int:pk>/deactivate/", people.person_deactivate, name="person-deactivate"),
    path("people/<int:pk>/reactivate/", people.person_reactivate, name="person-reactivate"),
    path("people/<int:pk>/password-link/", people.person_password_link, name="person-password-link"),
    path("rounds/<slug:slug>/invite/", invitations.round_invite, name="round-invite"),
    path("rounds/<slug:slug>/invite/file/", invitation_files.round_invite_file, name="round-invite-file"),
    # bank
    path("banks/", bank.banks, name="banks"),
    path("banks/import/", question_imports.question_import_new, name="question-import-new"),
    re_path(
        r"^banks/import/questions\.(?P<form>json|jsonl|csv|xlsx)$",
        question_imports.question_template,
        name="question-template",
    ),
    path("banks/import/<str:public_id>/", question_imports.question_import, name="question-import"),
    path("banks/import/<str:public_id>/store/", question_imports.question_import_store, name="question-import-store"),
    re_path(
        r"^banks/import/(?P<public_id>[\w-]+)/report\.(?P<form>json|csv)$",
        question_imports.question_import_report,
        name="question-import-report",
    ),
    path("banks/<slug:slug>/", bank.bank, name="bank"),
    path("banks/<slug:slug>/ids.csv", bank.bank_source_ids, name="bank-source-ids"),
    path("banks/<slug:slug>/missing/", bank.bank_missing, name="bank-missing"),
    path("banks/<slug:slug>/missing.csv", bank.bank_missing_file, name="bank-missing-file"),
    path("banks/<slug:slug>/archive/", bank.bank_archive, name="bank-archive"),
    path("banks/<slug:slug>/bring-back/", bank.bank_bring_back, name="bank-bring-back"),
    path("banks/<slug:slug>/delete/", bank.bank_delete, name="bank-delete"),
    path("banks/<slug:slug>/<int:number>/", bank.question, name="question"),
    # images
    path("images/", images.images, name="images"),
    path("images/<str:name>", renditions.rendition, name="rendition"),
    path("image/<str:public_id>/", images.image, name="image"),
    path("image/<str:public_id>/view/", images.image_view, name="image-view"),
    path("image/<str:public_id>/credits/", images.image_credits, name="image-credits"),
    path("image/<str:public_id>/quarantine/", images.image_quarantine, name="image-quarantine"),
    path("quarantine/", quarantine.quarantine, name="quarantine"),
    path("quarantine/renditions/<str:name>", renditions.quarantine_rendition, name="quarantine-rendition"),
    path("quarantine/decide/", quarantine_many.quarantine_decide, name="quarantine-decide"),
    path("quarantine/words/", quarantine_words.quarantine_words, name="quarantine-words"),
    path("quarantine/words/remove/", quarantine_words.quarantine_word_remove, name="quarantine-word-remove"),
    path("quarantine/undo/", quarantine_many.quarantine_undo, name="quarantine-undo"),
    path("quarantine/<str:public_id>/", quarantine.quarantined_image, name="quarantined-image"),
    path("quarantine/<str:public_id>/release/", quarantine.quarantine_release, name="quarantine-release"),
    path("quarantine/<str:public_id>/black-out/", quarantine.quarantine_mask, name="quarantine-mask"),
    path("quarantine/<str:public_id>/remove/", quarantine.quarantine_remove, name="quarantine-remove"),
    path("quarantine/<str:public_id>/search/", quarantine.quarantine_search, name="quarantine-search"),
    path("uploads/", uploads.uploads, name="uploads"),
    path("uploads/new/", uploads.upload_new, name="upload-new"),
    path("uploads/<str:public_id>/", uploads.upload, name="upload"),
    path("uploads/<str:public_id>/report.csv", uploads.upload_report, name="upload-report"),
    path("uploads/<str:public_id>/archive/", uploads.upload_archive, name="upload-archive"),
    path("uploads/<str:public_id>/delete/", uploads.upload_delete, name="upload-delete"),
    # bin
    path("bin/", bin.bin_page, name="bin"),
    path("bin/<str:kind>/<int:pk>/restore/", bin.bin_restore, name="bin-restore"),
    # sampling
    path("samples/", sampling.samples, name="samples"),
    path("samples/new/", sampling.sample_new, name="sample-new"),
    path("samples/<slug:slug>/", sampling.sample, name="sample"),
    path("samples/<slug:slug>/archive/", sampling.sample_archive, name="sample-archive"),
    path("samples/<slug:slug>/bring-back/", sampling.sample_bring_back, name="sample-bring-back"),
    path("samples/<slug:slug>/delete/", sampling.sample_delete, name="sample-delete"),
    # rounds
    path("rounds/", rounds.rounds, name="rounds"),
    path("rounds/new/", rounds.round_new, name="round-new"),
    path("rounds/<slug:slug>/", rounds.round_page, name="round"),
    path("rounds/<slug:slug>/edit/", round_acts.round_edit, name="round-edit"),
    path("rounds/<slug:slug>/assign/", round_acts.round_assign, name="round-assign"),
    path("rounds/<slug:slug>/viewing/", round_acts.round_viewing, name="round-viewing"),
    path("rounds/<slug:slug>/due/", round_acts.round_due, name="round-due"),
    path("rounds/<slug:slug>/remind/", round_acts.round_remind, name="round-remind"),
    path("rounds/<slug:slug>/open/", round_acts.round_open, name="round-open"),
    path("rounds/<slug:slug>/close/", round_acts.round_close, name="round-close"),
    path("rounds/<slug:slug>/archive/", round_acts.round_archive, name="round-archive"),
    path("rounds/<slug:slug>/bring-back/", round_acts.round_bring_back, name="round-bring-back"),
    path("rounds/<slug:slug>/delete/", round_acts.round_delete, name="round-delete"),
    path("rounds/<slug:slug>/reviewers/add/", round_acts.round_reviewer_add, name="round-reviewer-add"),
    path("rounds/<slug:slug>/reviewers/<int:pk>/", rounds.round_reviewer, name="round-reviewer"),
    path(
        "rounds/<slug:slug>/reviewers/<int:pk>/remove/", round_acts.round_reviewer_remove, name="round-reviewer-remove"
    ),
    path("rounds/<slug:slug>/reviewers/<int:pk>/reassign/", round_acts.round_reassign, name="round-reassign"),
    path("rounds/<slug:slug>/export/<slug:form>/", round_exports.round_export, name="round-export"),
    path("rounds/<slug:slug>/outcomes/<slug:width>.<slug:form>", round_exports.round_figure, name="round-figure"),
    path("rounds/<slug:slug>/codebook/", round_exports.round_codebook, name="round-codebook"),
    # jobs
    path("jobs/", jobs.job_list, name="jobs"),
    path("jobs/<str:public_id>/", jobs.job_detail, name="job"),
    path("jobs/<str:public_id>/cancel/", jobs.job_cancel, name="job-cancel"),
    path("jobs/<str:public_id>/retry/", jobs.job_retry, name="job-retry"),
    path("healthz", jobs.healthz, name="healthz"),
]
