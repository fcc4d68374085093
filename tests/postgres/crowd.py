"""A store with a great many scopes, written past memkit, to see what its statements do then."""

from __future__ import annotations

from tests.postgres.server import tell

HERE = 5
"""The number of a scope of the crowd; its key is that of the scope `user 5`."""


async def fill(url: str, schema: str, items: int, scopes: int) -> None:
    """`items` items, an episode and a job for each tenth, over `scopes` scopes; analyzed."""
    place = f'"{schema}"'
    await tell(
        url,
        f"""
        INSERT INTO {place}.scope (key)
        SELECT '["user ' || n || '",null,null]' FROM generate_series(1, {scopes}) AS n;

        INSERT INTO {place}.session (scope_pk, name)
        SELECT pk, 'session' FROM {place}.scope;

        INSERT INTO {place}.item
               (id, scope_pk, status, kind, origin, policy, fades_at, expires_at, observed_at,
                content_hash, content, tokens, importance, created_at, reinforced_at, pinned,
                key, value, metadata)
        SELECT 'item ' || lpad(CAST(n AS TEXT), 9, '0'), scope.pk, 'active',
               CASE WHEN n % 3 = 0 THEN 'preference' ELSE 'semantic' END, 'user', '0.95/0.05',
               faded, faded, 1767258000000000, md5(CAST(n AS TEXT)),
               'Likes tea number ' || n || ' with topic ' || n % 97 || ' ' || md5(CAST(n AS TEXT)),
               'like tea number ' || n || ' with topic t' || n % 97 || ' u' || n % 1009,
               (n % 100) / 100.0, 1767258000000000, 1767258000000000, false, 'key ' || n,
               'null', '{{}}'
          FROM (SELECT n, 1767258000000000 + (CAST(n AS BIGINT) * 7919 % 4838400) * 1000000 AS faded
                  FROM generate_series(1, {items}) AS n) AS made
          JOIN {place}.scope ON scope.key = '["user ' || (n % {scopes} + 1) || '",null,null]';

        INSERT INTO {place}.item_source
               (item_pk, ordinal, episode_id, session_id, position, recorded_at)
        SELECT pk, 0, 'episode ' || pk / 10, 'session', pk, 1767258000000000
          FROM {place}.item;

        INSERT INTO {place}.episode
               (id, session_pk, home_pk, position, size, skipped, revised, digests, messages,
                tokens, flags, recorded_at, expires_at, status)
        SELECT 'episode ' || n, session.pk, session.scope_pk, n, 1, 0, 0, '\\x0000000000000000',
               '[null]', 10, '', 1767258000000000 + n,
               1767258000000000 + CAST(n AS BIGINT) * 1000000,
               CASE WHEN n % 10 = 0 THEN 'pending' ELSE 'settled' END
          FROM generate_series(1, {items // 10}) AS n
          JOIN {place}.scope ON scope.key = '["user ' || (n % {scopes} + 1) || '",null,null]'
          JOIN {place}.session ON session.scope_pk = scope.pk;

        INSERT INTO {place}.job
               (id, scope_pk, fence, status, episode_ids, attempts, started_at, checksum)
        SELECT 'job ' || n, scope.pk, n, 'completed', '[]', 1, n, md5(CAST(n AS TEXT))
          FROM generate_series(1, {items // 10}) AS n
          JOIN {place}.scope ON scope.key = '["user ' || (n % {scopes} + 1) || '",null,null]';

        INSERT INTO {place}.tombstone (id, scope_pk, content_hash, at)
        SELECT 'stone ' || n, scope.pk, md5(CAST(n AS TEXT)), n
          FROM generate_series(1, {items // 10}) AS n
          JOIN {place}.scope ON scope.key = '["user ' || (n % {scopes} + 1) || '",null,null]';
        """,
    )
    await tell(url, f"VACUUM ANALYZE {place}.item")
    for table in ("scope", "session", "episode", "item_source", "job", "tombstone"):
        await tell(url, f"VACUUM ANALYZE {place}.{table}")
