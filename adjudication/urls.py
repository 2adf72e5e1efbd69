"""Addresses of adjudication.

They contain random public ids, never the name of a source, a verdict or text of a note.
"""

from __future__ import annotations

from adjudication.routes import judging as urls_judging
from adjudication.routes import packets as urls_packets
from adjudication.routes import ratings as urls_dashboard
from adjudication.routes import recipes as urls_recipes
from adjudication.routes import review as urls_review

app_name = "adjudication"
# The dashboard's addresses come before `runs/<id>/<action>/`.
urlpatterns = [
    *urls_dashboard.urlpatterns,
    *urls_judging.urlpatterns,
    *urls_packets.urlpatterns,
    *urls_recipes.urlpatterns,
    *urls_review.urlpatterns,
]
