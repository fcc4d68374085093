"""Words of a text: folding, cleaning, cutting into tokens, estimating."""

from __future__ import annotations

import re
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
import snowballstemmer
from hypothesis import given
from hypothesis import strategies as st

from memkit.errors import ConfigError
from memkit.text import (
    QUERY_TOKENS,
    READ_CHARACTERS,
    TOKEN_CHARACTERS,
    TOKENS,
    clean,
    estimate_tokens,
    fold,
    query_tokens,
    tokenize,
)

LANGUAGES = (*snowballstemmer.algorithms(), "none")
anything = st.text(st.characters(exclude_categories=()), max_size=300)
TOKEN = re.compile(r"[a-z0-9\x80-\U0010ffff]+")


@given(anything, st.sampled_from(LANGUAGES))
def test_tokens_are_safe_to_join_and_to_index(text: str, language: str) -> None:
    """A token is lower-case ASCII or of letters, numbers and marks: no blank, no quote."""
    for token in tokenize(text, language):
        assert TOKEN.fullmatch(token)
        assert all(unicodedata.category(each)[0] in "LNM" for each in token)
        assert len(token) <= TOKEN_CHARACTERS
        assert token[0].isalnum()


@given(anything)
def test_tokens_survive_joining(text: str) -> None:
    """Joined by blanks and split again, tokens are the same."""
    tokens = tokenize(text)
    assert tuple(" ".join(tokens).split()) == tokens


@given(anything)
def test_equal_texts_have_equal_tokens(text: str) -> None:
    """Texts that differ only in normal form, in case or in blanks have the same tokens."""
    expected = tokenize(text, "none")
    assert tokenize(unicodedata.normalize("NFC", text), "none") == expected
    assert tokenize(unicodedata.normalize("NFD", text), "none") == expected
    assert tokenize(fold(text), "none") == expected


@given(anything)
def test_folding_twice_changes_nothing(text: str) -> None:
    """A folded text is its own fold."""
    assert fold(fold(text)) == fold(text)


@given(st.lists(st.sampled_from(["runs", "2023", "café", "straße", "東京タワー", "ที่นี่", "c++"])))
def test_words_are_cut_one_by_one(words: list[str]) -> None:
    """The tokens of words with blanks between them are the tokens of each."""
    assert tokenize(" ".join(words)) == sum(map(tokenize, words), ())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", ""),
        ("   ", ""),
        ("-", ""),
        ("*", ""),
        ("¡¿!? … —", ""),
        ("\u0640 👍\ufe0f \u0301 \u0903 \u0e34", ""),
        ("\u0903x", "x"),
        ("prefers C++", "prefer cpp"),
        ("c++20, C#7 and F#", "cpp 20 csharp 7 and fsharp"),
        ("a multi-agent planner", "a multi agent planner"),
        ("NEAR( user:admin {a b}:c", "near user admin a b c"),
        ('foo"bar "unterminated', "foo bar untermin"),
        ("who's Caroline\u2019s dog, don't I'm", "who carolin dog dont im"),
        ("anna.b@example.org, @nasa", "anna b exampl org nasa"),
        ("50% of 1,200 on 2023-05-07", "50 of 1 200 on 2023 05 07"),
        ("snake_case and camelCase", "snake case and camelcas"),
        ("ÉCOLE Zürich İstanbul", "ecol zurich istanbul"),
        ("co\u00adoperate \u202eabc \ufeffx", "cooper abc x"),
        ("ﬁne Ｆｕｌｌ ①", "fine full 1"),  # noqa: RUF001  # full-width on purpose
        ("東京タワー", "東 東京 京 京タ タワ ワー"),
        ("猫", "猫"),
        ("서울에", "서울 울에"),
        ("네 ね ก", "네 ね ก"),
        ("ที่นี่", "ที่นี่"),
        ("東京tower2号", "東 東京 京 tower2 号"),
        ("العَرَبِيَّة", "العربية"),
        ("हिन्दी", "हिन्दी"),
    ],
)
def test_examples(text: str, tokens: str) -> None:
    """What a person would look for is a token, and signs alone are none."""
    assert " ".join(tokenize(text)) == tokens


STORED = "prefers C++ and uses a multi-agent planner"


@pytest.mark.parametrize("query", ["C++ AND", "multi-agent", "planners", "PREFER", "Ｃ++"])  # noqa: RUF001  # full-width on purpose
def test_hostile_queries_find_the_stored_text(query: str) -> None:
    """What a person types finds what is stored, whatever it means in a query language."""
    assert set(query_tokens(query)) & set(tokenize(STORED))


