-- The vector index of a memoryfield as an SQLite file, NAME-OF-THE-MODEL.sqlite3. See memoryfield.md, section 7.
-- Other tables may be there. A reader relies on these columns only, and on no order of the rows.

CREATE TABLE pages (
    filename      TEXT PRIMARY KEY,   -- the page's file name, 'seasoning.md'
    frontmatter   JSON NOT NULL,      -- its frontmatter as a JSON object in text; '{}' for none
    last_modified DATETIME NOT NULL,  -- the time that the transport gives the file (section 8): '2026-05-02T16:30:05.000000Z'
    sha256_hash   BLOB NOT NULL,      -- SHA-256 of the file, 32 bytes
    embedding     BLOB NOT NULL       -- the vector as float32, little-endian: 4 bytes a dimension
);
