-- Triggers refuse with check_violation and the name of a rule, as in timelines: the database
-- enforces for every writer the rules of judging and review that no single row can state.

CREATE FUNCTION adjudication_refuse(rule text, words text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', words USING ERRCODE = 'check_violation', CONSTRAINT = rule;
END $$;
