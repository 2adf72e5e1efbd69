from django.apps import AppConfig
from django.urls import reverse


class AdjudicationConfig(AppConfig):
    name = "adjudication"

    def ready(self) -> None:
        """Register the app's jobs, page guard, links, cards and navigation."""
        from accounts.api_access.errors import register_refusals
        from accounts.models import Role
        from accounts.permissions import CASE_READERS
        from accounts.registry import (
            NavItem,
            register_home_card,
            register_nav_item,
            register_opening_question,
            register_page_guard,
        )
        from adjudication.access.asking import ask_before_opening
        from adjudication.access.eligibility import (
            CLOSED_PAGES,
            find_closed_cases,
            guard_packet,
        )
        from adjudication.findings.case_links import compare_link
        from adjudication.findings.case_questions import CASE_QUESTIONS
        from adjudication.judge_runs.ended import find_ended_judge_runs
        from adjudication.judge_runs.exchange import KIND
        from adjudication.losses import (
            adjudication_losses,
            adjudication_traces,
            dataset_losses,
            delete_of_dataset,
            withheld_answers,
        )
        from adjudication.models import (
            Game,
            GuessTest,
            JudgePreparation,
            PlantedRecall,
            RunFigures,
            StudyReport,
        )
        from adjudication.refusals import REFUSALS
        from adjudication.review import cards as review_cards
        from adjudication.tasks import (
            find_judge_run_page,
            find_run_games,
            find_runnable_games,
            send_figures_hints,
            send_game_hints,
            send_guess_test_hints,
            send_preparation_hints,
            send_recall_hints,
            send_study_report_hints,
        )
        from ehr.registry import (
            register_dataset_deletion,
            register_losses,
            register_traces,
            register_withheld,
        )
        from jobs.registry import JobPage, register
        from jobs.webhooks.registry import register_ended
        from llm_runtime.exchange.runs import register_exchange
        from timelines.registry import register_case_link, register_case_question

        register_refusals(REFUSALS)
        register(
            Game,
            send_game_hints,
            queue="judge",
            runnable=find_runnable_games,
            beside=find_run_games,
            find_page=find_judge_run_page,
        )
        register(JudgePreparation, send_preparation_hints, find_page=find_judge_run_page)
        register(
            PlantedRecall,
            send_recall_hints,
            queue="judge",
            find_page=lambda job: JobPage(
                reverse("adjudication:planted_recall", args=[job.public_id]), job.study
            ),
        )
        register(RunFigures, send_figures_hints)
        register(
            StudyReport,
            send_study_report_hints,
            find_page=lambda job: JobPage(
                reverse("adjudication:launch", args=[job.launch.public_id]), job.launch.study
            ),
        )
        register(GuessTest, send_guess_test_hints)
        register_ended("judge_run.ended", find_ended_judge_runs)
        register_exchange(KIND)
        register_losses(adjudication_losses)
        register_traces(adjudication_traces)
        for model, condition in withheld_answers():
            register_withheld(model, condition)
        register_dataset_deletion(dataset_losses, delete_of_dataset)
        register_page_guard(guard_packet, find_closed_cases, CLOSED_PAGES)
        register_opening_question(ask_before_opening)
        register_case_link(compare_link)
        for question in CASE_QUESTIONS:
            register_case_question(question)
        register_nav_item(
            NavItem("Adjudication", "adjudication:judge_runs", ("adjudication/",), CASE_READERS),
            order=400,
        )
        register_nav_item(
            NavItem(
                "Recipes",
                "adjudication:recipes",
                ("recipes/", "launches/", "planted/"),
                frozenset({Role.ADMIN}),
            ),
            order=405,
        )
        register_nav_item(
            NavItem("Packets", "adjudication:packets", ("packets/",), frozenset({Role.ADMIN})),
            order=410,
        )
        register_nav_item(
            NavItem(
                "Review",
                "adjudication:review_queue",
                ("review/",),
                concerns=review_cards.has_reviews,
            ),
            order=50,
        )
        register_home_card(review_cards.review_card, order=5)
