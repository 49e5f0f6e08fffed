from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0039_kept_answers")]

    operations = [
        migrations.AddField(
            model_name="membership",
            name="by_provider",
            field=models.BooleanField(default=False),
        ),
    ]
