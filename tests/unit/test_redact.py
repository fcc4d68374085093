"""What the default redactor takes out, and what it leaves alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memkit.redact import PatternRedactor, Where

redact = PatternRedactor().redact

# Joined at run time, so that no scanner takes this file for a leak.
A16 = "ABCDEFGH" + "2345672Z"
A20 = "aZ3kT9qLw0" + "Xy7Bv5Nm1R"
A36 = A20 + "Jd8Hs6Gf4P" + "q2Wc0e"
HEX32 = "0123456789abcdef" * 2
PEM = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 3 + "Zm9v\n"
DASHES = "-" * 5

SECRETS = {
    "aws key": ("aws_key", "AKIA" + A16),
    "aws temporary key": ("aws_key", "ASIA" + A16),
    "aws secret": ("password", "aws_secret_access_key = " + A36 + "/+zz"),
    "openai": ("openai_key", "sk-" + A36),
    "openai project": ("openai_key", "sk-proj-" + A36 + "_-" + A20),
    "openrouter": ("openai_key", "sk-or-v1-" + HEX32),
    "anthropic": ("anthropic_key", "sk-ant-api03-" + A36),
    "github classic": ("github_token", "ghp_" + A36),
    "github server": ("github_token", "ghs_" + A36),
    "github fine-grained": ("github_token", "github_pat_" + A20 + "_" + A36),
    "gitlab": ("gitlab_token", "glpat-" + A20),
    "slack bot": ("slack_token", "xoxb-" + "123456789012-" + A20),
    "slack app": ("slack_token", "xapp-" + "1-A012-" + A20),
    "slack webhook": ("slack_token", "T01234567/B01234567/" + A20),
    "google key": ("google_key", "AIza" + A36[:35]),
    "google client": ("google_key", "GOCSPX-" + A20 + "abcd1234"),
    "google access": ("google_key", "ya29." + A36),
    "stripe live": ("stripe_key", "sk_" + "live_" + A20),
    "stripe restricted": ("stripe_key", "rk_" + "test_" + A20),
    "stripe webhook": ("stripe_key", "whsec_" + A36),
    "sendgrid": ("sendgrid_key", "SG." + A20 + "." + A36),
    "twilio": ("twilio_key", "SK" + HEX32),
    "telegram": ("telegram_token", "123456789:" + "AA" + A36[:33]),
    "digitalocean": ("digitalocean_token", "dop_v1_" + HEX32 * 2),
    "shopify": ("shopify_token", "shpat_" + HEX32),
    "hugging face": ("huggingface_token", "hf_" + A36),
    "npm": ("npm_token", "npm_" + A36),
    "pypi": ("pypi_token", "pypi-" + "AgEIcHlwaS5vcmc" + A36),
    "jwt": ("jwt", "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxIn0." + A20),
    "bearer": ("bearer_token", "Bearer " + A20),
    "basic": ("bearer_token", "Authorization: Basic " + A20 + "=="),
    "rsa block": (
        "private_key",
        f"{DASHES}BEGIN RSA PRIVATE KEY{DASHES}\n{PEM}{DASHES}END RSA PRIVATE KEY{DASHES}",
    ),
    "encrypted block": (
        "private_key",
        (
            f"{DASHES}BEGIN EC PRIVATE KEY{DASHES}\nProc-Type: 4,ENCRYPTED\n"
            f"DEK-Info: AES-256-CBC,00\n\n{PEM}{DASHES}END EC PRIVATE KEY{DASHES}"
        ),
    ),
    "escaped block": (
        "private_key",
        f"{DASHES}BEGIN PRIVATE KEY{DASHES}\n{PEM}{DASHES}END PRIVATE KEY{DASHES}".replace(
            "\n", "\\n"
        ),
    ),
    "block cut off": ("private_key", f"{DASHES}BEGIN OPENSSH PRIVATE KEY{DASHES}\n{PEM[:90]}"),
    "assignment": ("password", "password=" + "hunter2"),
    "letters only": ("password", "DB_PASSWORD=" + "correcthorse"),
    "yaml": ("password", "passwd: " + "tr0ub4dor&3"),
    "json": ("password", '{"api_key": "' + A20 + '"}'),
    "german": ("password", "Passwort: " + "geheim42!"),
    "japanese": ("password", "パスワード\uff1a" + "himitsu99"),
    "url": ("url_password", "postgresql://app:" + "s3cr3t" + "@db.example.com/app"),
    "url without user": ("url_password", "redis://:" + "s3cr3t" + "@cache:6379/0"),
    "visa": ("card", "4111 1111 " + "1111 1111"),
    "mastercard": ("card", "5555555555" + "554444"),
    "amex": ("card", "3782-822463-" + "10005"),
    "card and its code": ("card", "4242-4242-" + "4242-4242 123"),
}

LOOK_ALIKES = {
    "aws key, short": "AKIA" + A16[:-1],
    "aws key, long": "AKIA" + A16 + "Q",
    "aws key in a word": "xAKIA" + A16,
    "css class": "sk-fading-circle and sk-cube-grid",
    "long slug": "sk-learn-pipelines-for-the-impatient",
    "publishable key": "pk_" + "live_" + A20,
    "github name": "ghp_short",
    "variable": "github_pat_name",
    "branch": "glpat-fix",
    "slack words": "xoxo-hugs-and-kisses-to-all",
    "google words": "AIzawa is a surname",
    "jwt, one part": "eyJhbGciOiJIUzI1NiJ9",
    "bearer of news": "Bearer extraordinarily-good-news-follow",
    "basic": "a basic understanding-of-the-matter",
    "public key": f"{DASHES}BEGIN PUBLIC KEY{DASHES}\n{PEM}{DASHES}END PUBLIC KEY{DASHES}",
    "certificate": f"{DASHES}BEGIN CERTIFICATE{DASHES}",
    "hash": "sha256:" + HEX32 * 2,
    "commit": "7dbe0b0c3f5d4a1e9b8c7d6e5f4a3b2c1d0e9f8a",
    "uuid": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "reset": "a password reset was asked for",
    "rule": "Password: required, eight characters at least",
    "the secret": "The secret: practice every day",
    "keyword argument": "connect(password=password, api_key=settings.api_key)",
    "call": "password=getpass(user)",
    "environment": 'password = os.environ["DB_PASSWORD"]',
    "variable name": "secret = client_secret",
    "template": "password=${DB_PASSWORD} api_key={{ key }}",
    "placeholder": "password=<yours> and passwd: ********",
    "none": "password=None, secret: null",
    "type": "password: SecretStr",
    "short": "pwd=abc",
    "url": "https://example.com:8443/a@b",
    "ssh url": "ssh://git@github.com/owner/repository.git",
    "time": "at 12:30 @home, see http://host:80",
    "number, wrong check digit": "4111 1111 1111 1112",
    "milliseconds": "1767225600000",
    "nanoseconds": "1767225600000000000",
    "isbn": "978-3-16-148410-0",
    "long number": "41111111111111111111111",
    "decimals": "0.4111111111111111",
    "serial number": "SN-4111111111111111",
    "years": "2023 2024 2025 2026",
}

PEOPLE = {
    "address": ("email", "anna.b+news@mail.example.co.uk"),
    "umlaut": ("email", "jörg@müller.example"),
    "international": ("phone", "+49 (0)30 1234-5678"),
    "compact": ("phone", "+14155550123"),
    "american": ("phone", "(415) 555-0123"),
    "dotted": ("phone", "415.555.0123"),
    "german": ("phone", "0171/1234567"),
    "british": ("phone", "020 7946 0958"),
    "french": ("phone", "06 12 34 56 78"),
}

NOT_PEOPLE = {
    "date": "2023-05-07",
    "german date": "07.05.2023",
    "american date": "05-07-2023",
    "moment": "2023-05-07T13:56:30+00:00",
    "address": "192.168.100.200",
    "version": "lodash@4.17.21",
    "handle": "@nasa and user@localhost",
    "repository": "git@github.com:owner/repository.git",
    "amount": "1 500 000 and +12.5 %",
    "order": "order 2024-000123",
    "coordinates": "52.520008, 13.404954",
}


@pytest.mark.parametrize(("kind", "secret"), SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("where", ["episode", "item"])
def test_secrets_are_replaced_everywhere(kind: str, secret: str, where: Where) -> None:
    """A secret is replaced by its kind in episodes and items, and the text around it stays."""
    kept, count = redact(f"Note: {secret} and then some", where=where)
    assert count == 1
    assert f"[redacted:{kind}]" in kept
    assert redact(kept, where=where) == (kept, 0)
    assert kept.startswith("Note: ")
    assert kept.endswith(" and then some")
    assert not any(part in kept for part in (A20, A16, PEM[:32], "hunter2", "s3cr3t", "1111"))


@pytest.mark.parametrize("text", LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_look_alikes_stay(text: str) -> None:
    """What only resembles a secret is kept word for word, in items too."""
    assert redact(f"Note: {text} and then some", where="item") == (
        f"Note: {text} and then some",
        0,
    )


@pytest.mark.parametrize(("kind", "address"), PEOPLE.values(), ids=PEOPLE)
def test_addresses_and_numbers_stay_in_evidence_only(kind: str, address: str) -> None:
    """E-mail addresses and telephone numbers are kept in episodes and replaced in items."""
    text = f"Reach Anna ({address}), thanks."
    assert redact(text, where="episode") == (text, 0)
    assert redact(text, where="item") == (f"Reach Anna ([redacted:{kind}]), thanks.", 1)


@pytest.mark.parametrize("text", NOT_PEOPLE.values(), ids=NOT_PEOPLE)
def test_numbers_that_reach_nobody_stay(text: str) -> None:
    """Dates, versions and amounts are no telephone numbers, handles are no addresses."""
    assert redact(f"It is {text} today", where="item") == (f"It is {text} today", 0)


def test_the_tables_are_large_enough() -> None:
    """At least forty secrets and forty look-alikes are tried."""
    assert len(SECRETS) >= 40
    assert len(LOOK_ALIKES) >= 40


def test_every_place_is_counted() -> None:
    """The count is the number of places replaced, over all kinds."""
    text = " | ".join(secret for _, secret in SECRETS.values())
    kept, count = redact(text, where="episode")
    assert count == kept.count("[redacted:") == len(SECRETS)


pieces = st.one_of(
    st.sampled_from([secret for _, secret in (*SECRETS.values(), *PEOPLE.values())]),
    st.sampled_from(["password=", "://", "@", ":", " ", "\n", "sk-", "+", "4111", "BEGIN", '"']),
    st.text(max_size=8),
)


@given(st.lists(pieces, max_size=8).map(" ".join), st.sampled_from(["episode", "item"]))
@example("password= password= : Authorization: x1y2", "episode")
@example("a://b:s3cret-one@ : s3cret-two", "episode")
def test_redacting_twice_changes_nothing(text: str, where: Where) -> None:
    """What was redacted comes back unchanged, whatever words stood beside it."""
    once, _ = redact(text, where=where)
    assert redact(once, where=where) == (once, 0)


@given(st.text(alphabet=st.characters(exclude_characters="=:\uff1a@"), max_size=200))
def test_text_without_shapes_stays(text: str) -> None:
    """Text in which nothing was replaced comes back as it was given."""
    kept, count = redact(text, where="episode")
    assert count or kept == text


GROWING = (
    "a", "1", "1 ", "eyJ", "eyJaaaaaaaa.", "sk-", "sk-a-", "password=", "password: ", "a@", "a.",
    "+1", "://a:", "0-", "01 ", "bearer ", "4111 ", "(11) ", "AKIA ", "x@a-.", " ", "\n",
    f"{DASHES}BEGIN PRIVATE KEY{DASHES}\n", f"{DASHES}BEGIN PRIVATE KEY{DASHES}AAAAAAAAAAAAAAAAA",
    "Taaaaaaaaa/Baaaaaaaaa/", "SG.", "\\n", "AAAAAAAAAAAAAAAAA\n",
)  # fmt: skip


def seconds(text: str) -> float:
    """The best of five in this thread's own time, for the machine may be busy."""
    times: list[float] = []
    for _ in range(5):
        start = time.thread_time()
        redact(text, where="item")
        times.append(time.thread_time() - start)
    return min(times)


@pytest.mark.parametrize("unit", GROWING)
def test_time_grows_in_proportion(unit: str) -> None:
    """Eight times the text takes about eight times as long, and never sixty-four."""
    head = f"{DASHES}BEGIN PRIVATE KEY{DASHES}\n" if unit[0] in "A\\" else ""
    small, large = (head + unit * (size // len(unit)) for size in (8_000, 64_000))
    assert seconds(large) < 24 * seconds(small) + 0.001
