"""Gunicorn's settings: threads, structured logs, no access log.

A thread answers only requests that have arrived (`config.web.worker`).

Used as `gunicorn -c python:config.gunicorn config.wsgi`.
"""

from __future__ import annotations

import gc

from config.env import Env
from config.logging import install_exception_hooks, logging_config

env = Env()

bind = f"{env.text('WEB_HOST', '127.0.0.1')}:{env.integer('PORT', 8000, minimum=1, maximum=65535)}"
worker_class = "config.web.worker.BufferingWorker"
workers = env.integer("WEB_PROCESSES", 1, minimum=1)
threads = env.integer("WEB_THREADS", 8, minimum=1)
timeout = 60
graceful_timeout = 10
keepalive = 5
# Requests are logged by config.request_log, without addresses.
accesslog = None
# Nobody uses the socket, which would be in the home directory.
control_socket_disable = True
logconfig_dict = logging_config(level=env.text("LOG_LEVEL", "INFO").upper())


def post_worker_init(worker: object) -> None:
    """Prepare a worker whose application is loaded.

    Uncaught exceptions of request threads stay out of standard error. What is loaded is never
    garbage: looking through it again took 0.17 s of a request's time.
    """
    install_exception_hooks()
    gc.collect()
    gc.freeze()
