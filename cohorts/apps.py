from django.apps import AppConfig


class CohortsConfig(AppConfig):
    name = "cohorts"

    def ready(self) -> None:
        """Register the app's navigation and what deletions delete here."""
        from accounts.permissions import CASE_READERS
        from accounts.registry import NavItem, register_nav_item
        from cohorts.losses import cohort_losses, dataset_losses, delete_of_dataset
        from ehr.registry import register_dataset_deletion, register_losses

        register_losses(cohort_losses)
        register_dataset_deletion(dataset_losses, delete_of_dataset)
        register_nav_item(
            NavItem("Cohorts", "cohorts:overview", ("cohorts/",), CASE_READERS), order=350
        )
