from django.apps import AppConfig


class AdjudicationConfig(AppConfig):
    name = "adjudication"

    def ready(self) -> None:
        """Let the sweeper look after games."""
        from adjudication.models import Game
        from adjudication.tasks import runnable_games, send_game_hints
        from jobs.registry import register

        register(Game, send_game_hints, runnable=runnable_games)
