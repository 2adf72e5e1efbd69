-- When the entries of timelines (parameter: timelines, their keys) were first documented, in hours from admission:
-- the earliest of the rows that the time rests on and the note that mentions it.
-- A row is documented at its result time. Without one, the time of a result, of charting, of an order, of a dose that
-- was given or of a procedure that was done counts. A collection alone documents nothing: its result is not known.
-- A note without a time counts from discharge.
SELECT e.id AS entry_id, found.hours, found.by, found.row_index, noted.hours AS noted
FROM timelines_entry e
JOIN timelines_timeline t ON t.id = e.timeline_id
JOIN ehr_encounter c ON c.id = t.encounter_id
LEFT JOIN timelines_occurrence o ON o.id = e.occurrence_id
LEFT JOIN timelines_inventory i ON i.id = t.inventory_id
LEFT JOIN ehr_note n ON n.id = i.note_id
LEFT JOIN LATERAL (
    SELECT w.charted_at FROM ehr_notepart p JOIN ehr_note w ON w.id = p.note_id
    WHERE n.composed AND p.chart_id = n.id AND o.start >= p.start AND o.start < p.end
    LIMIT 1
) part ON true
CROSS JOIN LATERAL (
    SELECT extract(epoch FROM coalesce(CASE WHEN n.composed THEN part.charted_at ELSE n.charted_at END, c.discharged_at)
        - c.admitted_at)::float / 3600 AS hours,
    CASE WHEN CASE WHEN n.composed THEN part.charted_at ELSE n.charted_at END IS NULL THEN 'discharge' ELSE 'note' END AS by
) noted
LEFT JOIN LATERAL (
    SELECT * FROM (
        SELECT extract(epoch FROM coalesce(r.result_time, r.time) - c.admitted_at)::float / 3600 AS hours,
            CASE WHEN r.result_time IS NOT NULL OR r.time_kind = 'result' THEN 'result'
                WHEN r.time_kind = 'order' THEN 'order' ELSE 'charted' END AS by,
            r.row_index, 0 AS place
        FROM unnest(e.adopted_rows) AS adopted (row_index)
        JOIN ehr_sourcerow r ON r.dataset_id = c.dataset_id AND r.encounter_id = c.id AND r.row_index = adopted.row_index
        WHERE r.result_time IS NOT NULL OR r.time_kind IN ('result', 'charted', 'order', 'administration', 'performed')
        UNION ALL
        SELECT noted.hours, noted.by, NULL, 1
    ) every
    WHERE hours IS NOT NULL
    ORDER BY hours, place, row_index
    LIMIT 1
) found ON true
WHERE t.id = ANY(%(timelines)s)
