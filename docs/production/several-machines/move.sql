-- Copies everything from SQLite to an empty, migrated database, all or nothing, as its owner. Nothing uses either of them.
-- $PLANTS is the SQLite file. Texts travel as the hexadecimal digits of their UTF-8, so that CSV changes none of them.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL TimeZone = 'UTC';
SET LOCAL statement_timeout = 0;
LOCK TABLE "Plant", "Token", "Secret" IN EXCLUSIVE MODE;
DO $$ BEGIN
  IF EXISTS (SELECT FROM "Plant") OR EXISTS (SELECT FROM "Token") THEN RAISE 'this database is not empty'; END IF;
END $$;
-- A server that was started here has created one.
DELETE FROM "Secret";
CREATE FUNCTION pg_temp.text_of(digits text) RETURNS text IMMUTABLE STRICT RETURN convert_from(decode(digits, 'hex'), 'UTF8');

CREATE TEMPORARY TABLE plant (seq bigint, account text, id text, name text, tag text, created timestamptz) ON COMMIT DROP;
\copy plant FROM PROGRAM 'sqlite3 -readonly -csv "$PLANTS" "SELECT seq, hex(account), hex(id), hex(name), iif(tag IS NULL, NULL, hex(tag)), createdAt FROM Plant"' CSV
INSERT INTO "Plant" ("seq", "account", "id", "name", "tag", "createdAt") OVERRIDING SYSTEM VALUE
SELECT seq, pg_temp.text_of(account), pg_temp.text_of(id), pg_temp.text_of(name), pg_temp.text_of(tag), created FROM plant;

CREATE TEMPORARY TABLE token (id text, hash text, account text, scopes text, label text, created timestamptz, expires timestamptz, revoked timestamptz) ON COMMIT DROP;
\copy token FROM PROGRAM 'sqlite3 -readonly -csv "$PLANTS" "SELECT id, hash, hex(account), scopes, iif(label IS NULL, NULL, hex(label)), createdAt, expiresAt, revokedAt FROM Token"' CSV
INSERT INTO "Token" ("id", "hash", "account", "scopes", "label", "createdAt", "expiresAt", "revokedAt")
SELECT id, hash, pg_temp.text_of(account), scopes, pg_temp.text_of(label), created, expires, revoked FROM token;

\copy "Secret" ("name", "value") FROM PROGRAM 'sqlite3 -readonly -csv "$PLANTS" "SELECT name, value FROM Secret"' CSV

-- The next plant follows the last one that there ever was.
CREATE TEMPORARY TABLE last (seq bigint) ON COMMIT DROP;
\copy last FROM PROGRAM 'sqlite3 -readonly -csv "$PLANTS" "SELECT seq FROM sqlite_sequence WHERE name = ''Plant''"' CSV
SELECT setval(pg_get_serial_sequence('"Plant"', 'seq'), seq) AS "last number" FROM last WHERE seq > 0;
ANALYZE "Plant";
COMMIT;
