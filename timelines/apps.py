from django.apps import AppConfig
from django.urls import reverse


class TimelinesConfig(AppConfig):
    name = "timelines"

    def ready(self) -> None:
        """Register jobs, page guards, hooks, navigation and home cards.

        The sweeper then looks after stages, and cases and runs appear in the navigation and on the
        home page.
        """
        from accounts.api_access.errors import register_refusals
        from accounts.permissions import CASE_READERS
        from accounts.registry import (
            NavItem,
            register_home_card,
            register_nav_item,
            register_page_guard,
            register_study_card,
        )
        from ehr.registry import (
            register_dataset_deletion,
            register_import_hook,
            register_losses,
            register_traces,
        )
        from jobs.registry import JobPage, register
        from jobs.webhooks.registry import find_ended_jobs, register_ended
        from llm_runtime.exchange.runs import register_exchange
        from timelines.access.authoring import TIMELINE_PAGES, closed_to_unaided, guard_unaided
        from timelines.cases import home_cards, home_work
        from timelines.cases.questions import CORRECTED
        from timelines.losses import (
            dataset_losses,
            delete_of_dataset,
            timeline_losses,
            timeline_traces,
        )
        from timelines.models import (
            Evaluation,
            Export,
            MeaningSearch,
            MentionIndexing,
            RunPreparation,
            StageRun,
        )
        from timelines.refusals import REFUSALS
        from timelines.registry import register_case_question, register_study_run_hook
        from timelines.runs.ended import find_ended_runs
        from timelines.runs.exchange import KIND
        from timelines.search.indexing import index_mentions
        from timelines.tasks import (
            count_stage_queues,
            find_run_page,
            find_waiting_stages,
            runnable_exports,
            runnable_stages,
            send_evaluation_hints,
            send_export_hints,
            send_indexing_hints,
            send_preparation_hints,
            send_search_hints,
            send_stage_hints,
        )
        from timelines.transfer.references import import_reference

        register_refusals(REFUSALS)
        register_import_hook(import_reference)
        register_losses(timeline_losses)
        register_traces(timeline_traces)
        register_dataset_deletion(dataset_losses, delete_of_dataset)
        register(
            StageRun,
            send_stage_hints,
            queue=count_stage_queues,
            runnable=runnable_stages,
            beside=find_waiting_stages,
            find_page=lambda job: find_run_page(job.case_run.run),
        )
        register(
            RunPreparation,
            send_preparation_hints,
            find_page=lambda job: find_run_page(job.run),
        )
        register(
            Evaluation,
            send_evaluation_hints,
            queue="embed",
            find_page=lambda job: JobPage(
                reverse("timelines:evaluation", args=[job.public_id]), job.study
            ),
        )
        register(
            Export,
            send_export_hints,
            runnable=runnable_exports,
            find_page=lambda job: JobPage(reverse("timelines:exports"), job.study),
        )
        register_ended("run.ended", find_ended_runs)
        register_ended(
            "evaluation.ended", lambda since: find_ended_jobs(Evaluation.objects.all(), since)
        )
        register_ended("export.ended", lambda since: find_ended_jobs(Export.objects.all(), since))
        register(MentionIndexing, send_indexing_hints, queue="embed")
        register(MeaningSearch, send_search_hints, queue="embed")
        register_exchange(KIND)
        register_case_question(CORRECTED)
        register_study_run_hook(index_mentions)
        register_page_guard(guard_unaided, closed_to_unaided, [TIMELINE_PAGES])
        register_nav_item(NavItem("Cases", "timelines:cases", ("cases/",), CASE_READERS), order=100)
        register_nav_item(
            NavItem("Runs", "timelines:runs", ("runs/", "calls/", "exports/"), CASE_READERS),
            order=200,
        )
        register_nav_item(
            NavItem("Authoring", "timelines:authorings", ("authoring/",), CASE_READERS), order=250
        )
        register_nav_item(
            NavItem("Evaluation", "timelines:evaluations", ("evaluations/",), CASE_READERS),
            order=300,
        )
        register_home_card(home_cards.attention_card, order=10)
        register_home_card(home_cards.runs_card, order=20)
        register_home_card(home_work.drafts_card, order=25)
        register_home_card(home_cards.cases_card, order=30)
        register_home_card(home_work.recent_card, order=35)
        register_home_card(home_work.changes_card, order=36)
        register_home_card(home_work.differences_card, order=37)
        register_home_card(home_cards.evaluations_card, order=40)
        register_study_card(home_cards.study_timelines_card)
        register_study_card(home_cards.exports_card)
