from django.db import migrations
from django.db.models import Q

BY_HAND = ["several_valid", "key_wrong", "no_valid_option"]


def add_what_pages_asked(apps, schema_editor):
    """Earlier pages offered these flags in every round without a blind answer: forms that were so answered, or have
    a draft now, asked them.
    """
    reviews, forms = (apps.get_model("annotation", name).objects for name in ("Review", "ReviewForm"))
    here = reviews.filter(assignment__round__steps="open").exclude(time_rule="elsewhere").order_by()
    drafts = apps.get_model("annotation", "ReviewDraft").objects.filter(assignment__round__steps="open").order_by()
    is_asked = Q(pk__in=here.values("assignment__round__form")) | Q(pk__in=drafts.values("assignment__round__form"))
    for form in forms.filter(is_asked):
        form.design["flags"] = [*dict.fromkeys([*form.design["flags"], *BY_HAND])]
        form.save(update_fields=["design"])


class Migration(migrations.Migration):
    dependencies = [("annotation", "0043_pages_of_drafts")]

    # Earlier versions pass over these flags in a form, so that nothing is to be undone.
    operations = [migrations.RunPython(add_what_pages_asked, migrations.RunPython.noop)]
