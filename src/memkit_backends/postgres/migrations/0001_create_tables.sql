-- Dates are whole microseconds since the epoch, UTC. Lists and objects are JSON. Texts compare
-- by code point, whatever the database's collation.

CREATE TABLE memkit.migration (
    number INTEGER NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL
);

-- A row outlives what it was made for: its epoch must never start anew.
CREATE TABLE memkit.scope (
    pk BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key TEXT COLLATE "C" NOT NULL,
    epoch BIGINT NOT NULL DEFAULT 0,
    fence BIGINT NOT NULL DEFAULT 0,
    lease_until BIGINT NOT NULL DEFAULT 0,
    job_id TEXT COLLATE "C",
    UNIQUE (key)
);

CREATE TABLE memkit.session (
    pk BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope_pk BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    UNIQUE (scope_pk, name)
);

-- `keys` and `digests` hold eight bytes for each message and stay when `messages` goes.
CREATE TABLE memkit.episode (
    pk BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session_pk BIGINT NOT NULL,
    home_pk BIGINT NOT NULL,
    position BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    expires_at BIGINT,
    next_try BIGINT NOT NULL DEFAULT 0,
    size INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    revised INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    gone INTEGER NOT NULL DEFAULT 0,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    status TEXT COLLATE "C" NOT NULL CHECK (status IN ('pending', 'settled', 'dead', 'gone')),
    flags TEXT COLLATE "C" NOT NULL,
    forgotten TEXT COLLATE "C",
    keys BYTEA,
    digests BYTEA NOT NULL,
    messages TEXT COLLATE "C",
    UNIQUE (session_pk, position)
);

-- claim: the due episodes of a scope, and of all scopes, oldest first.
CREATE INDEX episode_due ON memkit.episode (home_pk, recorded_at, pk) WHERE status = 'pending';
CREATE INDEX episode_oldest ON memkit.episode (recorded_at, pk) WHERE status = 'pending';
-- purge
CREATE INDEX episode_expired ON memkit.episode (expires_at, id)
 WHERE messages IS NOT NULL AND expires_at IS NOT NULL;
-- scan, stats and forget of one scope
CREATE INDEX episode_home ON memkit.episode (home_pk, id);

CREATE TABLE memkit.item (
    pk BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope_pk BIGINT NOT NULL,
    fades_at BIGINT NOT NULL,
    ends_at BIGINT,
    -- The earlier of the two.
    expires_at BIGINT NOT NULL,
    observed_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    reinforced_at BIGINT NOT NULL,
    valid_from BIGINT,
    valid_to BIGINT,
    position BIGINT,
    -- NaN fails this, which else would come first for ever.
    importance DOUBLE PRECISION NOT NULL CHECK (importance BETWEEN 0 AND 1),
    pinned BOOLEAN NOT NULL,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    status TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    origin TEXT COLLATE "C" NOT NULL,
    policy TEXT COLLATE "C" NOT NULL,
    content_hash TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C",
    superseded_by TEXT COLLATE "C",
    job_id TEXT COLLATE "C",
    model TEXT COLLATE "C",
    key TEXT COLLATE "C",
    content TEXT COLLATE "C" NOT NULL,
    tokens TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    metadata TEXT COLLATE "C" NOT NULL
);

-- find: the strongest of a policy in one range, narrowed without a look at the rows
CREATE INDEX item_strongest ON memkit.item (scope_pk, policy, fades_at DESC, id, expires_at, kind)
 WHERE status = 'active';
-- find by text. Words carry the number of their scope, so that a search walks the postings of
-- no other; written at once, so that no search has to read what is still to be sorted in.
CREATE INDEX item_words ON memkit.item USING gin (
    string_to_array(
        CAST(scope_pk AS TEXT) || 'x'
            || replace(tokens, ' ', ' ' || CAST(scope_pk AS TEXT) || 'x'),
        ' '
    )
) WITH (fastupdate = off) WHERE status = 'active';
-- find by exact content, and the twin of an added item
CREATE INDEX item_content ON memkit.item (scope_pk, content_hash);
CREATE UNIQUE INDEX item_key ON memkit.item (scope_pk, key) WHERE key IS NOT NULL;
-- purge
CREATE INDEX item_expired ON memkit.item (expires_at, id);
-- scan, stats and forget of one scope
CREATE INDEX item_scope ON memkit.item (scope_pk, id);

CREATE TABLE memkit.item_source (
    item_pk BIGINT NOT NULL REFERENCES memkit.item (pk) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    position BIGINT NOT NULL,
    recorded_at BIGINT NOT NULL,
    episode_id TEXT COLLATE "C" NOT NULL,
    session_id TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C",
    PRIMARY KEY (item_pk, ordinal)
);

-- forget: what came from an episode
CREATE INDEX item_source_episode ON memkit.item_source (episode_id, item_pk);

CREATE TABLE memkit.job (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    scope_pk BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    finished_at BIGINT,
    retry_at BIGINT,
    added INTEGER NOT NULL DEFAULT 0,
    updated INTEGER NOT NULL DEFAULT 0,
    removed INTEGER NOT NULL DEFAULT 0,
    reinforced INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL,
    calls BIGINT NOT NULL DEFAULT 0,
    input_tokens BIGINT NOT NULL DEFAULT 0,
    output_tokens BIGINT NOT NULL DEFAULT 0,
    status TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C",
    checksum TEXT COLLATE "C",
    episode_ids TEXT COLLATE "C" NOT NULL,
    error TEXT COLLATE "C"
);

-- settled: whether this input was consolidated before
CREATE INDEX job_checksum ON memkit.job (scope_pk, checksum) WHERE status = 'completed';
-- scan and forget of one scope
CREATE INDEX job_scope ON memkit.job (scope_pk, id);

CREATE TABLE memkit.tombstone (
    id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    scope_pk BIGINT NOT NULL,
    at BIGINT NOT NULL,
    content_hash TEXT COLLATE "C" NOT NULL,
    UNIQUE (scope_pk, content_hash)
);

-- scan of one scope
CREATE INDEX tombstone_scope ON memkit.tombstone (scope_pk, id);

-- What was said is not for the planner: its statistics would keep samples of what is forgotten.
ALTER TABLE memkit.episode ALTER COLUMN messages SET STATISTICS 0;
ALTER TABLE memkit.item ALTER COLUMN content SET STATISTICS 0;
ALTER TABLE memkit.item ALTER COLUMN tokens SET STATISTICS 0;
ALTER TABLE memkit.item ALTER COLUMN value SET STATISTICS 0;
ALTER TABLE memkit.item ALTER COLUMN metadata SET STATISTICS 0;
ALTER TABLE memkit.item ALTER COLUMN key SET STATISTICS 0;
ALTER INDEX memkit.item_words ALTER COLUMN 1 SET STATISTICS 0;
