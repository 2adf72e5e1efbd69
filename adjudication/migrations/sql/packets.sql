-- Packets: what was opened stays.
--
-- * A packet's items stand as they were when it was opened. An item has no more slots than its
--   quota, and one for a third person.
-- * A packet that was opened keeps everything but its state and the end of its chain, and is not
--   deleted; nor are the people in it and the slots of its reviewers. Somebody's seed stays, and
--   their role once they have decided.
-- * A slot's decision is of that slot's item and person.

-- The packet itself.

CREATE FUNCTION adjudication_packet_goes_on() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.state, NEW.state) NOT IN (('draft', 'open'), ('open', 'closed')) THEN
        PERFORM adjudication_refuse('packet_goes_on', 'a packet goes from draft to open to closed');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER adjudication_packet_goes_on BEFORE UPDATE ON adjudication_packet
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state)
    EXECUTE FUNCTION adjudication_packet_goes_on();

CREATE FUNCTION adjudication_opened_packet_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM adjudication_refuse('opened_packet_kept', 'an opened packet stays as it is');
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_opened_packet_kept BEFORE UPDATE ON adjudication_packet
    FOR EACH ROW WHEN (
        OLD.state <> 'draft' AND (
            to_jsonb(OLD) - ARRAY['state', 'closed_at', 'chain_length', 'chain_head']
            IS DISTINCT FROM
            to_jsonb(NEW) - ARRAY['state', 'closed_at', 'chain_length', 'chain_head']
            OR (OLD.state = 'closed' AND OLD.closed_at IS DISTINCT FROM NEW.closed_at)
        )
    ) EXECUTE FUNCTION adjudication_opened_packet_kept();
CREATE TRIGGER adjudication_opened_packet_stays BEFORE DELETE ON adjudication_packet
    FOR EACH ROW WHEN (OLD.state <> 'draft') EXECUTE FUNCTION adjudication_opened_packet_kept();

CREATE FUNCTION adjudication_packet_is_draft(packet bigint) RETURNS boolean LANGUAGE sql AS $$
    SELECT NOT EXISTS (SELECT 1 FROM adjudication_packet WHERE id = packet AND state <> 'draft')
$$;

-- Its items. Their loss is judged at the end of the transaction: items may leave together with
-- their packet.

CREATE FUNCTION adjudication_item_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT adjudication_packet_is_draft(NEW.packet_id) OR (TG_OP = 'UPDATE' AND NOT adjudication_packet_is_draft(OLD.packet_id)) THEN
        PERFORM adjudication_refuse('opened_packet_kept', 'the items of an opened packet stay as they are');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER adjudication_item_kept BEFORE INSERT OR UPDATE ON adjudication_packetitem
    FOR EACH ROW EXECUTE FUNCTION adjudication_item_kept();

CREATE FUNCTION adjudication_item_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT adjudication_packet_is_draft(OLD.packet_id) THEN
        PERFORM adjudication_refuse('opened_packet_kept', 'the items of an opened packet stay as they are');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER adjudication_item_gone AFTER DELETE ON adjudication_packetitem
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION adjudication_item_gone();

-- The people in it.

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
CREATE TRIGGER adjudication_share_kept BEFORE UPDATE ON adjudication_assignment
    FOR EACH ROW WHEN (
        (OLD.public_id, OLD.packet_id, OLD.person_id, OLD.seed, OLD.role)
        IS DISTINCT FROM
        (NEW.public_id, NEW.packet_id, NEW.person_id, NEW.seed, NEW.role)
    ) EXECUTE FUNCTION adjudication_share_kept();
CREATE TRIGGER adjudication_share_stays BEFORE DELETE ON adjudication_assignment
    FOR EACH ROW EXECUTE FUNCTION adjudication_share_kept();

-- Slots.

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
    FOR EACH ROW WHEN (OLD.purpose = 'review' OR OLD.decision_id IS NOT NULL)
    EXECUTE FUNCTION adjudication_slot_stays();
