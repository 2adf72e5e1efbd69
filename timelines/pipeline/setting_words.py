"""What each setting of a run does, in words.

The launch form, the command line and the run page show them.
"""

from __future__ import annotations

from collections.abc import Mapping

SETTING_WORDS: Mapping[str, str] = {
    "seed": "Seed of UIDs and of model calls; attempt k uses the seed plus k.",
    "max_attempts": "Attempts of a stage, and of a model at one request, before the case fails.",
    "notes": "Kinds of notes that are read, separated by commas; “all” reads every note of the stay.",
    "tag_single_pass_lines": "Lines of a note that are tagged in one call.",
    "tag_chunk_lines": "Lines of a part of a longer note.",
    "tag_chunk_characters": "Characters of a part of a note at most.",
    "infer_batch_size": "Occurrences in one call that infers times from the text.",
    "min_queries": "Queries for an occurrence at least.",
    "max_queries": "Queries for an occurrence at most.",
    "query_context": "What the query writer sees besides the note: the names of the series, or nothing.",
    "query_batch_size": "Occurrences in one call that writes queries.",
    "query_names_characters": "Characters of the names of series in a prompt at most.",
    "query_local_characters": "Characters around an occurrence if the note is cut for queries.",
    "query_report_characters": "Characters of the note in a prompt for queries at most.",
    "top_k_dense": "Series that the embedder finds for a query.",
    "embed_batch_size": "Texts in one call of the embedder.",
    "rerank_batch_size": "Pairs in one call of the reranker.",
    "rho_threshold": "Rerank score below which a series is dropped. None: the reranker's own.",
    "top_k_rerank": "Series that a query retains.",
    "rows_per_summary": "Rows of a retained series (published selection).",
    "discharge_grace_hours": "Hours after discharge until which rows count.",
    "evidence_tokens": "Tokens of the rows that the reviser sees. None: the published selection of rows.",
    "rows_per_occurrence": "Rows for an occurrence at most; a start and its stop count once.",
    "rows_per_history": "Rows for an occurrence of the history or a plan at most.",
    "case_row_cap": "Rows of a case at most (published selection).",
    "alternatives": "Timelines that a revision writes at most. Timeline 1 is primary.",
    "force_alternatives": "Whether all of them must be written, also without a different course.",
    "cite_rows": "Whether the model names the rows that a time rests on. No: equal hours are taken as a link.",
    "cited_rows": "Rows that one time may cite.",
    "cited_hours": "Hours by which a time may differ from the hour of a row that it cites.",
    "revise_note_characters": "Characters of the note in a revision at most.",
    "revise_local_characters": "Characters around an occurrence if the note is cut for revision.",
    "evidence_field_characters": "Characters of an event or a value in a printed row at most.",
    "single_step_tokens": "Tokens that an answer of the baseline llm_timeline may have at least.",
    "tkw2_rows": "Rows that the baseline TKW2 retrieves for an event.",
    "tkw2_times": "Times that the baseline TKW2 lists of a row.",
}
