-- Accounts and ids are compared byte by byte: an update of the operating system's collations cannot damage an index.

-- CreateTable. An INSERT cannot choose a "seq" by mistake.
CREATE TABLE "Plant" (
    "seq" BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
    "account" TEXT COLLATE "C" NOT NULL,
    "id" TEXT COLLATE "C" NOT NULL,
    "name" TEXT NOT NULL,
    "tag" TEXT,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Plant_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "Token" (
    "id" TEXT COLLATE "C" NOT NULL,
    "hash" TEXT COLLATE "C" NOT NULL,
    "account" TEXT COLLATE "C" NOT NULL,
    "scopes" TEXT NOT NULL,
    "label" TEXT,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expiresAt" TIMESTAMPTZ(3),
    "revokedAt" TIMESTAMPTZ(3),

    CONSTRAINT "Token_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Secret" (
    "name" TEXT COLLATE "C" NOT NULL,
    "value" TEXT NOT NULL,

    CONSTRAINT "Secret_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "Edits" (
    "account" TEXT COLLATE "C" NOT NULL,
    "count" BIGINT NOT NULL,

    CONSTRAINT "Edits_pkey" PRIMARY KEY ("account")
);

-- CreateIndex
CREATE INDEX "Plant_account_seq_idx" ON "Plant"("account", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "Plant_account_id_key" ON "Plant"("account", "id");

-- CreateIndex
CREATE UNIQUE INDEX "Token_hash_key" ON "Token"("hash");

-- Prisma does not know triggers. The server checks at startup that they are there.

-- A transaction takes the numbers of its plants before it commits, so without a lock a reader could see a plant before
-- another one with a lower "seq", and a cursor would skip that one. With it, plants are numbered and become visible one
-- transaction after the other, whoever inserts them. The time limit keeps a forgotten transaction from blocking for ever.
CREATE FUNCTION "Plant_order"() RETURNS trigger
LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(482854661748);
    RETURN NULL;
END
$$;

CREATE TRIGGER "Plant_order" BEFORE INSERT ON "Plant"
FOR EACH STATEMENT EXECUTE FUNCTION "Plant_order"();

CREATE FUNCTION "Plant_edited"() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO "Edits" AS "edits" SELECT DISTINCT "account", 1 FROM "edited" ORDER BY "account"
    ON CONFLICT ("account") DO UPDATE SET "count" = "edits"."count" + 1;
    RETURN NULL;
END
$$;

CREATE TRIGGER "Plant_deleted" AFTER DELETE ON "Plant" REFERENCING OLD TABLE AS "edited"
FOR EACH STATEMENT EXECUTE FUNCTION "Plant_edited"();

-- Two triggers, since a plant may move to another account.
CREATE TRIGGER "Plant_updated_from" AFTER UPDATE ON "Plant" REFERENCING OLD TABLE AS "edited"
FOR EACH STATEMENT EXECUTE FUNCTION "Plant_edited"();

CREATE TRIGGER "Plant_updated_to" AFTER UPDATE ON "Plant" REFERENCING NEW TABLE AS "edited"
FOR EACH STATEMENT EXECUTE FUNCTION "Plant_edited"();

CREATE FUNCTION "Plant_truncated"() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO "Edits" AS "edits" VALUES ('', 1)
    ON CONFLICT ("account") DO UPDATE SET "count" = "edits"."count" + 1;
    RETURN NULL;
END
$$;

CREATE TRIGGER "Plant_truncated" AFTER TRUNCATE ON "Plant"
FOR EACH STATEMENT EXECUTE FUNCTION "Plant_truncated"();
