-- Lists of findings filter and sort a million rows of one judge run. What they need of other tables
-- is stored with the finding, and findings are counted by facet: the values that lists filter by
-- (adjudication/findings/facets.py, docs/adr/0066-judging-at-scale.md).

CREATE FUNCTION adjudication_describe_finding() RETURNS trigger
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    game record;
    sides integer[];
BEGIN
    SELECT g.run_id, g.swapped, r.sources, e.case_id,
           one.source AS one_source, one.kind AS one_kind, one.alternative AS one_alternative,
           two.source AS two_source, two.kind AS two_kind, two.alternative AS two_alternative
      INTO game
      FROM adjudication_game g
      JOIN adjudication_judgerun r ON r.id = g.run_id
      JOIN adjudication_comparison c ON c.id = g.comparison_id
      JOIN ehr_encounter e ON e.id = c.encounter_id
      JOIN timelines_timeline one ON one.id = c.first_id
      JOIN timelines_timeline two ON two.id = c.second_id
     WHERE g.id = NEW.game_id;
    sides := ARRAY[
        adjudication_find_source(game.sources, game.one_source, game.one_kind, game.one_alternative),
        adjudication_find_source(game.sources, game.two_source, game.two_kind, game.two_alternative)
    ];
    NEW.run_id := game.run_id;
    NEW."case" := coalesce(game.case_id, '');
    NEW.apart := CASE WHEN NEW.a_event IS NOT NULL AND NEW.b_event IS NOT NULL THEN abs(NEW.a_time - NEW.b_time) END;
    NEW.facet := concat_ws('|',
        CASE WHEN game.swapped THEN 'swapped' ELSE '' END,
        coalesce(sides[1]::text, ''), coalesce(sides[2]::text, ''),
        NEW.type, NEW.verdict, NEW.grounding, NEW.category,
        CASE NEW.charged_first WHEN true THEN 'first' WHEN false THEN 'second' ELSE '' END,
        CASE WHEN NEW.flagged THEN 'flagged' ELSE '' END,
        CASE WHEN NEW.a_event IS NULL OR NEW.b_event IS NULL THEN 'single'
             WHEN NEW.apart IS NULL THEN 'none' WHEN NEW.apart = 0 THEN 'same'
             WHEN NEW.apart < 24 THEN 'hours' WHEN NEW.apart < 168 THEN 'days' ELSE 'weeks' END);
    RETURN NEW;
END $$;

-- The number of a source in the run, from 0. A submission that a later one replaced keeps the number
-- of its author.
CREATE FUNCTION adjudication_find_source(sources jsonb, source text, kind text, alternative integer)
    RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT n::integer - 1 FROM jsonb_array_elements(sources) WITH ORDINALITY AS s (key, n)
    WHERE key IN (
        jsonb_build_array(source, kind, alternative),
        jsonb_build_array(regexp_replace(source, '#\d+$', ''), kind, alternative)
    )
    ORDER BY key = jsonb_build_array(source, kind, alternative) DESC LIMIT 1
$$;

CREATE TRIGGER adjudication_describe_finding BEFORE INSERT OR UPDATE ON adjudication_finding
    FOR EACH ROW EXECUTE FUNCTION adjudication_describe_finding();

-- Counts by facet are rows of changes, so that workers do not wait for each other. They are folded
-- less often than those of games, because a run has thousands of facets.

ALTER TABLE adjudication_findingcount ADD CONSTRAINT finding_count_of_run
    FOREIGN KEY (run_id) REFERENCES adjudication_judgerun (id) ON DELETE CASCADE;

CREATE FUNCTION adjudication_fold_finding_counts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    run bigint;
BEGIN
    FOR run IN SELECT DISTINCT run_id FROM added WHERE id % 4096 = 0 LOOP
        WITH gone AS (
            DELETE FROM adjudication_findingcount WHERE id IN (
                SELECT id FROM adjudication_findingcount WHERE run_id = run FOR UPDATE SKIP LOCKED
            ) RETURNING facet, n
        )
        INSERT INTO adjudication_findingcount (run_id, facet, n)
        SELECT run, facet, sum(n) FROM gone GROUP BY facet HAVING sum(n) <> 0;
    END LOOP;
    RETURN NULL;
END $$;
-- Rows that folding itself adds are not folded again.
CREATE TRIGGER adjudication_fold_finding_counts AFTER INSERT ON adjudication_findingcount
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT WHEN (pg_trigger_depth() < 2)
    EXECUTE FUNCTION adjudication_fold_finding_counts();

CREATE FUNCTION adjudication_count_facets() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO adjudication_findingcount (run_id, facet, n)
        SELECT run_id, facet, count(*) FROM added GROUP BY run_id, facet;
    ELSE
        INSERT INTO adjudication_findingcount (run_id, facet, n)
        SELECT run_id, facet, -count(*) FROM gone GROUP BY run_id, facet;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_facets_added AFTER INSERT ON adjudication_finding
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION adjudication_count_facets();
CREATE TRIGGER adjudication_facets_gone AFTER DELETE ON adjudication_finding
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION adjudication_count_facets();

-- Findings that were stored before.

ALTER TABLE adjudication_finding DISABLE TRIGGER adjudication_finding_kept;
UPDATE adjudication_finding SET facet = '';
ALTER TABLE adjudication_finding ENABLE TRIGGER adjudication_finding_kept;
INSERT INTO adjudication_findingcount (run_id, facet, n)
SELECT run_id, facet, count(*) FROM adjudication_finding GROUP BY run_id, facet;
