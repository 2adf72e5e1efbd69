-- Rank what a person should look at in one study. `score` is that of `cohorts.attention.values.score`;
-- tests compare both. Parameters: study, weights, hours; disputed occurrences as two arrays.
INSERT INTO cohorts_attentionitem (study_id, encounter_id, uid4, reasons, targets, score)
WITH study_runs AS (
    SELECT s.run_id FROM timelines_studytimeline s JOIN ehr_dataset d ON d.id = s.dataset_id
    WHERE d.study_id = %(study)s AND s.replaced_at IS NULL
), revised AS (
    SELECT t.id, t.encounter_id, t.case_run_id, extract(epoch FROM e.discharged_at - e.admitted_at) / 3600 AS discharge
    FROM timelines_timeline t JOIN timelines_caserun c ON c.id = t.case_run_id
    JOIN ehr_encounter e ON e.id = t.encounter_id
    WHERE c.run_id IN (SELECT run_id FROM study_runs) AND t.kind = 'revised' AND t.alternative = 1
), latest AS (
    SELECT DISTINCT ON (v.window_id, r.dataset_id) r.id, r.public_id, v.window_id
    FROM cohorts_windowresult r JOIN cohorts_windowversion v ON v.id = r.version_id
    JOIN cohorts_window w ON w.id = v.window_id
    WHERE w.study_id = %(study)s AND w.archived_at IS NULL AND r.state = 'succeeded'
    ORDER BY v.window_id, r.dataset_id, r.created_at DESC, r.id DESC
), members AS (
    SELECT m.encounter_id, m.first, m.second, l.public_id FROM latest l
    JOIN cohorts_windowmember m ON m.result_id = l.id
    WHERE coalesce((
        SELECT d.status FROM cohorts_memberdecision d
        WHERE d.window_id = l.window_id AND d.encounter_id = m.encounter_id ORDER BY d.id DESC LIMIT 1
    ), '') = ''
), found AS (
    SELECT encounter_id, uid4, 'disputed' AS reason, NULL::float AS hours, '' AS target
    FROM unnest(%(disputed_cases)s::bigint[], %(disputed_uids)s::text[]) AS d (encounter_id, uid4)
    UNION ALL
    SELECT encounter_id, '', 'uncertain', NULL, public_id FROM members WHERE second = 'uncertain'
    UNION ALL
    SELECT encounter_id, '', 'changed', NULL, public_id FROM members
    WHERE first <> second AND first IN ('yes', 'no') AND second IN ('yes', 'no')
    UNION ALL
    SELECT c.encounter_id, coalesce(o.uid4, ''), 'finding', NULL, f.public_id
    FROM adjudication_finding f
    JOIN adjudication_game g ON g.id = f.game_id
    JOIN adjudication_comparison c ON c.id = g.comparison_id
    JOIN revised r ON r.id = CASE WHEN f.charged_first THEN c.first_id ELSE c.second_id END
    LEFT JOIN timelines_entry e ON e.id = CASE WHEN f.charged_first = g.a_is_first THEN f.a_entry_id ELSE f.b_entry_id END
    LEFT JOIN timelines_occurrence o ON o.id = e.occurrence_id
    WHERE f.verdict IN ('A', 'B') AND NOT EXISTS (
        SELECT 1 FROM adjudication_packetitem i JOIN adjudication_slot s ON s.item_id = i.id
        WHERE i.finding_id = f.id AND s.decision_id IS NOT NULL
    )
    UNION ALL
    SELECT r.encounter_id, o.uid4, 'moved', abs(e.time - n.time), ''
    FROM revised r
    JOIN timelines_timeline t ON t.case_run_id = r.case_run_id AND t.kind = 'text_only' AND t.alternative = 1
    JOIN timelines_entry e ON e.timeline_id = r.id
    JOIN timelines_entry n ON n.timeline_id = t.id AND n.occurrence_id = e.occurrence_id
    JOIN timelines_occurrence o ON o.id = e.occurrence_id
    WHERE abs(e.time - n.time) >= greatest(%(least_move)s, 0.1 * greatest(abs(e.time), abs(n.time)))
    UNION ALL
    SELECT r.encounter_id, o.uid4, 'wide', e.upper - e.lower, ''
    FROM revised r JOIN timelines_entry e ON e.timeline_id = r.id
    JOIN timelines_occurrence o ON o.id = e.occurrence_id
    WHERE e.upper - e.lower >= %(least_width)s AND e.time BETWEEN 0 AND coalesce(r.discharge, e.time)
        AND o.polarity = 'present'
), once AS (
    SELECT encounter_id, uid4, reason, max(hours) AS hours, min(target) AS target FROM found
    GROUP BY encounter_id, uid4, reason
)
SELECT %(study)s, encounter_id, uid4, array_agg(reason ORDER BY reason), jsonb_object_agg(reason, target),
    sum((%(weights)s::jsonb ->> reason)::float * (1 + least(coalesce(hours, 0), %(full_hours)s) / %(full_hours)s))
FROM once GROUP BY encounter_id, uid4