@pytest.mark.parametrize("query", ["", "   ", "-", "*", "{}:", "\0"])
def test_queries_without_words_ask_for_nothing(query: str) -> None:
    """A query of signs has no tokens, so that nothing can answer it."""
    assert query_tokens(query) == ()


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("english", "What's the name of my dog?", "name dog"),
        ("german", "Wie heißt mein Hund?", "heisst hund"),
        ("french", "Comment s'appelle mon chien ?", "appel chien"),
        ("spanish", "¿Cómo se llama mi perro?", "llam perr"),
        ("italian", "Come si chiama il mio cane?", "chiam can"),
        ("portuguese", "Como se chama o meu cão?", "cham ca"),
        ("dutch", "Hoe heet mijn hond?", "heet hond"),
        ("russian", "Как зовут мою собаку?", "зовут собак"),
        ("english", "who is it", "who is it"),
        ("finnish", "the the cat", "the cat"),
    ],
)
def test_queries_ask_for_telling_words(language: str, text: str, tokens: str) -> None:
    """A query asks once for each word that tells something, and for the others if alone."""
    assert " ".join(query_tokens(text, language)) == tokens


@given(anything)
def test_queries_ask_for_words_of_the_text(text: str) -> None:
    """What is asked for are tokens of the text, none twice; something if it has any."""
    asked = query_tokens(text)
    assert len(set(asked)) == len(asked)
    assert set(asked) <= set(tokenize(text))
    assert bool(asked) == bool(tokenize(text))


def test_long_queries_keep_their_longest_words() -> None:
    """Of a pasted text so many words are asked for, the rarest by their length."""
    short = " ".join(f"w{number}" for number in range(200))
    asked = query_tokens(f"{short} extraordinarily {short}", "none")
    assert len(asked) == QUERY_TOKENS
    assert "extraordinarily" in asked


def test_an_unknown_language_names_the_known() -> None:
    """A misspelt language is refused with the list of those there are, even without words."""
    with pytest.raises(ConfigError, match=r"'englisch'.*english.*none"):
        tokenize("", "englisch")


def test_threads_do_not_disturb_each_other() -> None:
    """Eight threads that stem the same new words come to the same result as one."""
    texts = [f"relational{letter} nationally{letter} running{letter}" for letter in "abcdefghij"]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: [tokenize(text) for text in texts], range(8)))
    assert results == [[tokenize(text) for text in texts]] * 8


def test_only_the_beginning_of_a_huge_text_is_read() -> None:
    """A text is searchable by its first characters; words and their number are bounded."""
    text = "first " + "x" * 60 + " middle" * (READ_CHARACTERS // 6) + " last"
    tokens = tokenize(text)
    assert tokens[:2] == ("first", "x" * TOKEN_CHARACTERS)
    assert "last" not in tokens
    assert len(tokenize("漢字" * READ_CHARACTERS)) == TOKENS


@pytest.mark.parametrize(
    "unit",
    [
        "a\u0301\u0316",
        "\uff9e\u0301",
        "\u0f73\u0301",
        "word ",
        "漢字",
        "a",
        "'s",
        "c++",
        "\u0e01\u0e34",
    ],
)
def test_five_megabytes_are_bounded_work(unit: str) -> None:
    """No text is slow, marks stacked by the million (which normalizing sorts) included."""
    text = unit * (5_000_000 // len(unit))
    start = time.process_time()
    tokenize(text)
    fold(text)
    assert time.process_time() - start < 10


def test_stacked_marks_stay_while_they_are_plausible() -> None:
    """Thirty marks on one letter are kept by folding, what is more is dropped."""
    assert len(fold("x" + "\u0316" * 30)) == 31
    assert fold("x" + "\u0316" * 300 + "y") == fold("x" + "\u0316" * 31 + "y")


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("plain 🙂", ("plain 🙂", False)),
        ("W\0s\0l", ("W\ufffds\ufffdl", True)),
        ("a\ud83db", ("a\ufffdb", True)),
        ("\udc00\ud800", ("\ufffd\ufffd", True)),
        ("\ud83d\ude42", ("🙂", True)),
    ],
)
def test_cleaning(text: str, cleaned: tuple[str, bool]) -> None:
    """U+0000 and halves of pairs become U+FFFD, pairs become whole, and it is said."""
    assert clean(text) == cleaned


@given(anything)
def test_clean_text_can_be_stored(text: str) -> None:
    """Clean text can be encoded, holds no U+0000, stays clean, and is else as it was."""
    cleaned, changed = clean(text)
    assert "\0" not in cleaned
    assert cleaned.encode().decode() == cleaned
    assert clean(cleaned) == (cleaned, False)
    assert changed == (cleaned != text)


@given(anything, anything)
def test_estimates_add_up(one: str, other: str) -> None:
    """The estimate of a whole is at most the sum of its parts, and at least each of them."""
    whole = estimate_tokens(one + other)
    assert max(estimate_tokens(one), estimate_tokens(other)) <= whole
    assert whole <= estimate_tokens(one) + estimate_tokens(other)


def test_estimates_of_known_texts() -> None:
    """Nothing costs nothing, English about four characters a token, Chinese more each."""
    assert estimate_tokens("") == 0
    assert estimate_tokens("one two three four") == 5
    assert estimate_tokens("我喜欢喝茶") == 4
