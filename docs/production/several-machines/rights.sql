-- What the role of the servers needs, and no more: it cannot change or delete plants unless an operation does, or switch a
-- trigger off. Run it as the owner after each migration; it may run again. `npm run generate` writes the rights on "Plant".
DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO plant_store', current_schema()); END $$;
GRANT SELECT ON "_prisma_migrations" TO plant_store;
GRANT SELECT, INSERT ON "Plant" TO plant_store;
GRANT SELECT, INSERT ON "Secret" TO plant_store;
GRANT SELECT, INSERT, UPDATE ON "Token" TO plant_store;
GRANT SELECT ON "ListVersion" TO plant_store;
