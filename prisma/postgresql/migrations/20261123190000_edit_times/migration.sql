-- An edit has its time, in microseconds since 1970, or the next number where that is more: after a crash that took edits
-- away, a count would come again to numbers that lists are cached with.
--
-- The functions run with the rights of their owner, so that a server may change and delete plants without the right to write
-- "Edits", and find that table whatever a session creates in its own temporary schema.

CREATE OR REPLACE FUNCTION "Plant_edited"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO "Edits" AS "edits"
    SELECT DISTINCT "account", (extract(epoch FROM statement_timestamp()) * 1000000)::bigint FROM "edited" ORDER BY "account"
    ON CONFLICT ("account") DO UPDATE SET "count" = greatest("edits"."count" + 1, excluded."count");
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION "Plant_truncated"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO "Edits" AS "edits" VALUES ('', (extract(epoch FROM statement_timestamp()) * 1000000)::bigint)
    ON CONFLICT ("account") DO UPDATE SET "count" = greatest("edits"."count" + 1, excluded."count");
    RETURN NULL;
END
$$;

DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION "Plant_edited"() SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION "Plant_truncated"() SET search_path = %I, pg_temp', current_schema());
END
$$;
