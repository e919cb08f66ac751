-- What the role of the servers needs, and no more: it cannot change or delete plants, or switch a trigger off. Run it as
-- the owner after each migration; it may run again. An operation that changes or deletes plants adds its right here.
DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO plant_store', current_schema()); END $$;
GRANT SELECT ON "_prisma_migrations" TO plant_store;
GRANT SELECT, INSERT ON "Plant", "Secret" TO plant_store;
GRANT SELECT, INSERT, UPDATE ON "Token" TO plant_store;
GRANT SELECT ON "ListVersion" TO plant_store;
