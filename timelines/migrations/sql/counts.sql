-- Counts of stages and cases by state, and each case's state, follow the stages inside the
-- transaction that changes them. Pages that follow a run read these instead of aggregating its
-- stages (docs/adr/0038-scale.md).
--
-- * A change of states adds rows to timelines_runcount; the sum of a run's rows is the count.
--   Nobody waits for another's row. About every 64th row, a run's rows are replaced by their sum.
--   Rows that another transaction is replacing are left alone.
-- * The state of a case follows timelines.case_state. Its row is locked before its stages are read
--   again, so that of two transactions that change stages of one case the later one sees both
--   changes. A transaction that changes many stages locks them beforehand, in order (jobs.actions),
--   so that it never waits for a stage while others wait for a case.
-- * The functions run with the rights of the role that changes a stage: they read and write these
--   tables only, as the application does.

ALTER TABLE timelines_runcount ADD CONSTRAINT run_count_of_run
    FOREIGN KEY (run_id) REFERENCES timelines_run (id) ON DELETE CASCADE;

CREATE FUNCTION timelines_fold_counts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    run bigint;
BEGIN
    FOR run IN SELECT DISTINCT run_id FROM added WHERE id % 64 = 0 LOOP
        WITH gone AS (
            DELETE FROM timelines_runcount WHERE id IN (
                SELECT id FROM timelines_runcount WHERE run_id = run FOR UPDATE SKIP LOCKED
            ) RETURNING stage, state, n, moved_at
        )
        INSERT INTO timelines_runcount (run_id, stage, state, n, moved_at)
        SELECT run, stage, state, sum(n), max(moved_at) FROM gone GROUP BY stage, state;
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_fold_counts AFTER INSERT ON timelines_runcount
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION timelines_fold_counts();

-- Stages. The two CASE expressions are the rule of timelines.case_state, for the case run c.
--
-- A session plans these statements once, perhaps while the tables are almost empty. So they have no
-- joins that such a plan could order badly: a change of one stage must not read the run, and a
-- change of all must not be quadratic. Rows are reached by their keys.

CREATE FUNCTION timelines_count_stages() RETURNS trigger
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    touched bigint[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        touched := ARRAY(SELECT DISTINCT case_run_id FROM added);
        INSERT INTO timelines_runcount (run_id, stage, state, n, moved_at)
        SELECT (SELECT c.run_id FROM timelines_caserun c WHERE c.id = s.case_run_id), s.stage, s.state, count(*), statement_timestamp() FROM added s GROUP BY 1, 2, 3;
    ELSIF TG_OP = 'DELETE' THEN
        touched := ARRAY(SELECT DISTINCT case_run_id FROM gone);
        INSERT INTO timelines_runcount (run_id, stage, state, n, moved_at)
        SELECT (SELECT c.run_id FROM timelines_caserun c WHERE c.id = s.case_run_id), s.stage, s.state, -count(*), statement_timestamp() FROM gone s GROUP BY 1, 2, 3;
    ELSE
        touched := ARRAY(SELECT DISTINCT case_run_id FROM (
            SELECT id, state, case_run_id FROM added EXCEPT SELECT id, state, case_run_id FROM gone
        ) changed);
        IF cardinality(touched) = 0 THEN
            RETURN NULL;
        END IF;
        INSERT INTO timelines_runcount (run_id, stage, state, n, moved_at)
        SELECT (SELECT c.run_id FROM timelines_caserun c WHERE c.id = s.case_run_id), s.stage, s.state, sum(s.n), max(s.moved_at)
        FROM (
            SELECT case_run_id, stage, state, 1 AS n,
                   greatest(statement_timestamp(), CASE state WHEN 'queued' THEN not_before END) AS moved_at FROM added
            UNION ALL
            SELECT case_run_id, stage, state, -1, statement_timestamp() FROM gone
        ) s GROUP BY 1, 2, 3 HAVING sum(s.n) <> 0;
    END IF;
    PERFORM 1 FROM timelines_caserun WHERE id = ANY (touched) ORDER BY id FOR NO KEY UPDATE;
    UPDATE timelines_caserun c SET state = (SELECT CASE
        WHEN count(s.id) = 0 THEN 'none'
        WHEN bool_or(s.state = 'failed') THEN 'failed'
        WHEN bool_or(s.state = 'cancelled') THEN 'cancelled'
        WHEN bool_or(s.state = 'running') THEN 'running'
        WHEN bool_and(s.state = 'succeeded') THEN 'done'
        ELSE 'waiting'
    END FROM timelines_stagerun s WHERE s.case_run_id = c.id) WHERE c.id = ANY (touched) AND c.state <> (SELECT CASE
        WHEN count(s.id) = 0 THEN 'none'
        WHEN bool_or(s.state = 'failed') THEN 'failed'
        WHEN bool_or(s.state = 'cancelled') THEN 'cancelled'
        WHEN bool_or(s.state = 'running') THEN 'running'
        WHEN bool_and(s.state = 'succeeded') THEN 'done'
        ELSE 'waiting'
    END FROM timelines_stagerun s WHERE s.case_run_id = c.id);
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_stages_added AFTER INSERT ON timelines_stagerun
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION timelines_count_stages();
CREATE TRIGGER timelines_stages_changed AFTER UPDATE ON timelines_stagerun
    REFERENCING OLD TABLE AS gone NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION timelines_count_stages();
CREATE TRIGGER timelines_stages_gone AFTER DELETE ON timelines_stagerun
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION timelines_count_stages();

-- Cases.

CREATE FUNCTION timelines_count_cases() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO timelines_runcount (run_id, stage, state, n, moved_at)
        SELECT run_id, '', state, count(*), statement_timestamp() FROM added GROUP BY run_id, state;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO timelines_runcount (run_id, stage, state, n, moved_at)
        SELECT run_id, '', state, -count(*), statement_timestamp() FROM gone GROUP BY run_id, state;
    ELSE
        INSERT INTO timelines_runcount (run_id, stage, state, n, moved_at)
        SELECT run_id, '', state, sum(n), statement_timestamp()
        FROM (SELECT run_id, state, 1 AS n FROM added UNION ALL SELECT run_id, state, -1 FROM gone) c
        GROUP BY run_id, state HAVING sum(n) <> 0;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_cases_added AFTER INSERT ON timelines_caserun
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION timelines_count_cases();
CREATE TRIGGER timelines_cases_changed AFTER UPDATE ON timelines_caserun
    REFERENCING OLD TABLE AS gone NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION timelines_count_cases();
CREATE TRIGGER timelines_cases_gone AFTER DELETE ON timelines_caserun
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION timelines_count_cases();
