"""A judged game keeps its sides, and an opened packet keeps what it rests on, for every writer.

* A judged game that is done, or that has a finding in a packet, keeps its sides, its comparison and its seed. A comparison never changes.
* A timeline that was compared keeps what names its source; being replaced by its author adds "#1", "#2", … to it.
* A judge run that has games keeps its sources and its judge.
* A packet that was opened keeps everything but its state and the end of its chain, and is not deleted; nor are the people in it and the
  slots of its reviewers. Somebody's seed stays, and their role once they have decided.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION adjudication_comparison_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adjudication_refuse('sides_kept', 'a comparison never changes');
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_comparison_kept BEFORE UPDATE ON adjudication_comparison
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION adjudication_comparison_kept();

CREATE FUNCTION adjudication_game_sides_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.outcome = 'judged' AND OLD.state = 'succeeded') OR EXISTS (
        SELECT 1 FROM adjudication_finding f JOIN adjudication_packetitem i ON i.finding_id = f.id WHERE f.game_id = OLD.id
    ) THEN
        PERFORM adjudication_refuse('sides_kept', 'a judged game keeps its sides');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER adjudication_game_sides_kept BEFORE UPDATE ON adjudication_game FOR EACH ROW WHEN (
    (OLD.public_id, OLD.run_id, OLD.comparison_id, OLD.swapped, OLD.seed, OLD.a_is_first, OLD.outcome, OLD.input_sha256)
    IS DISTINCT FROM
    (NEW.public_id, NEW.run_id, NEW.comparison_id, NEW.swapped, NEW.seed, NEW.a_is_first, NEW.outcome, NEW.input_sha256)
) EXECUTE FUNCTION adjudication_game_sides_kept();

CREATE FUNCTION adjudication_timeline_source_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM adjudication_comparison WHERE OLD.id IN (first_id, second_id)) THEN
        PERFORM adjudication_refuse('sides_kept', 'a timeline that was compared keeps its source');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER adjudication_timeline_source_kept BEFORE UPDATE ON timelines_timeline FOR EACH ROW WHEN (
    (OLD.public_id, OLD.encounter_id, OLD.inventory_id, OLD.case_run_id, OLD.kind, OLD.alternative,
        regexp_replace(OLD.source, '#[0-9]+$', ''))
    IS DISTINCT FROM
    (NEW.public_id, NEW.encounter_id, NEW.inventory_id, NEW.case_run_id, NEW.kind, NEW.alternative,
        regexp_replace(NEW.source, '#[0-9]+$', ''))
) EXECUTE FUNCTION adjudication_timeline_source_kept();

CREATE FUNCTION adjudication_run_sources_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM adjudication_game WHERE run_id = OLD.id) THEN
        PERFORM adjudication_refuse('sides_kept', 'a judge run keeps its sources and its judge');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER adjudication_run_sources_kept BEFORE UPDATE ON adjudication_judgerun FOR EACH ROW WHEN (
    (OLD.public_id, OLD.study_id, OLD.sources, OLD.judge, OLD.judge_name, OLD.judge_version, OLD.config)
    IS DISTINCT FROM
    (NEW.public_id, NEW.study_id, NEW.sources, NEW.judge, NEW.judge_name, NEW.judge_version, NEW.config)
) EXECUTE FUNCTION adjudication_run_sources_kept();

CREATE FUNCTION adjudication_opened_packet_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adjudication_refuse('opened_packet_kept', 'an opened packet stays as it is');
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_opened_packet_kept BEFORE UPDATE ON adjudication_packet FOR EACH ROW WHEN (
    OLD.state <> 'draft' AND (
        to_jsonb(OLD) - ARRAY['state', 'closed_at', 'chain_length', 'chain_head']
        IS DISTINCT FROM to_jsonb(NEW) - ARRAY['state', 'closed_at', 'chain_length', 'chain_head']
        OR (OLD.state = 'closed' AND OLD.closed_at IS DISTINCT FROM NEW.closed_at)
    )
) EXECUTE FUNCTION adjudication_opened_packet_kept();
CREATE TRIGGER adjudication_opened_packet_stays BEFORE DELETE ON adjudication_packet
    FOR EACH ROW WHEN (OLD.state <> 'draft') EXECUTE FUNCTION adjudication_opened_packet_kept();

CREATE FUNCTION adjudication_share_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT adjudication_packet_is_draft(OLD.packet_id) AND (
        TG_OP = 'DELETE'
        OR (OLD.public_id, OLD.packet_id, OLD.person_id, OLD.seed) IS DISTINCT FROM (NEW.public_id, NEW.packet_id, NEW.person_id, NEW.seed)
        OR EXISTS (SELECT 1 FROM adjudication_decision WHERE assignment_id = OLD.id)
    ) THEN
        PERFORM adjudication_refuse('opened_packet_kept', 'somebody in an opened packet keeps their seed, and their role once they decided');
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER adjudication_share_kept BEFORE UPDATE ON adjudication_assignment FOR EACH ROW WHEN (
    (OLD.public_id, OLD.packet_id, OLD.person_id, OLD.seed, OLD.role)
    IS DISTINCT FROM (NEW.public_id, NEW.packet_id, NEW.person_id, NEW.seed, NEW.role)
) EXECUTE FUNCTION adjudication_share_kept();
CREATE TRIGGER adjudication_share_stays BEFORE DELETE ON adjudication_assignment
    FOR EACH ROW EXECUTE FUNCTION adjudication_share_kept();

CREATE FUNCTION adjudication_slot_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM adjudication_packetitem i JOIN adjudication_packet p ON p.id = i.packet_id
        WHERE i.id = OLD.item_id AND p.state <> 'draft'
    ) THEN
        PERFORM adjudication_refuse('opened_packet_kept', 'the slots of an opened packet stay');
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER adjudication_slot_stays BEFORE DELETE ON adjudication_slot
    FOR EACH ROW WHEN (OLD.purpose = 'review' OR OLD.decision_id IS NOT NULL) EXECUTE FUNCTION adjudication_slot_stays();
"""

BACKWARD = """
DROP FUNCTION adjudication_slot_stays, adjudication_share_kept, adjudication_opened_packet_kept, adjudication_run_sources_kept,
    adjudication_timeline_source_kept, adjudication_game_sides_kept, adjudication_comparison_kept CASCADE;
"""


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0007_hint_index"), ("timelines", "0001_initial")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
