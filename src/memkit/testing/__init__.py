"""For the tests of people who build on memkit: the kit, and fakes to hand in.

The conformance classes need the extra `testing` (pytest and hypothesis); the fakes do not.
"""

from __future__ import annotations

import sys

if pytest := sys.modules.get("pytest"):
    # Under pytest the kit's plain asserts shall explain themselves, as a test's own do.
    pytest.register_assert_rewrite(
        "memkit.testing.ledgers",
        "memkit.testing.patience",
        "memkit.testing.stores",
    )
