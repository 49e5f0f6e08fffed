"""Until when the reviews of a round are to be in."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0015_words_that_are_never_names"),
    ]

    operations = [
        migrations.AddField(
            model_name="reviewround",
            name="due_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
