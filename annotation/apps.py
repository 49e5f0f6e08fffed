from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = "Annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Adjudication stands above the room of the home page, reviews above the list of a bank."""
        from annotation.adjudication.overview import adjudication_work
        from annotation.people.open_work import works
        from annotation.questionbank.filters import register_filter
        from annotation.review.flagged import FLAGGED

        register_filter(FLAGGED)
        works.register("adjudication", adjudication_work)
