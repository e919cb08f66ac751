-- The list of an account has a version: another random text after each insert, change and deletion of its plants, in the same
-- transaction. Equal versions are equal lists, even after a crash or a restore that took changes away.

DROP TRIGGER "Plant_deleted" ON "Plant";
DROP TRIGGER "Plant_updated_from" ON "Plant";
DROP TRIGGER "Plant_updated_to" ON "Plant";
DROP TRIGGER "Plant_truncated" ON "Plant";
DROP FUNCTION "Plant_edited"();
DROP FUNCTION "Plant_truncated"();
DROP TABLE "Edits";

-- CreateTable
CREATE TABLE "ListVersion" (
    "account" TEXT COLLATE "C" NOT NULL,
    "version" TEXT NOT NULL,

    CONSTRAINT "ListVersion_pkey" PRIMARY KEY ("account")
);

INSERT INTO "ListVersion" SELECT "account", gen_random_uuid() FROM "Plant" GROUP BY "account";

-- The functions run with the rights of their owner, so that a server may change plants without the right to write
-- "ListVersion", and find that table whatever a session creates in its own temporary schema. They lock rows in order, so that
-- two transactions do not wait for each other.

CREATE FUNCTION "Plant_changed"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO "ListVersion"
    SELECT "account", gen_random_uuid() FROM "changed" GROUP BY "account" ORDER BY "account"
    ON CONFLICT ("account") DO UPDATE SET "version" = excluded."version";
    RETURN NULL;
END
$$;

CREATE FUNCTION "Plant_truncated"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    DELETE FROM "ListVersion";
    RETURN NULL;
END
$$;

DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION "Plant_changed"() SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION "Plant_truncated"() SET search_path = %I, pg_temp', current_schema());
END
$$;

CREATE TRIGGER "Plant_inserted" AFTER INSERT ON "Plant" REFERENCING NEW TABLE AS "changed"
FOR EACH STATEMENT EXECUTE FUNCTION "Plant_changed"();

CREATE TRIGGER "Plant_deleted" AFTER DELETE ON "Plant" REFERENCING OLD TABLE AS "changed"
FOR EACH STATEMENT EXECUTE FUNCTION "Plant_changed"();

-- Two triggers, since a plant may move to another account.
CREATE TRIGGER "Plant_updated_from" AFTER UPDATE ON "Plant" REFERENCING OLD TABLE AS "changed"
FOR EACH STATEMENT EXECUTE FUNCTION "Plant_changed"();

CREATE TRIGGER "Plant_updated_to" AFTER UPDATE ON "Plant" REFERENCING NEW TABLE AS "changed"
FOR EACH STATEMENT EXECUTE FUNCTION "Plant_changed"();

CREATE TRIGGER "Plant_truncated" AFTER TRUNCATE ON "Plant"
FOR EACH STATEMENT EXECUTE FUNCTION "Plant_truncated"();
