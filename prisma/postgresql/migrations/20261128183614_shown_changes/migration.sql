-- An update changes the version of a list only if it changes what the list is made of, and not with a column that no list shows.
-- A column that it comes to show is added here, by a migration that replaces the function.

DROP TRIGGER "Plant_updated_from" ON "Plant";
DROP TRIGGER "Plant_updated_to" ON "Plant";

CREATE FUNCTION "Plant_updated"() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO "ListVersion"
    SELECT "account", gen_random_uuid() FROM (
        (SELECT "seq", "account", "id", "name", "tag" FROM "before"
            EXCEPT SELECT "seq", "account", "id", "name", "tag" FROM "after")
        UNION ALL
        (SELECT "seq", "account", "id", "name", "tag" FROM "after"
            EXCEPT SELECT "seq", "account", "id", "name", "tag" FROM "before")
    ) AS "changed" GROUP BY "account" ORDER BY "account"
    ON CONFLICT ("account") DO UPDATE SET "version" = excluded."version";
    RETURN NULL;
END
$$;

DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION "Plant_updated"() SET search_path = %I, pg_temp', current_schema());
END
$$;

CREATE TRIGGER "Plant_updated" AFTER UPDATE ON "Plant" REFERENCING OLD TABLE AS "before" NEW TABLE AS "after"
FOR EACH STATEMENT EXECUTE FUNCTION "Plant_updated"();
