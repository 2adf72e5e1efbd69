-- Triggers refuse with check_violation and the name of a rule, as if it were a constraint: a bug in
-- Python must not be able to store a broken timeline (docs/adr/0014-sealed-inventories.md).

CREATE FUNCTION timelines_refuse(rule text, words text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', words USING ERRCODE = 'check_violation', CONSTRAINT = rule;
END $$;
