-- A run may name each case's consensus, by any authors; an exact name comes first.

CREATE OR REPLACE FUNCTION adjudication_find_source(
    sources jsonb, source text, kind text, alternative integer
) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT n::integer - 1 FROM jsonb_array_elements(sources) WITH ORDINALITY AS s (key, n)
    WHERE key IN (
        jsonb_build_array(source, kind, alternative),
        jsonb_build_array(regexp_replace(source, '#\d+$', ''), kind, alternative)
    ) OR (source LIKE 'consensus:%' AND key = jsonb_build_array('consensus', kind, alternative))
    ORDER BY key = jsonb_build_array('consensus', kind, alternative),
        key = jsonb_build_array(source, kind, alternative) DESC
    LIMIT 1
$$;

-- The calls of a measurement of planted differences name the dataset and the measurement, so that
-- its cost is known. They go with the dataset whose notes they quote.

CREATE OR REPLACE FUNCTION adjudication_forget_planted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM llm_runtime_forget('adjudication.planted', ARRAY(
        SELECT DISTINCT owner_id FROM llm_runtime_modelcall
        WHERE owner_type = 'adjudication.planted'
            AND split_part(owner_id, ':', 1) IN (SELECT public_id FROM gone)
    ));
    RETURN NULL;
END $$;
