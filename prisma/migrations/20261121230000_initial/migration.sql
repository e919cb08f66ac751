-- CreateTable
CREATE TABLE "Plant" (
    "seq" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "account" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "tag" TEXT,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP
);

-- CreateTable
CREATE TABLE "Token" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "hash" TEXT NOT NULL,
    "account" TEXT NOT NULL,
    "scopes" TEXT NOT NULL,
    "label" TEXT,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expiresAt" DATETIME,
    "revokedAt" DATETIME
);

-- CreateTable
CREATE TABLE "Secret" (
    "name" TEXT NOT NULL PRIMARY KEY,
    "value" TEXT NOT NULL
);

-- CreateTable
CREATE TABLE "Edits" (
    "account" TEXT NOT NULL PRIMARY KEY,
    "count" INTEGER NOT NULL
);

-- CreateIndex
CREATE INDEX "Plant_account_seq_idx" ON "Plant"("account", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "Plant_account_id_key" ON "Plant"("account", "id");

-- CreateIndex
CREATE UNIQUE INDEX "Token_hash_key" ON "Token"("hash");

-- Prisma does not know triggers. A later migration that replaces the table "Plant" has to create them again.

CREATE TRIGGER "Plant_updated" AFTER UPDATE ON "Plant" BEGIN
    INSERT INTO "Edits" VALUES (OLD."account", 1) ON CONFLICT DO UPDATE SET "count" = "count" + 1;
    INSERT INTO "Edits" VALUES (NEW."account", 1) ON CONFLICT DO UPDATE SET "count" = "count" + 1;
END;

CREATE TRIGGER "Plant_deleted" AFTER DELETE ON "Plant" BEGIN
    INSERT INTO "Edits" VALUES (OLD."account", 1) ON CONFLICT DO UPDATE SET "count" = "count" + 1;
END;
