-- Dates are whole microseconds since the epoch, UTC. Lists and objects are JSON.

-- A row outlives what it was made for: its epoch must never start anew.
CREATE TABLE scope (
    pk INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER NOT NULL DEFAULT 0,
    job_id TEXT
);

CREATE TABLE session (
    pk INTEGER PRIMARY KEY,
    scope_pk INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (scope_pk, name)
);

-- `keys` and `digests` hold eight bytes for each message and stay when `messages` goes, which
-- is last so that the other columns are read without it.
CREATE TABLE episode (
    pk INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session_pk INTEGER NOT NULL,
    home_pk INTEGER NOT NULL,
    position INTEGER NOT NULL,
    size INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    revised INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    flags TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    expires_at INTEGER,
    status TEXT NOT NULL CHECK (status IN ('pending', 'settled', 'dead', 'gone')),
    attempts INTEGER NOT NULL DEFAULT 0,
    next_try INTEGER NOT NULL DEFAULT 0,
    gone INTEGER NOT NULL DEFAULT 0,
    forgotten TEXT,
    keys BLOB,
    digests BLOB NOT NULL,
    messages TEXT,
    UNIQUE (session_pk, position)
);

-- claim: the due episodes of a scope, and of all scopes, oldest first.
CREATE INDEX episode_due ON episode (home_pk, recorded_at, pk) WHERE status = 'pending';
CREATE INDEX episode_oldest ON episode (recorded_at, pk) WHERE status = 'pending';
-- purge
CREATE INDEX episode_expired ON episode (expires_at, id) WHERE messages IS NOT NULL AND expires_at IS NOT NULL;
-- scan, stats and forget of one scope
CREATE INDEX episode_home ON episode (home_pk, id);

CREATE TABLE item (
    pk INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    scope_pk INTEGER NOT NULL,
    status TEXT NOT NULL,
    kind TEXT NOT NULL,
    origin TEXT NOT NULL,
    policy TEXT NOT NULL,
    fades_at INTEGER NOT NULL,
    ends_at INTEGER,
    -- The earlier of the two.
    expires_at INTEGER NOT NULL,
    observed_at INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    session_id TEXT,
    position INTEGER,
    content TEXT NOT NULL,
    tokens TEXT NOT NULL,
    importance REAL NOT NULL,
    created_at INTEGER NOT NULL,
    reinforced_at INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    valid_from INTEGER,
    valid_to INTEGER,
    superseded_by TEXT,
    job_id TEXT,
    model TEXT,
    key TEXT,
    value TEXT NOT NULL,
    metadata TEXT NOT NULL
);

-- find: the strongest of a policy in one range, from the index alone: the rows lie as far apart
-- as the days on which they were written.
CREATE INDEX item_strongest ON item (
    scope_pk, policy, fades_at DESC, id, expires_at, kind, origin, observed_at, session_id, position, content
) WHERE status = 'active';
-- find by exact content, and the twin of an added item
CREATE INDEX item_content ON item (scope_pk, content_hash);
CREATE UNIQUE INDEX item_key ON item (scope_pk, key) WHERE key IS NOT NULL;
-- purge
CREATE INDEX item_expired ON item (expires_at, id);
-- scan, stats and forget of one scope
CREATE INDEX item_scope ON item (scope_pk, id);

CREATE TABLE item_source (
    item_pk INTEGER NOT NULL REFERENCES item (pk) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    episode_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    key TEXT,
    recorded_at INTEGER NOT NULL,
    PRIMARY KEY (item_pk, ordinal)
) WITHOUT ROWID;

-- forget: what came from an episode
CREATE INDEX item_source_episode ON item_source (episode_id, item_pk);

-- Words carry the number of their scope, so that a search walks the postings of no other.
CREATE VIRTUAL TABLE item_text USING fts5 (
    words, content = '', detail = 'none', columnsize = 0, tokenize = 'ascii'
);

CREATE TRIGGER item_text_added AFTER INSERT ON item WHEN new.tokens <> '' BEGIN
    INSERT INTO item_text (rowid, words)
    VALUES (new.pk, new.scope_pk || 'x' || replace(new.tokens, ' ', ' ' || new.scope_pk || 'x'));
END;

-- The index is told the very words it was given: it keeps no copy of them.
CREATE TRIGGER item_text_removed AFTER DELETE ON item WHEN old.tokens <> '' BEGIN
    INSERT INTO item_text (item_text, rowid, words)
    VALUES ('delete', old.pk, old.scope_pk || 'x' || replace(old.tokens, ' ', ' ' || old.scope_pk || 'x'));
END;

-- One trigger, because of two the order would not be certain: out with the old words first.
CREATE TRIGGER item_text_changed AFTER UPDATE OF tokens ON item WHEN old.tokens <> new.tokens BEGIN
    INSERT INTO item_text (item_text, rowid, words)
    SELECT 'delete', old.pk, old.scope_pk || 'x' || replace(old.tokens, ' ', ' ' || old.scope_pk || 'x')
     WHERE old.tokens <> '';
    INSERT INTO item_text (rowid, words)
    SELECT new.pk, new.scope_pk || 'x' || replace(new.tokens, ' ', ' ' || new.scope_pk || 'x')
     WHERE new.tokens <> '';
END;

CREATE TABLE job (
    id TEXT NOT NULL PRIMARY KEY,
    scope_pk INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    status TEXT NOT NULL,
    outcome TEXT,
    episode_ids TEXT NOT NULL,
    added INTEGER NOT NULL DEFAULT 0,
    updated INTEGER NOT NULL DEFAULT 0,
    removed INTEGER NOT NULL DEFAULT 0,
    reinforced INTEGER NOT NULL DEFAULT 0,
    checksum TEXT,
    calls INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL,
    error TEXT,
    retry_at INTEGER,
    started_at INTEGER NOT NULL,
    finished_at INTEGER
);

-- settled: whether this input was consolidated before
CREATE INDEX job_checksum ON job (scope_pk, checksum) WHERE status = 'completed';
-- scan and forget of one scope
CREATE INDEX job_scope ON job (scope_pk, id);

CREATE TABLE tombstone (
    id TEXT NOT NULL PRIMARY KEY,
    scope_pk INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (scope_pk, content_hash)
);

-- scan of one scope
CREATE INDEX tombstone_scope ON tombstone (scope_pk, id);
