-- Counts of a judge run's games and findings follow them inside the transaction that changes them,
-- as for runs (timelines/migrations/sql/counts.sql). A finding counts as a row without a state.
-- Pages that follow a judge run read these counts (docs/adr/0038-scale.md).

ALTER TABLE adjudication_judgecount ADD CONSTRAINT judge_count_of_run
    FOREIGN KEY (run_id) REFERENCES adjudication_judgerun (id) ON DELETE CASCADE;

CREATE FUNCTION adjudication_fold_counts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    run bigint;
BEGIN
    FOR run IN SELECT DISTINCT run_id FROM added WHERE id % 64 = 0 LOOP
        WITH gone AS (
            DELETE FROM adjudication_judgecount WHERE id IN (
                SELECT id FROM adjudication_judgecount WHERE run_id = run FOR UPDATE SKIP LOCKED
            ) RETURNING state, outcome, n, moved_at
        )
        INSERT INTO adjudication_judgecount (run_id, state, outcome, n, moved_at)
        SELECT run, state, outcome, sum(n), max(moved_at) FROM gone GROUP BY state, outcome;
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_fold_counts AFTER INSERT ON adjudication_judgecount
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION adjudication_fold_counts();

-- Games.

CREATE FUNCTION adjudication_count_games() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO adjudication_judgecount (run_id, state, outcome, n, moved_at)
        SELECT run_id, state, outcome, count(*), statement_timestamp() FROM added GROUP BY 1, 2, 3;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO adjudication_judgecount (run_id, state, outcome, n, moved_at)
        SELECT run_id, state, outcome, -count(*), statement_timestamp() FROM gone GROUP BY 1, 2, 3;
    ELSE
        INSERT INTO adjudication_judgecount (run_id, state, outcome, n, moved_at)
        SELECT run_id, state, outcome, sum(n), max(moved_at) FROM (
            SELECT run_id, state, outcome, 1 AS n,
                   greatest(statement_timestamp(), CASE state WHEN 'queued' THEN not_before END) AS moved_at FROM added
            UNION ALL
            SELECT run_id, state, outcome, -1, statement_timestamp() FROM gone
        ) g GROUP BY 1, 2, 3 HAVING sum(n) <> 0;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_games_added AFTER INSERT ON adjudication_game
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION adjudication_count_games();
CREATE TRIGGER adjudication_games_changed AFTER UPDATE ON adjudication_game
    REFERENCING OLD TABLE AS gone NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION adjudication_count_games();
CREATE TRIGGER adjudication_games_gone AFTER DELETE ON adjudication_game
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION adjudication_count_games();

-- Findings. No join: a session plans the statement once, perhaps while the tables are almost empty.

CREATE FUNCTION adjudication_count_findings() RETURNS trigger
    LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO adjudication_judgecount (run_id, state, outcome, n, moved_at)
        SELECT (SELECT g.run_id FROM adjudication_game g WHERE g.id = f.game_id), '', '', sum(n), statement_timestamp()
        FROM (SELECT game_id, count(*) AS n FROM added GROUP BY game_id) f GROUP BY 1;
    ELSE
        INSERT INTO adjudication_judgecount (run_id, state, outcome, n, moved_at)
        SELECT (SELECT g.run_id FROM adjudication_game g WHERE g.id = f.game_id), '', '', -sum(n), statement_timestamp()
        FROM (SELECT game_id, count(*) AS n FROM gone GROUP BY game_id) f GROUP BY 1;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_findings_added AFTER INSERT ON adjudication_finding
    REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION adjudication_count_findings();
CREATE TRIGGER adjudication_findings_gone AFTER DELETE ON adjudication_finding
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION adjudication_count_findings();
