"""Words of a text, the same for what is stored and what is asked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

from memkit.errors import ConfigError

READ_CHARACTERS = 100_000
"""How much of a text is searchable: its first so many characters."""

TOKENS = 20_000
"""The most tokens of one text."""

TOKEN_CHARACTERS = 40
"""The longest token; a longer word is found by its beginning."""

QUERY_TOKENS = 64
"""The most different tokens of one query."""

WHOLE_WORDS = "none"
"""The language of no stemming."""

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_MARKS_IN_A_ROW = 30  # as in Unicode's stream-safe text format
_LONG_RUN = re.compile(r"(?:[^\w\s!-~]|[\uff9e\uff9f]){31,}")
_CLITIC = re.compile("['\u2019\u02bc](?:s|(t|d|m|re|ve|ll))(?!\\w)")
_LETTER_AND_SIGN = re.compile(r"(?<!\w)([a-z])(\+\+|#)")
_SIGNS = {"++": "pp ", "#": "sharp "}
_LEFT_OUT_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0655\u0670]")
_WITHOUT_ACCENTS = frozenset({"english", "porter"})  # elsewhere, endings are told by them
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_IDEOGRAPH = re.compile(f"[{_HAN}]")
_UNSPACED = re.compile(
    f"[{_HAN}\u3041-\u30ff\u31f0-\u31ff\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf]+"
)

_FUNCTION_WORDS = {
    "english": """a about after again all also am an and any are arent as at be because been
        before being but by can cant could couldnt did didnt do does doesnt doing done dont for
        from had has have having he her here hers him his how i id if ill im in into is isnt it
        its ive just me more most my no nor not now of off on once only or other our out over own
        please same she should so some such than that the their them then there these they this
        those through to too under until up us very was wasnt we were what when where which while
        who whom whose why will with wont would wouldnt you your yours""",
    "german": """aber alle als also am an auch auf aus bei bin bis bist da damit das dass dein
        deine dem den der des die dies diese dieser dieses doch du durch ein eine einem einen
        einer eines er es für hab habe haben hat hatte ich ihr ihre im in ist ja kann kein keine
        können mein meine mich mir mit nach nicht noch nur ob oder ohne sein seine sich sie sind
        so um und uns unser von vor war waren warum was welche welcher welches wem wen wenn wer
        werden wie wird wo wir zu zum zur über""",
    "french": """a ai as au aux avec ce ces cette comme comment d dans de des du elle elles en est
        et eu il ils j je l la le les leur lui m ma mais me mes moi mon n ne nos notre nous on ont
        ou où par pas pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa se ses si
        son sont suis sur t ta te tes toi ton tu un une vos votre vous y à été être""",
    "spanish": """a al como con cual cuando cuál cuándo cómo de del donde dónde el ella ellos en
        es esa ese eso esta este esto está fue ha han has hay he la las le les lo los me mi mis
        muy más no nos o para pero por porque que quien quién qué se ser si sin sobre son su sus sí
        te tu tus tú un una unas uno unos y ya yo él""",
    "italian": """a ai al alla alle anche c che chi ci come con cosa cui d da dal dalla dei del
        della delle di dove e ed era gli ha hai hanno ho i il in io l la le lei lo loro lui ma mi
        mia mie mio nel nella non o per perché più qual quale quali quando quanto questa questo se
        si sono su sua sul suo ti tu tua tuo un una uno vi voi è""",
    "portuguese": """a ao aos as com como da das de do dos e ela ele eles em essa esse esta este eu
        foi há isso já lhe mais mas me meu minha muito na nas no nos não o onde os ou para pela
        pelo por porque qual quando que quem se sem ser seu sua são também te tem ter tu um uma
        você à é""",
    "dutch": """aan als bij dat de deze die dit door een en er ga geen had heb hebben heeft het
        hij hoe hun ik in is je jij jouw kan maar me met mij mijn naar niet nog of om ons onze ook
        op over te tot u uit van veel voor waar waarom wanneer was wat we welke wie wij worden
        wordt zal ze zich zij zijn zo""",
    "russian": """а без бы был была были было быть в вам вас во вот все вы где да для до его ее
        если есть еще же за и из или им их к как какая какие какой ко когда который кто ли меня мне
        мной мой мою моя мы на не него нее нет но ну о об он она они от по почему при с свой себя со
        так там тебя то тот ты у уже что чтобы это этот я""",  # noqa: RUF001  # Cyrillic looks like Latin
}


def clean(text: str) -> tuple[str, bool]:
    """`text` as every store can keep it, and whether that changed anything.

    U+0000 and lone surrogates become U+FFFD; two surrogates that make a pair become their
    character.
    """
    is_plain = text.isascii() and "\0" not in text
    if is_plain or _UNSTORABLE.search(text) is None:
        return text, False
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.replace("\0", "\ufffd"), True


def fold(text: str) -> str:
    """`text` for comparison: NFKC, case folded, runs of white space as one blank."""
    return " ".join(_folded(text).split())


def estimate_tokens(text: str) -> int:
    """About how many tokens a language model counts: a quarter of the bytes, rounded up."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // 4)


