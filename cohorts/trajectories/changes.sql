-- The last number before hour 0 and the first after it, of each stay that has both.
-- Parameters: dataset, stays and zeros (arrays), events, hours.
SELECT z.stay, before.number, after.number
FROM unnest(%(stays)s::bigint[], %(zeros)s::float[]) AS z (stay, zero)
JOIN ehr_encounter e ON e.id = z.stay
CROSS JOIN LATERAL (
    SELECT r.numeric_value AS number FROM ehr_eventseries s
    JOIN ehr_sourcerow r ON r.dataset_id = %(dataset)s AND r.encounter_id = z.stay
        AND r.row_index = ANY(s.row_indices)
    WHERE s.encounter_id = z.stay AND s.event = ANY(%(events)s) AND r.numeric_value IS NOT NULL
        AND extract(epoch FROM r.time - e.admitted_at)::float / 3600 - z.zero BETWEEN -%(hours)s AND 0
    ORDER BY r.time DESC, r.row_index DESC LIMIT 1
) AS before
CROSS JOIN LATERAL (
    SELECT r.numeric_value AS number FROM ehr_eventseries s
    JOIN ehr_sourcerow r ON r.dataset_id = %(dataset)s AND r.encounter_id = z.stay
        AND r.row_index = ANY(s.row_indices)
    WHERE s.encounter_id = z.stay AND s.event = ANY(%(events)s) AND r.numeric_value IS NOT NULL
        AND extract(epoch FROM r.time - e.admitted_at)::float / 3600 - z.zero > 0
        AND extract(epoch FROM r.time - e.admitted_at)::float / 3600 - z.zero <= %(hours)s
    ORDER BY r.time, r.row_index LIMIT 1
) AS after
ORDER BY z.stay
