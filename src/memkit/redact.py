"""What must not be remembered word for word: secrets, card numbers, how to reach people."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

Where = Literal["episode", "item"]
"""Evidence, kept as it was said, or what is remembered of it and shown again and again."""


class Redactor(Protocol):
    """Takes out of a text what may not be kept."""

    def redact(self, text: str, *, where: Where) -> tuple[str, int]:
        """`text` without it, and how many places were replaced.

        Pure, and quick: it runs on everything that is recorded. What comes from an episode
        is redacted again before it becomes an item.
        """
        ...


class PatternRedactor:
    """The default: known shapes become `[redacted:KIND]`.

    In episodes and items: the keys and tokens of well-known makers, private keys, JSON web
    tokens, bearer tokens, passwords in assignments and URLs, and payment cards. In items also
    e-mail addresses and telephone numbers. Every shape takes time in proportion to the text.
    """

    def redact(self, text: str, *, where: Where) -> tuple[str, int]:
        """See `Redactor.redact`."""
        if _is_plain(text):
            return text, 0
        total = 0
        for rule in _RULES:
            if (where == "item" or not rule.kept_in_episodes) and rule.may_match(text):
                text, count = rule.apply(text)
                total += count
        return text, total


@dataclass(frozen=True, slots=True)
class _Rule:
    """A shape; its last named group is what is replaced, and the name is the kind.

    `test` decides where the shape alone says too little. `may_match` is a necessary condition
    that is found out many times faster than the shape: most texts hold nothing of the sort.
    """

    shape: re.Pattern[str]
    may_match: Callable[[str], object]
    test: Callable[[re.Match[str]], bool] = bool
    kept_in_episodes: bool = False

    def apply(self, text: str) -> tuple[str, int]:
        pieces: list[str] = []
        end = 0
        for match in self.shape.finditer(text):
            if match.lastgroup is not None and self.test(match):
                start, stop = match.span(match.lastgroup)
                pieces += text[end:start], f"[redacted:{match.lastgroup}]"
                end = stop
        return "".join((*pieces, text[end:])), len(pieces) // 2


def _has_digit(match: re.Match[str]) -> bool:
    return any(each.isdigit() for each in match[match.lastgroup or 0])


_NO_PASSWORD = re.compile(
    r"(?i:none|null|true|false|empty|hidden|secret|password|changeme|string|example|required"
    r"|optional|undefined|[*.x]+|[$%*<{].*|\[redacted:.*)"
)
_NAME = re.compile(r"[A-Za-z]+(?:[_.][A-Za-z]+)+")


def _is_password(match: re.Match[str]) -> bool:
    """Whether what is assigned is a secret, and not a word of prose, a name or a template."""
    value: str = match["password"]
    if _NO_PASSWORD.fullmatch(value):
        return False
    if match["quote"]:
        return " " not in value
    called = str(match.string)[match.end() : match.end() + 1] in {"(", "["}
    if called or _NAME.fullmatch(value):
        return False
    at_once: bool = match["sign"] == "="
    return at_once or not value.isalpha()


def _is_card(match: re.Match[str]) -> bool:
    """The check digit of payment cards (Luhn)."""
    digits = [int(each) for each in reversed(match["card"]) if each.isdecimal()]
    doubled = sum(sum(divmod(2 * each, 10)) for each in digits[1::2])
    return (sum(digits[::2]) + doubled) % 10 == 0


def _is_phone(match: re.Match[str]) -> bool:
    """Enough digits to reach somebody, and fewer than the longest number has (E.164)."""
    number: str = match["phone"]
    least = 8 if number.startswith("+") else 9
    return least <= sum(map(str.isdecimal, number)) <= 15  # noqa: PLR2004  # E.164


# Each may begin only where no word goes on, so that no run of characters is read twice.
_KEYS = re.compile(
    r"""(?<![\w-])(?:
    (?P<aws_key>(?:AKIA|ASIA)[A-Z2-7]{16}(?!\w))
    |(?P<anthropic_key>sk-ant-[\w-]{20,}+)
    |(?P<openai_key>sk-(?:[a-z0-9]{2,8}-){0,2}(?=[A-Za-z_-]{0,64}\d)[\w-]{20,}+)
    |(?P<stripe_key>[sr]k_(?:live|test)_\w{16,}+|whsec_[\w+/=]{24,}+)
    |(?P<github_token>gh[opsru]_\w{36,}+|github_pat_\w{22,}+)
    |(?P<gitlab_token>gl(?:pat|dt|rt|ptt)-[\w-]{20,}+)
    |(?P<slack_token>xox[abeoprs]-\d[\w-]{9,}+|xapp-\d-[\w-]{10,}+|T\w{8,12}/B\w{8,12}/\w{20,}+)
    |(?P<google_key>AIza[\w-]{35}(?![\w-])|GOCSPX-[\w-]{20,}+|ya29\.[\w-]{20,}+)
    |(?P<sendgrid_key>SG\.[\w-]{16,}+\.[\w-]{16,}+)
    |(?P<twilio_key>SK[0-9a-f]{32}(?!\w))
    |(?P<telegram_token>\d{8,10}:AA[\w-]{33}(?![\w-]))
    |(?P<digitalocean_token>do[opr]_v1_[0-9a-f]{64}(?!\w))
    |(?P<shopify_token>shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}(?!\w))
    |(?P<huggingface_token>hf_[A-Za-z0-9]{30,}+)
    |(?P<npm_token>npm_[A-Za-z0-9]{36}(?!\w))
    |(?P<pypi_token>pypi-[\w-]{50,}+)
    |(?P<jwt>eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]{8,}+)
    )""",
    re.ASCII | re.VERBOSE,
)
_PRIVATE_KEY = re.compile(
    r"(?P<private_key>-----BEGIN[ ](?:[A-Z0-9]+[ ]){0,3}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----"
    r"(?:(?:\s|\\[rn])*+(?:(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]*+|[\w+/=]{16,}+))*+"
    r"(?:(?:\s|\\[rn])*+[\w+/=]{0,80}(?:\s|\\[rn])*+-----END[ ][A-Z0-9 ]{0,40}-----)?)",
    re.ASCII,
)
_BEARER = re.compile(
    r"(?i:\bbearer|authorization['\"]?:\s?['\"]?(?:basic|token))\s{1,3}(?P<bearer_token>[\w.~+/=-]{16,}+)",
    re.ASCII,
)
_URL = re.compile(r"://[^\s/?#:@\"'<>]{0,128}:(?P<url_password>[^\s/?#@\"'<>\[\]]{1,256})@")
_PASSWORD = re.compile(
    r"(?<!\[redacted:)(?<!\[redacted:url_)"
    r"(?i:pass(?:word|wd|phrase|wort)|kennwort|pwd|secret(?:[_-]?key)?|api[_-]?key|access[_-]?key|"
    r"(?:auth|access|refresh|bearer|api|bot)[_-]?token|contraseña|senha|mot[ ]de[ ]passe|пароль|"
    r"密码|密碼|パスワード|비밀번호)"
    r"[\\\"'\]]{0,3}(?P<sign>\s{0,3}(?::=|=>|[=:\uff1a])\s{0,3})(?P<quote>\\?[\"'`])?"
    r"(?P<password>(?(quote)[^\"'`\\\n]{4,256}|[^\s\"'`,;&<>(){}\[\]]{4,256}))"
)
_CARD = re.compile(
    r"(?<![\w.+-])(?=[4-6]|3[04-9]|2[2-7])"
    r"(?P<card>\d{13,19}|\d{4}([ -])\d{4}\2\d{4}\2\d{4}|\d{4}[ -]\d{6}[ -]\d{5})(?![\w-]|\.\d)"
)
_EMAIL = re.compile(
    r"(?<![\w.+-])(?P<email>[\w.+-]++@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24})(?![\w@-]|[:/][\w~])"
)
_PHONE = re.compile(
    r"(?<![\w.,:/+-])(?P<phone>\+\d[\d ().\-/]{5,18}\d"
    r"|(?:1[-. ])?(?:\(\d{2,5}\) ?|\d{3}[-. ])\d{3}[-. ]?\d{4}"
    r"|0\d{1,5}(?:[ /-]\d{2,8}){1,5}|0\d{9,10})(?!\w|[.,:-]\d)"
)
_SIGN = re.compile("[:=\uff1a]")
_SIGNED = 24
"""No name of a password, with what may stand between it and its sign, is longer."""
# None with an "i": (?i) takes a dotless one for it, which folding leaves as it is.
_PASSWORD_NAMES = (
    *("pass", "kennwort", "pwd", "secret", "key", "token", "contrase", "senha", "пароль"),
    *("密码", "密碼", "パスワード", "비밀번호"),
)


def _names_password(text: str) -> bool:
    folded = text.casefold()
    names = [name for name in _PASSWORD_NAMES if name in folded]
    for sign in _SIGN.finditer(text) if names else ():
        before = text[max(0, sign.start() - _SIGNED) : sign.start()].casefold()
        if any(name in before for name in names):
            return True
    return False


_SHORTEST_KEY = 15
_LONG_WORD = b"x" * _SHORTEST_KEY
_FEWEST_DIGITS = 8
"""The shortest telephone number has so many, and every card more."""

# Of the bytes of a text; those of a character beyond ASCII are part of a word, or a digit.
_BLANKS = bytes(ord(" " if bytes([each]).isspace() else "x") for each in range(256))
_NO_DIGITS = bytes(each for each in range(128) if not bytes([each]).isdigit())


def _has_long_word(text: str) -> bool:
    return _LONG_WORD in text.encode("utf-8", "surrogatepass").translate(_BLANKS)


def _has_digits(text: str) -> bool:
    digits = text.encode("utf-8", "surrogatepass").translate(None, _NO_DIGITS)
    return len(digits) >= _FEWEST_DIGITS


def _is_plain(text: str) -> bool:
    """Whether no shape can be in `text`, which is found out several times faster than of each."""
    return not (
        (":" in text or "=" in text or "\uff1a" in text or "@" in text or "-----BEGIN" in text)
        or _has_long_word(text)
        or _has_digits(text)
    )


def _has_key(text: str) -> bool:
    # No key has white space in it, and hardly a word of prose is as long as one.
    return _has_long_word(text) and any(
        len(word) >= _SHORTEST_KEY and _KEYS.search(word) for word in text.split()
    )


def _may_be(shape: str) -> Callable[[str], object]:
    """Whether a text has so many digits, and then in this shape."""
    search = re.compile(shape).search
    return lambda text: _has_digits(text) and search(text)


def _has_email(text: str) -> bool:
    return "@" in text and any("@" in word and _EMAIL.search(word) for word in text.split())


def _names_bearer(text: str) -> bool:
    lowered = text.lower()
    return "bearer" in lowered or "authorization" in lowered


_RULES = (
    _Rule(_PRIVATE_KEY, lambda text: "-----BEGIN" in text),
    _Rule(_KEYS, _has_key),
    _Rule(_BEARER, _names_bearer, test=_has_digit),
    _Rule(_URL, lambda text: "://" in text),
    _Rule(_PASSWORD, _names_password, test=_is_password),
    _Rule(_CARD, _may_be(r"\d{4}[ -]?\d{4}"), test=_is_card),
    _Rule(_EMAIL, _has_email, kept_in_episodes=True),
    _Rule(
        _PHONE,
        _may_be(r"\d(?:[ ().\-/]{0,17}\d){7}"),
        test=_is_phone,
        kept_in_episodes=True,
    ),
)
