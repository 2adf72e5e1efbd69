"""The study timeline of each dataset. A choice names a run of its own dataset and never changes, except that a later one ends it."""

from django.conf import settings
from django.db import migrations, models
from django.db.models import CASCADE, PROTECT, RESTRICT, Q

OWN_RUN = """
ALTER TABLE timelines_studytimeline ADD CONSTRAINT study_timeline_run_of_dataset
    FOREIGN KEY (run_id, dataset_id) REFERENCES timelines_run (id, dataset_id) DEFERRABLE INITIALLY DEFERRED;
"""
DROP_OWN_RUN = "ALTER TABLE timelines_studytimeline DROP CONSTRAINT study_timeline_run_of_dataset;"

KEPT = """
CREATE FUNCTION timelines_study_timeline_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.replaced_at IS NOT NULL
        OR (to_jsonb(OLD) - 'replaced_at') IS DISTINCT FROM (to_jsonb(NEW) - 'replaced_at') THEN
        PERFORM timelines_refuse('study_timeline_kept', 'a choice of a study timeline is ended by the next one and never changed');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_study_timeline_kept BEFORE UPDATE ON timelines_studytimeline
    FOR EACH ROW EXECUTE FUNCTION timelines_study_timeline_kept();
"""
DROP_KEPT = "DROP FUNCTION timelines_study_timeline_kept CASCADE;"


class Migration(migrations.Migration):
    dependencies = [
        ("ehr", "0001_initial"),
        ("timelines", "0011_cancelled_jobs_do_not_wait"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddConstraint("run", models.UniqueConstraint(fields=("id", "dataset"), name="run_with_dataset")),
        migrations.CreateModel(
            name="StudyTimeline",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("chosen_at", models.DateTimeField(auto_now_add=True)),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("replaced_at", models.DateTimeField(blank=True, null=True)),
                (
                    "chosen_by",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("dataset", models.ForeignKey(on_delete=CASCADE, related_name="study_timelines", to="ehr.dataset")),
                ("run", models.ForeignKey(on_delete=RESTRICT, related_name="+", to="timelines.run")),
            ],
            options={
                "ordering": ["-chosen_at", "-pk"],
                "constraints": [
                    models.UniqueConstraint(condition=Q(replaced_at__isnull=True), fields=("dataset",), name="one_study_timeline_per_dataset"),
                    models.CheckConstraint(condition=Q(chosen_by__isnull=True) | ~Q(reason=""), name="person_gives_a_reason"),
                ],
            },
        ),
        migrations.RunSQL(OWN_RUN, DROP_OWN_RUN),
        migrations.RunSQL(KEPT, DROP_KEPT),
    ]
