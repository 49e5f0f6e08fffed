from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = "Annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Rooms that the home page and the list of a bank do not know tell them what they show of them."""
        from annotation.adjudication.attention import attention_work
        from annotation.adjudication.overview import adjudication_work
        from annotation.call_enums import PromptPurpose
        from annotation.discussion.commenting import mentions_work
        from annotation.discussion.tagging import TAGGED
        from annotation.generation.continuing import KIND as MAKE_QUESTIONS
        from annotation.generation.continuing import continue_later
        from annotation.generation.making import fill_calls
        from annotation.jobs.handlers import register_handler
        from annotation.leaving.open_work import works
        from annotation.model_calls.call_batches import completed
        from annotation.model_calls.request_bodies import fillers
        from annotation.outcomes.outcome_filters import FLAGGED, FOUND, SETTLED
        from annotation.questionbank.filters import register_filter
        from annotation.review.own_reviews import finished_work
        from annotation.sampling.samples import BY_IMAGES, difficulty_sources
        from annotation.validators.difficulty_ratings import by_model, by_readers, by_reviewers
        from annotation.validators.taking_verdicts import KIND as TAKE_VERDICTS
        from annotation.validators.taking_verdicts import fill_calls as fill_checks
        from annotation.validators.taking_verdicts import take_later

        register_filter(BY_IMAGES)
        register_filter(FOUND)
        register_filter(FLAGGED)
        register_filter(SETTLED)
        register_filter(TAGGED)
        works.register("adjudication", adjudication_work)
        works.register("attention", attention_work)
        works.register("finished", finished_work)
        works.register("mentions", mentions_work)
        fillers.register(PromptPurpose.BULLETS, fill_calls)
        fillers.register(PromptPurpose.QUESTIONS, fill_calls)
        completed.register("generation", continue_later)
        register_handler(MAKE_QUESTIONS, "annotation.generation.continuing.run_continuing")
        fillers.register(PromptPurpose.CHECK, fill_checks)
        completed.register("validators", take_later)
        register_handler(TAKE_VERDICTS, "annotation.validators.taking_verdicts.run_taking")
        difficulty_sources.register("model", by_model)
        difficulty_sources.register("reviewers", by_reviewers)
        difficulty_sources.register("readers", by_readers)
