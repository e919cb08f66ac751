-- An update changes the version of a list only if it changes what the list is made of, and not with a column that no list shows.
-- A column that it comes to show is added here, by a migration that creates the trigger again.

DROP TRIGGER "Plant_updated";

CREATE TRIGGER "Plant_updated" AFTER UPDATE ON "Plant"
WHEN (OLD."seq", OLD."account", OLD."id", OLD."name", OLD."tag")
    IS NOT (NEW."seq", NEW."account", NEW."id", NEW."name", NEW."tag")
BEGIN
    INSERT INTO "ListVersion" VALUES (OLD."account", hex(randomblob(16))), (NEW."account", hex(randomblob(16)))
    ON CONFLICT DO UPDATE SET "version" = excluded."version";
END;
