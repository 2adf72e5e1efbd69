from django.apps import AppConfig
from django.urls import reverse


class CohortsConfig(AppConfig):
    name = "cohorts"

    def ready(self) -> None:
        """Register the app's jobs, navigation, cards and losses."""
        from accounts.api_access.errors import register_refusals
        from accounts.permissions import CASE_READERS
        from accounts.registry import NavItem, register_home_card, register_nav_item
        from cohorts.asof.case_links import as_of_address
        from cohorts.asof.documenting import start_documenting
        from cohorts.asof.exporting import VIEW, describe_policy, label_hour, select_known
        from cohorts.attention.cards import attention_card
        from cohorts.attention.ranking import start_ranking
        from cohorts.concepts.cards import concept_card
        from cohorts.concepts.proposing import start_proposing
        from cohorts.losses import cohort_losses, dataset_losses, delete_of_dataset
        from cohorts.models import (
            AsOfReport,
            AttentionRanking,
            ConceptProposing,
            Documenting,
            LeakageCheck,
            WindowResult,
        )
        from cohorts.refusals import REFUSALS
        from cohorts.tasks import (
            send_check_hints,
            send_documenting_hints,
            send_proposing_hints,
            send_ranking_hints,
            send_report_hints,
            send_window_hints,
        )
        from cohorts.windows.cards import window_card
        from ehr.registry import (
            register_dataset_deletion,
            register_import_end_hook,
            register_losses,
        )
        from jobs.registry import JobPage, register
        from timelines.registry import (
            ExportView,
            register_as_of,
            register_export_view,
            register_study_run_hook,
        )

        register_refusals(REFUSALS)
        register(AttentionRanking, send_ranking_hints)
        register(
            WindowResult,
            send_window_hints,
            find_page=lambda job: JobPage(
                reverse("cohorts:window_result", args=[job.public_id]), job.version.window.study
            ),
        )
        register_study_run_hook(lambda run: start_ranking(run.study))
        register(Documenting, send_documenting_hints)
        register(
            AsOfReport,
            send_report_hints,
            find_page=lambda job: JobPage(
                reverse("cohorts:as_of_report", args=[job.public_id]), job.study
            ),
        )
        register(
            LeakageCheck,
            send_check_hints,
            find_page=lambda job: JobPage(
                reverse("cohorts:leakage_check", args=[job.public_id]), job.study
            ),
        )
        register_study_run_hook(start_documenting)
        register_as_of(as_of_address)
        register_export_view(VIEW, ExportView(select_known, describe_policy, label_hour))
        register(ConceptProposing, send_proposing_hints)
        register_study_run_hook(lambda run: start_proposing(run.study))
        register_import_end_hook(lambda dataset: start_proposing(dataset.study))
        register_losses(cohort_losses)
        register_dataset_deletion(dataset_losses, delete_of_dataset)
        register_nav_item(
            NavItem("Cohorts", "cohorts:overview", ("cohorts/",), CASE_READERS), order=350
        )
        register_home_card(attention_card, order=12)
        register_home_card(window_card, order=27)
        register_home_card(concept_card, order=13)
