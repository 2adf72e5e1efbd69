-- The partitioned table of source rows, which COPY fills. See ehr/partitions.py for the partitions
-- of a dataset.

ALTER TABLE ehr_encounter ADD CONSTRAINT ehr_encounter_in_dataset UNIQUE (dataset_id, id);

CREATE TABLE ehr_sourcerow (
    dataset_id bigint NOT NULL,
    encounter_id bigint NOT NULL,
    row_index integer NOT NULL CHECK (row_index >= 0),
    "time" timestamp,
    result_time timestamp,
    event text NOT NULL CHECK (event <> ''),
    value text NOT NULL DEFAULT '',
    numeric_value double precision,
    unit text NOT NULL DEFAULT '',
    source text NOT NULL DEFAULT '',
    time_kind text NOT NULL CHECK (time_kind IN (
        'collection', 'result', 'order', 'administration', 'performed', 'charted',
        'administrative', 'unknown')),
    PRIMARY KEY (dataset_id, encounter_id, row_index),
    CONSTRAINT ehr_sourcerow_of_encounter FOREIGN KEY (dataset_id, encounter_id)
        REFERENCES ehr_encounter (dataset_id, id) ON DELETE CASCADE
) PARTITION BY LIST (dataset_id);

-- Partitions are made and dropped by functions with the owner's rights: the application's role may
-- neither create nor drop tables. Both check what they are asked for: only a dataset gets a
-- partition, and only a partition without its dataset is dropped.

CREATE FUNCTION ehr_add_partition(dataset bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    part text := format('ehr_sourcerow_d%s', dataset);
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('ehr_sourcerow'), dataset::integer);
    IF to_regclass(part) IS NOT NULL THEN
        RETURN false;
    END IF;
    IF NOT EXISTS (SELECT FROM ehr_dataset WHERE id = dataset) THEN
        RAISE EXCEPTION 'There is no dataset %.', dataset USING ERRCODE = 'foreign_key_violation';
    END IF;
    EXECUTE format('CREATE TABLE %I PARTITION OF ehr_sourcerow FOR VALUES IN (%L) PARTITION BY HASH (encounter_id)', part, dataset);
    FOR remainder IN 0..3 LOOP
        EXECUTE format(
            'CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 4, REMAINDER %s)', part || '_' || remainder, part, remainder
        );
    END LOOP;
    RETURN true;
END $$;

CREATE FUNCTION ehr_drop_partition(dataset bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    part text := format('ehr_sourcerow_d%s', dataset);
BEGIN
    IF to_regclass(part) IS NULL THEN
        RETURN false;
    END IF;
    IF EXISTS (SELECT FROM ehr_dataset WHERE id = dataset) THEN
        RAISE EXCEPTION 'The dataset % is still there.', dataset USING ERRCODE = 'foreign_key_violation';
    END IF;
    -- Checks that wait for the commit would forbid changing the table.
    SET CONSTRAINTS ALL IMMEDIATE;
    EXECUTE format('ALTER TABLE ehr_sourcerow DETACH PARTITION %I', part);
    EXECUTE format('DROP TABLE %I', part);
    SET CONSTRAINTS ALL DEFERRED;
    RETURN true;
END $$;

REVOKE ALL ON FUNCTION ehr_add_partition(bigint), ehr_drop_partition(bigint) FROM PUBLIC;

-- Names are looked up where the tables are, never where a caller put something of the same name.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION ehr_add_partition(bigint) SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION ehr_drop_partition(bigint) SET search_path = %I, pg_temp', current_schema());
END $$;
