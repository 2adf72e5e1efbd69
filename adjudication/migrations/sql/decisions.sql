-- Decisions are a chain: each follows the last one of its packet, without a gap, while the packet
-- is open (late answers excepted). None is changed, and they leave only together with their packet.

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
