-- Runs: the study timeline of each dataset, and what goes with a stage.

-- A choice of a study timeline names a run of its own dataset and never changes, except that a
-- later one ends it.

ALTER TABLE timelines_studytimeline ADD CONSTRAINT study_timeline_run_of_dataset
    FOREIGN KEY (run_id, dataset_id) REFERENCES timelines_run (id, dataset_id)
    DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION timelines_study_timeline_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.replaced_at IS NOT NULL
        OR (to_jsonb(OLD) - 'replaced_at') IS DISTINCT FROM (to_jsonb(NEW) - 'replaced_at') THEN
        PERFORM timelines_refuse('study_timeline_kept', 'a choice of a study timeline is ended by the next one and never changed');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_study_timeline_kept BEFORE UPDATE ON timelines_studytimeline
    FOR EACH ROW EXECUTE FUNCTION timelines_study_timeline_kept();

-- What a stage asked of language models, and what they answered, goes when the stage goes (its run,
-- case or dataset is deleted).

CREATE FUNCTION timelines_forget_calls() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM llm_runtime_forget('timelines.stagerun', (SELECT array_agg(id::text) FROM gone));
    RETURN NULL;
END
$$;
CREATE TRIGGER timelines_stage_calls_go AFTER DELETE ON timelines_stagerun
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION timelines_forget_calls();
