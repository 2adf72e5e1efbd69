"""Rules of judging and review that no single row can state; the database enforces them for every writer.

* A finding never changes. A game's model calls go with the game.
* A packet's items stand as they were when it was opened. An item has no more slots than its quota, and one for a third person.
* Decisions are a chain: each follows the last one of its packet, without a gap, while the packet is open (late answers excepted);
  none is changed, and they leave only together with their packet.
* A slot's decision is of that slot's item and person.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION adjudication_refuse(rule text, words text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', words USING ERRCODE = 'check_violation', CONSTRAINT = rule;
END $$;

CREATE FUNCTION adjudication_finding_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adjudication_refuse('finding_kept', 'a finding never changes');
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_finding_kept BEFORE UPDATE ON adjudication_finding
    FOR EACH ROW WHEN (to_jsonb(OLD) - 'series_id' IS DISTINCT FROM to_jsonb(NEW) - 'series_id')
    EXECUTE FUNCTION adjudication_finding_kept();

CREATE FUNCTION adjudication_forget_calls() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM llm_runtime_forget('adjudication.game', ARRAY(SELECT id::text FROM gone));
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_forget_calls AFTER DELETE ON adjudication_game
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION adjudication_forget_calls();

CREATE FUNCTION adjudication_packet_is_draft(packet bigint) RETURNS boolean LANGUAGE sql AS $$
    SELECT NOT EXISTS (SELECT 1 FROM adjudication_packet WHERE id = packet AND state <> 'draft')
$$;
CREATE FUNCTION adjudication_item_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT adjudication_packet_is_draft(NEW.packet_id) OR (TG_OP = 'UPDATE' AND NOT adjudication_packet_is_draft(OLD.packet_id)) THEN
        PERFORM adjudication_refuse('opened_packet_kept', 'the items of an opened packet stay as they are');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER adjudication_item_kept BEFORE INSERT OR UPDATE ON adjudication_packetitem
    FOR EACH ROW EXECUTE FUNCTION adjudication_item_kept();

-- Judged at the end of the transaction: items may leave together with their packet.
CREATE FUNCTION adjudication_item_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT adjudication_packet_is_draft(OLD.packet_id) THEN
        PERFORM adjudication_refuse('opened_packet_kept', 'the items of an opened packet stay as they are');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER adjudication_item_gone AFTER DELETE ON adjudication_packetitem
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION adjudication_item_gone();

CREATE FUNCTION adjudication_packet_goes_on() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.state, NEW.state) NOT IN (('draft', 'open'), ('open', 'closed')) THEN
        PERFORM adjudication_refuse('packet_goes_on', 'a packet goes from draft to open to closed');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER adjudication_packet_goes_on BEFORE UPDATE ON adjudication_packet
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION adjudication_packet_goes_on();

CREATE FUNCTION adjudication_slot_fits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.number < 1 OR NEW.number > (
        SELECT CASE WHEN NEW.purpose = 'review' THEN quota ELSE 1 END FROM adjudication_packetitem WHERE id = NEW.item_id
    ) THEN
        PERFORM adjudication_refuse('slot_within_quota', 'an item has no more slots than its quota');
    END IF;
    IF NEW.assignment_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM adjudication_assignment a JOIN adjudication_packetitem i ON i.packet_id = a.packet_id
        WHERE a.id = NEW.assignment_id AND i.id = NEW.item_id AND (a.role = 'adjudicator') = (NEW.purpose = 'adjudication')
    ) THEN
        PERFORM adjudication_refuse('slot_of_packet', 'a slot is held by somebody of its packet, in that role');
    END IF;
    IF NEW.decision_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM adjudication_decision d
        WHERE d.id = NEW.decision_id AND d.item_id = NEW.item_id AND d.assignment_id = NEW.assignment_id
            AND d.kind IN ('answer', 'amendment')
    ) THEN
        PERFORM adjudication_refuse('slot_decision_fits', 'the decision of a slot is of its item and its person');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER adjudication_slot_fits BEFORE INSERT OR UPDATE ON adjudication_slot
    FOR EACH ROW EXECUTE FUNCTION adjudication_slot_fits();

CREATE FUNCTION adjudication_decision_follows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    last record;
BEGIN
    SELECT sequence, hash INTO last FROM adjudication_decision WHERE packet_id = NEW.packet_id ORDER BY sequence DESC LIMIT 1;
    IF NEW.sequence <> coalesce(last.sequence, 0) + 1 OR NEW.previous_hash <> coalesce(last.hash, '') THEN
        PERFORM adjudication_refuse('chain_without_gap', 'a decision follows the last one of its packet');
    END IF;
    IF NEW.kind <> 'late' AND NOT EXISTS (SELECT 1 FROM adjudication_packet WHERE id = NEW.packet_id AND state = 'open') THEN
        PERFORM adjudication_refuse('decision_while_open', 'decisions are made while the packet is open');
    END IF;
    IF NOT EXISTS (SELECT 1 FROM adjudication_assignment WHERE id = NEW.assignment_id AND packet_id = NEW.packet_id) OR (
        NEW.item_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM adjudication_packetitem WHERE id = NEW.item_id AND packet_id = NEW.packet_id)
    ) THEN
        PERFORM adjudication_refuse('decision_of_packet', 'a decision is by somebody of the packet, about an item of it');
    END IF;
    IF NEW.amends_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM adjudication_decision WHERE id = NEW.amends_id AND assignment_id = NEW.assignment_id AND item_id = NEW.item_id
    ) THEN
        PERFORM adjudication_refuse('amends_own', 'an amendment is about a decision of the same person on the same item');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER adjudication_decision_follows BEFORE INSERT ON adjudication_decision
    FOR EACH ROW EXECUTE FUNCTION adjudication_decision_follows();

CREATE FUNCTION adjudication_decision_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adjudication_refuse('decision_kept', 'decisions are append-only');
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_decision_kept BEFORE UPDATE ON adjudication_decision
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION adjudication_decision_kept();
CREATE TRIGGER adjudication_decisions_not_emptied BEFORE TRUNCATE ON adjudication_decision
    FOR EACH STATEMENT EXECUTE FUNCTION adjudication_decision_kept();

CREATE FUNCTION adjudication_decision_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM adjudication_packet WHERE id = OLD.packet_id) THEN
        PERFORM adjudication_refuse('decision_kept', 'a decision leaves only together with its packet');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER adjudication_decision_gone AFTER DELETE ON adjudication_decision
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION adjudication_decision_gone();
"""

