-- The list of an account has a version: another random text after each insert, change and deletion of its plants, in the same
-- transaction. Equal versions are equal lists, even after a crash or a restore that took changes away.

DROP TRIGGER "Plant_updated";
DROP TRIGGER "Plant_deleted";
DROP TABLE "Edits";

-- CreateTable
CREATE TABLE "ListVersion" (
    "account" TEXT NOT NULL PRIMARY KEY,
    "version" TEXT NOT NULL
);

INSERT INTO "ListVersion" SELECT "account", hex(randomblob(16)) FROM "Plant" GROUP BY "account";

CREATE TRIGGER "Plant_inserted" AFTER INSERT ON "Plant" BEGIN
    INSERT INTO "ListVersion" VALUES (NEW."account", hex(randomblob(16)))
    ON CONFLICT DO UPDATE SET "version" = excluded."version";
END;

CREATE TRIGGER "Plant_updated" AFTER UPDATE ON "Plant" BEGIN
    INSERT INTO "ListVersion" VALUES (OLD."account", hex(randomblob(16))), (NEW."account", hex(randomblob(16)))
    ON CONFLICT DO UPDATE SET "version" = excluded."version";
END;

CREATE TRIGGER "Plant_deleted" AFTER DELETE ON "Plant" BEGIN
    INSERT INTO "ListVersion" VALUES (OLD."account", hex(randomblob(16)))
    ON CONFLICT DO UPDATE SET "version" = excluded."version";
END;
