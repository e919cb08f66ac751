-- CreateTable
CREATE TABLE "Edits" (
    "account" TEXT NOT NULL PRIMARY KEY,
    "count" INTEGER NOT NULL
);

-- Prisma does not know triggers. A later migration that replaces the table "Plant" has to create them again.

CREATE TRIGGER "Plant_updated" AFTER UPDATE ON "Plant" BEGIN
    INSERT INTO "Edits" VALUES (OLD."account", 1) ON CONFLICT DO UPDATE SET "count" = "count" + 1;
    INSERT INTO "Edits" VALUES (NEW."account", 1) ON CONFLICT DO UPDATE SET "count" = "count" + 1;
END;

CREATE TRIGGER "Plant_deleted" AFTER DELETE ON "Plant" BEGIN
    INSERT INTO "Edits" VALUES (OLD."account", 1) ON CONFLICT DO UPDATE SET "count" = "count" + 1;
END;

-- INSERT OR REPLACE deletes plants without the trigger for that.
CREATE TRIGGER "Plant_replaced" BEFORE INSERT ON "Plant"
WHEN EXISTS (SELECT 1 FROM "Plant" WHERE "seq" = NEW."seq" OR "account" = NEW."account" AND "id" = NEW."id") BEGIN
    INSERT INTO "Edits" SELECT "account", 1 FROM "Plant"
    WHERE "seq" = NEW."seq" OR "account" = NEW."account" AND "id" = NEW."id"
    ON CONFLICT DO UPDATE SET "count" = "count" + 1;
END;

-- A plant whose "seq" was chosen by hand is not at the end of the list.
CREATE TRIGGER "Plant_inserted_before" AFTER INSERT ON "Plant"
WHEN NEW."seq" < (SELECT max("seq") FROM "Plant") BEGIN
    INSERT INTO "Edits" VALUES (NEW."account", 1) ON CONFLICT DO UPDATE SET "count" = "count" + 1;
END;
