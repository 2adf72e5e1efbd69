"""The lanes of the case page: what is drawn on them from the note and from the record.

No Django here. Words of notes and names of records meet in the vocabulary of the rules
(`timelines.backbones.rules.querying.vocabulary`).
"""
