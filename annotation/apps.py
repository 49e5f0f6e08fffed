from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = "Annotation"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Adjudication and discussion stand above the room of the home page."""
        from annotation.adjudication.overview import adjudication_work
        from annotation.discussion.commenting import mentions_work
        from annotation.people.open_work import works

        works.register("adjudication", adjudication_work)
        works.register("mentions", mentions_work)
