"""Whether a double-click on an option submits the blind answers of a round."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0012_links_for_several_roles"),
    ]

    operations = [
        migrations.AddField(
            model_name="reviewround",
            name="double_click",
            field=models.BooleanField(default=False),
        ),
    ]
