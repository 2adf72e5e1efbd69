from django.apps import AppConfig


class CohortsConfig(AppConfig):
    name = "cohorts"

    def ready(self) -> None:
        """Register the app's jobs, navigation, cards and losses."""
        from accounts.permissions import CASE_READERS
        from accounts.registry import NavItem, register_home_card, register_nav_item
        from cohorts.attention.cards import attention_card
        from cohorts.attention.ranking import start_ranking
        from cohorts.losses import cohort_losses, dataset_losses, delete_of_dataset
        from cohorts.models import AttentionRanking, WindowResult
        from cohorts.tasks import send_ranking_hints, send_window_hints
        from ehr.registry import register_dataset_deletion, register_losses
        from jobs.registry import register
        from timelines.registry import register_study_run_hook

        register(AttentionRanking, send_ranking_hints)
        register(WindowResult, send_window_hints)
        register_study_run_hook(lambda run: start_ranking(run.study))
        register_losses(cohort_losses)
        register_dataset_deletion(dataset_losses, delete_of_dataset)
        register_nav_item(
            NavItem("Cohorts", "cohorts:overview", ("cohorts/",), CASE_READERS), order=350
        )
        register_home_card(attention_card, order=12)
