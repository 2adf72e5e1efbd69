"""Addresses of the API of adjudication. They carry random public ids, as those of the pages do."""

from __future__ import annotations

from django.urls import URLPattern, path

from adjudication.api import views_review as review
from adjudication.api import views_review_end as review_end

app_name = "adjudication_api"

_ITEM = "review/<str:public_id>/items/<str:item_id>/"
urlpatterns: list[URLPattern] = [
    path("review/", review.Reviews.as_view(), name="reviews"),
    path("review/<str:public_id>/", review.Review.as_view(), name="review"),
    path("review/<str:public_id>/next/", review.NextItem.as_view(), name="review_next"),
    path("review/<str:public_id>/undo/", review.Undo.as_view(), name="review_undo"),
    path("review/<str:public_id>/answers/", review.Answers.as_view(), name="review_answers"),
    path("review/<str:public_id>/practice/", review_end.Practice.as_view(), name="review_practice"),
    path("review/<str:public_id>/practice/<int:number>/", review_end.PracticeOne.as_view(), name="review_practice_case"),
    path("review/<str:public_id>/check/", review_end.BlindingCheck.as_view(), name="review_check"),
    path("review/<str:public_id>/sign/", review_end.Sign.as_view(), name="review_sign"),
    path("review/<str:public_id>/unsign/", review_end.Unsign.as_view(), name="review_unsign"),
    path("review/<str:public_id>/receipt/", review_end.Receipt.as_view(), name="review_receipt"),
    path(_ITEM, review.Item.as_view(), name="review_item"),
    path(f"{_ITEM}series/<int:number>/", review.ItemSeries.as_view(), name="review_series"),
    path(f"{_ITEM}draft/", review.Draft.as_view(), name="review_draft"),
    path(f"{_ITEM}skip/", review.Skip.as_view(), name="review_skip"),
    path(f"{_ITEM}flag/", review.Flag.as_view(), name="review_flag"),
    path(f"{_ITEM}decide/", review.Decide.as_view(), name="review_decide"),
    path(f"{_ITEM}amend/", review.Amend.as_view(), name="review_amend"),
]
