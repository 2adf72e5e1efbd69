-- Median and quartiles of the numbers of some series in bins of hours from hour 0.
-- Parameters: dataset, stays and zeros (arrays), events, from, until, step.
SELECT floor((h.at - %(from)s) / %(step)s)::int AS bin,
    percentile_cont(0.25) WITHIN GROUP (ORDER BY h.number),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY h.number),
    percentile_cont(0.75) WITHIN GROUP (ORDER BY h.number),
    count(*), count(DISTINCT h.stay)
FROM (
    SELECT z.stay, r.numeric_value AS number,
        extract(epoch FROM r.time - e.admitted_at)::float / 3600 - z.zero AS at
    FROM unnest(%(stays)s::bigint[], %(zeros)s::float[]) AS z (stay, zero)
    JOIN ehr_encounter e ON e.id = z.stay
    JOIN ehr_eventseries s ON s.encounter_id = z.stay AND s.event = ANY(%(events)s)
    JOIN ehr_sourcerow r ON r.dataset_id = %(dataset)s AND r.encounter_id = z.stay
        AND r.row_index = ANY(s.row_indices)
    WHERE r.numeric_value IS NOT NULL AND r.time IS NOT NULL
) AS h
WHERE h.at >= %(from)s AND h.at < %(until)s
GROUP BY bin ORDER BY bin
