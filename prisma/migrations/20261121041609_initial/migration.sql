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

-- CreateIndex
CREATE INDEX "Plant_account_seq_idx" ON "Plant"("account", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "Plant_account_id_key" ON "Plant"("account", "id");

-- CreateIndex
CREATE UNIQUE INDEX "Token_hash_key" ON "Token"("hash");
