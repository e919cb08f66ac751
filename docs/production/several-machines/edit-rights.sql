-- What the role of the servers needs in addition to rights.sql where the release has operations that change or delete plants.
GRANT UPDATE, DELETE ON "Plant" TO plant_store;
