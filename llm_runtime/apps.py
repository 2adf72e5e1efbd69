from django.apps import AppConfig


class LlmRuntimeConfig(AppConfig):
    name = "llm_runtime"
