-- A plant gets a "seq" above those of all others, also where the sequence is behind them: logical replication copies rows
-- without it, and a dump of some tables lacks it. Under the lock, before the first number is taken, the sequence is set to the
-- largest "seq" from its next number on, and stays where there is none: setval does nothing for NULL. That is one look at the
-- end of an index: without enable_seqscan = off, a plan that was made for a few rows would read all rows of a large table; and
-- what that setting makes expensive, the look at the sequence, would be compiled without jit = off.
--
-- The function runs with the rights of its owner: a server may not set the sequence.

CREATE OR REPLACE FUNCTION "Plant_order"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET lock_timeout = '2s' SET enable_seqscan = off SET jit = off AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(482854661748);
    PERFORM setval('"Plant_seq_seq"', max("seq")) FROM "Plant"
    WHERE "seq" >= (SELECT last_value + is_called::integer FROM "Plant_seq_seq");
    RETURN NULL;
END
$$;

DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION "Plant_order"() SET search_path = %I, pg_temp', current_schema());
END
$$;
