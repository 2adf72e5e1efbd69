"""Pins of the story, append-only: a pin is never changed and leaves only with its occurrence."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FORWARD = """
CREATE FUNCTION timelines_pin_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM timelines_refuse('pin_kept', 'pins are append-only');
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_pin_kept BEFORE UPDATE ON timelines_storypin
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION timelines_pin_kept();

CREATE FUNCTION timelines_pin_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_occurrence WHERE id = OLD.occurrence_id) THEN
        PERFORM timelines_refuse('pin_kept', 'a pin leaves only together with its occurrence');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_pin_gone AFTER DELETE ON timelines_storypin
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_pin_gone();
"""

BACKWARD = "DROP FUNCTION timelines_pin_gone, timelines_pin_kept CASCADE;"


class Migration(migrations.Migration):
    dependencies = [
        ("timelines", "0020_curation_invariants"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="StoryPin",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("pinned", models.BooleanField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "occurrence",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pins",
                        to="timelines.occurrence",
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["occurrence", "-id"], name="last_pin_of_occurrence")]},
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
