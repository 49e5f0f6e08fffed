"""Whether a reviewer has met a question before is asked with every case: by an index, not by all that they were given."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0016_round_due"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(fields=["reviewer", "revision"], name="assignment_of_question"),
        ),
    ]
