-- An edit has its time, in seconds since 1970, or the next number where that is more: a count that begins again, because
-- someone has emptied "Edits", would come to numbers that lists are cached with.

DROP TRIGGER "Plant_updated";
DROP TRIGGER "Plant_deleted";

CREATE TRIGGER "Plant_updated" AFTER UPDATE ON "Plant" BEGIN
    INSERT INTO "Edits" VALUES (OLD."account", CAST(strftime('%s', 'now') AS INTEGER))
    ON CONFLICT DO UPDATE SET "count" = max("count" + 1, excluded."count");
    INSERT INTO "Edits" VALUES (NEW."account", CAST(strftime('%s', 'now') AS INTEGER))
    ON CONFLICT DO UPDATE SET "count" = max("count" + 1, excluded."count");
END;

CREATE TRIGGER "Plant_deleted" AFTER DELETE ON "Plant" BEGIN
    INSERT INTO "Edits" VALUES (OLD."account", CAST(strftime('%s', 'now') AS INTEGER))
    ON CONFLICT DO UPDATE SET "count" = max("count" + 1, excluded."count");
END;
