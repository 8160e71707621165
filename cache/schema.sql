-- One entry a row. `kind` is a number of kinds.def, `compiler` a hash of the compiler's version, `key` 16 bytes (big
-- endian), `used` the second of the last use, an hour out at most, `checksum` XXH3-64 over kind, compiler, key and payload.
-- Any change here needs a new STORE_FORMAT in store.c.
CREATE TABLE entry (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    compiler INTEGER NOT NULL,
    key BLOB NOT NULL,
    used INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    payload BLOB NOT NULL
);
CREATE UNIQUE INDEX entry_key ON entry (kind, compiler, key);
-- Eviction walks in this order; rows of the same second go in the order in which they were put.
CREATE INDEX entry_used ON entry (used);