def tokenize(text: str, language: str = "english") -> tuple[str, ...]:
    """The search tokens of `text`, in its order, repeated as they are there.

    Words are runs of letters, digits and marks: folded, stemmed by the Snowball algorithm
    `language` ("none" keeps them whole; `ConfigError` if there is no such algorithm), and
    freed of the marks that people leave out when they type: accents, vowel points. Scripts
    without blanks, and Korean, give pairs of neighboring characters; an ideograph, and any
    such character that stands alone, is a token of its own too. "C++" and "C#" give "cpp"
    and "csharp". Nothing is left out for being frequent: rarity is the business of ranking.

    A token consists of lower-case ASCII letters and digits, and of characters beyond ASCII
    whose Unicode category is a letter, number or mark. So blanks may separate tokens and
    quoting is needed nowhere; an index must only not part them by rules of its own (FTS5:
    `tokenize = 'ascii'`; Postgres: an array, or `array_to_tsvector`).

    The work is bounded: `READ_CHARACTERS` are read, at most `TOKENS` come out, none longer
    than `TOKEN_CHARACTERS`.
    """
    return tuple(_tokens(_words(text), language))[:TOKENS]


def query_tokens(text: str, language: str = "english") -> tuple[str, ...]:
    """What to ask for: the different tokens of `text`, without its function words.

    Where there is nothing else, the function words are asked for. Of more than
    `QUERY_TOKENS` the longest stay, being the rarest as a rule; the order is that of `text`.
    """
    words = dict.fromkeys(_words(text))
    frequent = _function_words(language)
    telling = [word for word in words if word not in frequent]
    tokens = tuple(dict.fromkeys(_tokens(telling or words, language)))
    if len(tokens) <= QUERY_TOKENS:
        return tokens
    longest = frozenset(sorted(tokens, key=len, reverse=True)[:QUERY_TOKENS])
    return tuple(token for token in tokens if token in longest)


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    # Folding the case may undo the normal form and the other way round, hence twice.
    once = unicodedata.normalize("NFKC", _LONG_RUN.sub(_thinned, text)).casefold()
    return unicodedata.normalize("NFKC", once).casefold()


def _thinned(run: re.Match[str]) -> str:
    """A run without marks in excess: sorting them takes the square of their number."""
    kept: list[str] = []
    row = 0
    for character in run[0]:
        mark = character in "\uff9e\uff9f" or unicodedata.category(character)[0] == "M"
        row = row + 1 if mark else 0
        if row <= _MARKS_IN_A_ROW:
            kept.append(character)
    return "".join(kept)


def _words(text: str) -> list[str]:
    folded = _CLITIC.sub(r"\1", _folded(text[:READ_CHARACTERS]))
    folded = _LETTER_AND_SIGN.sub(lambda match: match[1] + _SIGNS[match[2]], folded)
    # Only the characters that occur are looked up: no table of Unicode is built or kept.
    between = {ord(each): _between(each) for each in set(folded) if not each.isalnum()}
    words = folded.translate(between).split()
    return words if folded.isascii() else [word for word in map(_headed, words) if word]


def _between(character: str) -> str | None:
    """What replaces a character that is neither letter nor number."""
    category = unicodedata.category(character)
    if category == "Cf" or "\ufe00" <= character <= "\ufe0f" or character >= "\U000e0100":
        return None  # invisible: a soft hyphen or a variant of a letter makes no other word
    return character if category[0] == "M" else " "


def _headed(word: str) -> str:
    """`word` from its first letter or digit on: a mark before belonged to something else."""
    start = next((at for at, each in enumerate(word) if each.isalnum()), len(word))
    return word[start:]


def _tokens(words: Iterable[str], language: str) -> Iterator[str]:
    _algorithm(language)
    for word in words:
        if not word.isascii() and _UNSPACED.search(word):
            yield from filter(None, _cut(word, language))
        elif token := _stem(word[:TOKEN_CHARACTERS], language):
            yield token


def _cut(word: str, language: str) -> Iterator[str]:
    """The tokens of a word written, in whole or in part, without blanks."""
    end = 0
    for run in _UNSPACED.finditer(word):
        yield _stem(word[end : run.start()][:TOKEN_CHARACTERS], language)
        yield from _pairs(_characters(run[0]))
        end = run.end()
    yield _stem(_headed(word[end:])[:TOKEN_CHARACTERS], language)


def _characters(run: str) -> list[str]:
    """Letters, each with its marks."""
    characters: list[str] = []
    for each in run:
        if characters and not each.isalnum():
            characters[-1] += each
        else:
            characters.append(each)
    return characters


def _pairs(characters: Sequence[str]) -> Iterator[str]:
    alone = len(characters) == 1
    for character, following in pairwise((*characters, "")):
        if alone or _IDEOGRAPH.match(character):
            yield character[:TOKEN_CHARACTERS]
        if following:
            yield (character + following)[:TOKEN_CHARACTERS]


@lru_cache(maxsize=1 << 16)
def _stem(word: str, language: str) -> str:
    # A stemmer keeps the word it works on, so none is shared between threads.
    make = _algorithm(language)
    if language in _WITHOUT_ACCENTS:
        word = _bare(word)
    return _bare(make().stemWord(word) if make else word)


def _bare(word: str) -> str:
    """`word` without the marks that people leave out when they type."""
    if word.isascii():
        return word
    return _LEFT_OUT_MARKS.sub("", unicodedata.normalize("NFD", word))


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802  # snowballstemmer's spelling


class _Algorithm(Protocol):
    def __call__(self) -> _Stemmer: ...


@lru_cache
def _algorithm(language: str) -> _Algorithm | None:
    """What makes a stemmer for `language`; None where words stay whole."""
    if language == WHOLE_WORDS:
        return None
    import snowballstemmer  # noqa: PLC0415  # 37 modules, needed only where text is cut

    known = sorted(snowballstemmer.algorithms())
    if language not in known:
        raise ConfigError(
            f"no stemmer for the language {language!r}; known: {', '.join(known)}, {WHOLE_WORDS}"
        )
    return lambda: snowballstemmer.stemmer(language)


@lru_cache
def _function_words(language: str) -> frozenset[str]:
    return frozenset(_FUNCTION_WORDS.get(language, "").split())
