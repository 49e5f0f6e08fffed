import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0041_accounts_taken_over")]

    operations = [
        migrations.AddField(model_name="pairtrial", name="ended_at", field=models.DateTimeField(null=True)),
        migrations.AddField(
            model_name="pairtrial",
            name="ended_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
    ]
