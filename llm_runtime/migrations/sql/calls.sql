-- Model calls and their requests are append-only: the database refuses changes, deletions and
-- TRUNCATE.
--
-- They go with their owner alone: the owner's table calls llm_runtime_forget from a trigger of its
-- own when rows of it are deleted, and only a statement from inside a trigger may delete. A
-- request's text goes with the last call that made it.

CREATE FUNCTION llm_runtime_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND pg_trigger_depth() > 1 THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'model calls are append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER llm_runtime_calls_kept BEFORE UPDATE OR DELETE ON llm_runtime_modelcall
    FOR EACH STATEMENT EXECUTE FUNCTION llm_runtime_refuse();
CREATE TRIGGER llm_runtime_calls_not_emptied BEFORE TRUNCATE ON llm_runtime_modelcall
    FOR EACH STATEMENT EXECUTE FUNCTION llm_runtime_refuse();
CREATE TRIGGER llm_runtime_requests_kept BEFORE UPDATE OR DELETE ON llm_runtime_modelrequesttext
    FOR EACH STATEMENT EXECUTE FUNCTION llm_runtime_refuse();
CREATE TRIGGER llm_runtime_requests_not_emptied BEFORE TRUNCATE ON llm_runtime_modelrequesttext
    FOR EACH STATEMENT EXECUTE FUNCTION llm_runtime_refuse();

CREATE FUNCTION llm_runtime_forget(kind text, ids text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    requests text[];
BEGIN
    WITH gone AS (
        DELETE FROM llm_runtime_modelcall WHERE owner_type = kind AND owner_id = ANY (ids) RETURNING request_sha256
    )
    SELECT array_agg(DISTINCT request_sha256) INTO requests FROM gone;
    DELETE FROM llm_runtime_modelrequesttext t
        WHERE t.sha256 = ANY (requests) AND NOT EXISTS (SELECT 1 FROM llm_runtime_modelcall c WHERE c.request_sha256 = t.sha256);
END
$$;
