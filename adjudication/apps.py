from django.apps import AppConfig


class AdjudicationConfig(AppConfig):
    name = "adjudication"

    def ready(self) -> None:
        """Let the sweeper look after games; close the pages that would unblind to those who review."""
        from accounts.registry import register_page_guard
        from adjudication.eligibility import guard_open_packet
        from adjudication.models import Game
        from adjudication.tasks import runnable_games, send_game_hints
        from jobs.registry import register

        register(Game, send_game_hints, runnable=runnable_games)
        register_page_guard(guard_open_packet)
