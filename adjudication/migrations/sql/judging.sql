-- Judging: a finding never changes, and a judged game keeps its sides.
--
-- * A judged game that is done, or that has a finding in a packet, keeps its sides, its comparison,
--   its seed, and the number and the faults of the findings that were dropped (it is judged in
--   part). A comparison never changes.
-- * A timeline that was compared keeps what names its source; being replaced by its author adds
--   "#1", "#2", … to it.
-- * A judge run that has games keeps its sources and its judge.

CREATE FUNCTION adjudication_finding_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adjudication_refuse('finding_kept', 'a finding never changes');
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_finding_kept BEFORE UPDATE ON adjudication_finding
    FOR EACH ROW WHEN (to_jsonb(OLD) - 'series_id' IS DISTINCT FROM to_jsonb(NEW) - 'series_id')
    EXECUTE FUNCTION adjudication_finding_kept();

CREATE FUNCTION adjudication_comparison_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adjudication_refuse('sides_kept', 'a comparison never changes');
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_comparison_kept BEFORE UPDATE ON adjudication_comparison
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION adjudication_comparison_kept();

CREATE FUNCTION adjudication_game_sides_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.outcome = 'judged' AND OLD.state = 'succeeded') OR EXISTS (
        SELECT 1 FROM adjudication_finding f JOIN adjudication_packetitem i ON i.finding_id = f.id WHERE f.game_id = OLD.id
    ) THEN
        PERFORM adjudication_refuse('sides_kept', 'a judged game keeps its sides');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER adjudication_game_sides_kept BEFORE UPDATE ON adjudication_game
    FOR EACH ROW WHEN (
        (OLD.public_id, OLD.run_id, OLD.comparison_id, OLD.swapped, OLD.seed, OLD.a_is_first,
            OLD.outcome, OLD.input_sha256, OLD.dropped_findings, OLD.dropped_reasons)
        IS DISTINCT FROM
        (NEW.public_id, NEW.run_id, NEW.comparison_id, NEW.swapped, NEW.seed, NEW.a_is_first,
            NEW.outcome, NEW.input_sha256, NEW.dropped_findings, NEW.dropped_reasons)
    ) EXECUTE FUNCTION adjudication_game_sides_kept();

CREATE FUNCTION adjudication_timeline_source_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM adjudication_comparison WHERE OLD.id IN (first_id, second_id)) THEN
        PERFORM adjudication_refuse('sides_kept', 'a timeline that was compared keeps its source');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER adjudication_timeline_source_kept BEFORE UPDATE ON timelines_timeline
    FOR EACH ROW WHEN (
        (OLD.public_id, OLD.encounter_id, OLD.inventory_id, OLD.case_run_id, OLD.kind,
            OLD.alternative, regexp_replace(OLD.source, '#[0-9]+$', ''))
        IS DISTINCT FROM
        (NEW.public_id, NEW.encounter_id, NEW.inventory_id, NEW.case_run_id, NEW.kind,
            NEW.alternative, regexp_replace(NEW.source, '#[0-9]+$', ''))
    ) EXECUTE FUNCTION adjudication_timeline_source_kept();

CREATE FUNCTION adjudication_run_sources_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM adjudication_game WHERE run_id = OLD.id) THEN
        PERFORM adjudication_refuse('sides_kept', 'a judge run keeps its sources and its judge');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER adjudication_run_sources_kept BEFORE UPDATE ON adjudication_judgerun
    FOR EACH ROW WHEN (
        (OLD.public_id, OLD.study_id, OLD.sources, OLD.judge,
            OLD.judge_name, OLD.judge_version, OLD.config)
        IS DISTINCT FROM
        (NEW.public_id, NEW.study_id, NEW.sources, NEW.judge,
            NEW.judge_name, NEW.judge_version, NEW.config)
    ) EXECUTE FUNCTION adjudication_run_sources_kept();

-- A game's model calls go with the game. A judge's calls about planted differences are deleted with
-- the dataset whose notes they quote.

CREATE FUNCTION adjudication_forget_calls() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM llm_runtime_forget('adjudication.game', ARRAY(SELECT id::text FROM gone));
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_forget_calls AFTER DELETE ON adjudication_game
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION adjudication_forget_calls();

CREATE FUNCTION adjudication_forget_planted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM llm_runtime_forget('adjudication.planted', ARRAY(SELECT public_id::text FROM gone));
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_forget_planted AFTER DELETE ON ehr_dataset
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION adjudication_forget_planted();
