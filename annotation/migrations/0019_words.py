from __future__ import annotations

from django.db import migrations

from annotation.triggers import add_words, remove_words


class Migration(migrations.Migration):
    dependencies = [("annotation", "0018_indexes")]

    operations = [migrations.RunPython(add_words, remove_words)]