BACKWARD = """
DROP TRIGGER adjudication_decision_gone ON adjudication_decision;
DROP TRIGGER adjudication_decisions_not_emptied ON adjudication_decision;
DROP TRIGGER adjudication_decision_kept ON adjudication_decision;
DROP TRIGGER adjudication_decision_follows ON adjudication_decision;
DROP TRIGGER adjudication_slot_fits ON adjudication_slot;
DROP TRIGGER adjudication_packet_goes_on ON adjudication_packet;
DROP TRIGGER adjudication_item_gone ON adjudication_packetitem;
DROP TRIGGER adjudication_item_kept ON adjudication_packetitem;
DROP TRIGGER adjudication_forget_calls ON adjudication_game;
DROP TRIGGER adjudication_finding_kept ON adjudication_finding;
DROP FUNCTION adjudication_decision_gone();
DROP FUNCTION adjudication_decision_kept();
DROP FUNCTION adjudication_decision_follows();
DROP FUNCTION adjudication_slot_fits();
DROP FUNCTION adjudication_packet_goes_on();
DROP FUNCTION adjudication_item_gone();
DROP FUNCTION adjudication_item_kept();
DROP FUNCTION adjudication_packet_is_draft(bigint);
DROP FUNCTION adjudication_forget_calls();
DROP FUNCTION adjudication_finding_kept();
DROP FUNCTION adjudication_refuse(text, text);
"""


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0001_judging_and_review"), ("llm_runtime", "0002_calls_are_append_only")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
