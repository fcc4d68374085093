"""Which candidates are recalled, in which order, and how many fit."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.decay import FOREVER, NEVER, Policy, microseconds
from memkit.errors import ConfigError
from memkit.models import Candidate, Candidates, Recalled, Scope
from memkit.ranking import Weights, fit, rank
from memkit.ranking.repetition import Said
from memkit.render import line, render
from memkit.text import estimate_tokens, query_tokens, tokenize

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SCOPE = Scope(user_id="ann")
WEEKLY = Policy(0.5, 0.2)


def row(  # noqa: PLR0913  # as many as a candidate has parts
    content: str,
    item_id: str = "",
    *,
    importance: float = 0.5,
    policy: Policy = Policy(),  # noqa: B008  # frozen
    origin: str = "user",
    age: float = 1.0,
    at: tuple[str, int] | None = None,
    language: str = "english",
) -> Candidate:
    """A candidate that was said `age` days ago and has `importance` now."""
    return Candidate(
        id=item_id or content,
        scope=SCOPE,
        content=content,
        kind="semantic",
        origin=origin,
        policy=policy.name,
        fades_at=microseconds(policy.fades_at(importance, NOW)),
        observed_at=microseconds(NOW - timedelta(days=age)),
        session_id=at[0] if at else None,
        position=at[1] if at else None,
        tokens=" ".join(tokenize(content, language)),
    )


def recall(  # noqa: PLR0913  # as many as there are limits
    rows: Iterable[Candidate],
    query: str = "",
    *,
    limit: int = 10,
    min_importance: float = 0.0,
    min_score: float = 0.0,
    population: int = 0,
    strongest: Iterable[Candidate] = (),
    weights: Weights = Weights(),  # noqa: B008  # frozen
) -> list[Recalled]:
    """`rank` over `rows`: what text found if there is a query, what is strongest if not."""
    tokens = query_tokens(query)
    found = tuple(
        each for each in rows if not query or set(tokens) & set((each.tokens or "").split())
    )
    return rank(
        Candidates(text=found, strongest=tuple(strongest), population=population)
        if query
        else Candidates(strongest=found),
        query_tokens=tokens,
        now=NOW,
        limit=limit,
        min_importance=min_importance,
        min_score=min_score,
        weights=weights,
    )


def ids(recalled: Iterable[Recalled]) -> list[str]:
    """Their ids, in order."""
    return [each.id for each in recalled]


WORDS = ["tea", "coffee", "dog", "cat", "oslo", "rome", "piano", "chess", "lives", "likes"]
rows = st.builds(
    row,
    content=st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join),
    importance=st.sampled_from([0.1, 0.2, 0.5, 0.85, 1.0]),
    policy=st.sampled_from([Policy(), WEEKLY, NEVER]),
    origin=st.sampled_from(["user", "assistant", "tool", "told", "imported"]),
    age=st.floats(0, 400),
    at=st.none() | st.tuples(st.sampled_from(["s1", "s2"]), st.integers(0, 6)),
)
many = st.lists(rows, max_size=12).map(
    lambda found: [each._replace(id=f"{number:02}") for number, each in enumerate(found)]
)
queries = st.lists(st.sampled_from([*WORDS, "zither"]), max_size=4).map(" ".join)


@given(many, queries, st.integers(0, 8), st.randoms(use_true_random=False))
def test_the_answer_is_a_function_of_the_set(
    found: list[Candidate], query: str, limit: int, chance: random.Random
) -> None:
    """The order in which a store gives its rows changes nothing, and a limit only cuts."""
    answer = recall(found, query, limit=len(found))
    mixed = chance.sample(found, len(found))
    assert recall(mixed, query, limit=limit) == answer[:limit]


@given(many, many, queries, st.floats(0, 1), st.floats(0, 1))
def test_limits_hold(
    found: list[Candidate], strong: list[Candidate], query: str, importance: float, score: float
) -> None:
    """Each answer is a candidate, once, within its range and above what was asked."""
    strong = [each._replace(id=f"s{each.id}") for each in strong]
    answer = recall(found, query, strongest=strong, min_importance=importance, min_score=score)
    known = {each.id: each for each in (*found, *strong)}
    assert len(set(ids(answer))) == len(answer) <= 10
    for each in answer:
        assert each.content == known[each.id].content
        assert importance <= each.importance <= 1
        assert score <= each.score <= 1
        assert each.why


@given(many)
def test_without_a_query_the_strongest_come_first(found: list[Candidate]) -> None:
    """Items of all policies are in one order: importance now, then newer, then lower id."""
    answer = recall(found, limit=len(found), weights=Weights(duplicate=2))
    known = {each.id: each for each in found}
    keys = [(-each.importance, -known[each.id].observed_at, each.id) for each in answer]
    assert keys == sorted(keys)
    assert len(answer) == len(found)
    for each in answer:
        policy = Policy.from_name(known[each.id].policy)
        fades_at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
            microseconds=known[each.id].fades_at
        )
        assert each.score == each.importance
        assert each.importance == pytest.approx(policy.importance(fades_at, NOW), abs=1e-6)


def bm25(found: list[Candidate], query: str, population: int) -> dict[str, tuple[float, float]]:
    """Share held and BM25 by id, written down once more as plainly as can be."""
    tokens = query_tokens(query)
    texts = {each.id: (each.tokens or "").split() for each in found}
    usual = sum(map(len, texts.values())) / max(1, len(texts))
    held = {token: sum(token in text for text in texts.values()) or 0.5 for token in tokens}
    idf = {token: math.log((population + 1) / (held[token] + 0.5)) for token in tokens}
    answer: dict[str, tuple[float, float]] = {}
    for item_id, text in texts.items():
        share = bm = 0.0
        for token in tokens:
            count = text.count(token)
            share += idf[token] * bool(count)
            bm += idf[token] * count / (count + 2.0 * (0.2 + 0.8 * (len(text) + 1) / (usual + 1)))
        answer[item_id] = share / sum(idf.values()), bm / sum(idf.values())
    return answer


@given(many, queries.filter(bool), st.integers(20, 5000))
def test_the_score_is_the_share_of_the_query_by_rarity(
    found: list[Candidate], query: str, population: int
) -> None:
    """The score is absolute, and with text alone the order is BM25's."""
    found = [
        each._replace(position=None, tokens=" ".join(dict.fromkeys((each.tokens or "").split())))
        for each in found
        if set(query_tokens(query)) & set((each.tokens or "").split())
    ]
    expected = bm25(found, query, population)
    alone = Weights(importance=0, recency=0, origin=0, duplicate=2)
    answer = recall(found, query, limit=99, population=population, weights=alone)
    assert len(answer) == len(found)
    assert {each.id: each.score for each in answer} == {
        item_id: pytest.approx(share, abs=1e-6) for item_id, (share, _) in expected.items()
    }
    values = [expected[each.id][1] for each in answer]
    assert values == pytest.approx(sorted(values, reverse=True))


@given(many, queries, st.sampled_from([0.5, 0.7, 0.9, 1.0]))
def test_no_two_answers_say_the_same(found: list[Candidate], query: str, share: float) -> None:
    """What is left out shares its words with one that stands before it, and nothing else is."""
    found = [each._replace(position=None) for each in found]
    everything = recall(found, query, limit=99, weights=Weights(duplicate=2))
    distinct: list[Recalled] = []
    for each in everything:
        words = set(tokenize(each.content))
        others = [set(tokenize(other.content)) for other in distinct]
        if all(len(words & other) < share * len(words | other) for other in others):
            distinct.append(each)
    assert recall(found, query, limit=99, weights=Weights(duplicate=share)) == distinct


DIARY = [
    row("Ann lives in Oslo near the harbor", at=("s1", 0)),
    row("The harbor is cold in winter", at=("s1", 1), origin="assistant"),
    row("She adopted a grey cat", at=("s1", 2)),
    row("Her cat is called Miso", at=("s2", 0)),
    row("Uses FastAPI as REST framework", at=("s2", 1)),
]


@pytest.mark.parametrize(
    ("query", "best", "score"),
    [
        ("Which REST framework does she use?", "Uses FastAPI as REST framework", 1.0),
        ("grey cats", "She adopted a grey cat", 1.0),
        ("What is the cat called?", "Her cat is called Miso", 1.0),
    ],
)
def test_a_query_that_is_held_whole_scores_one(query: str, best: str, score: float) -> None:
    """The best answer holds all telling words of the query, and its score says so."""
    first = recall(DIARY, query, population=len(DIARY))[0]
    assert (first.id, first.score) == (best, score)


@pytest.mark.parametrize(
    "query",
    ["the capital of Mongolia", "a cold beer", "grey whales in winter", "FastAPI against Flask"],
)
def test_an_off_topic_query_finds_nothing_at_a_half(query: str) -> None:
    """Where half of the query's words are unheard of, no item answers half of it."""
    assert recall(DIARY, query, population=len(DIARY), min_score=0.5) == []


def test_neighboring_messages_are_evidence() -> None:
    """Of equal hits the one beside another hit of its session comes first, two steps count."""
    hit = row("he said chess", at=("s1", 3))
    far = row("we said chess", at=("s2", 3))
    for position in (1, 2, 4, 5):
        beside = row("chess and piano in the evening", at=("s1", position))
        found = recall([far, hit, beside], "chess piano", population=50)
        assert ids(found)[1:] == ["he said chess", "we said chess"]
        assert found[1].why == "1 of 2 words, neighboring messages"
        assert found[2].why == "1 of 2 words"


@pytest.mark.parametrize("place", [("s1", 6), ("s1", 0), ("s3", 3), None])
def test_messages_further_away_are_none(place: tuple[str, int] | None) -> None:
    """Neither three messages away nor in another session is a message evidence."""
    found = [
        row("he said chess", "2", at=("s1", 3)),
        row("we said chess", "1", at=("s2", 9)),
        row("chess and piano in the evening", "0", at=place),
    ]
    assert ids(recall(found, "chess piano", population=50)) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (row("likes chess", importance=0.9), row("plays chess", importance=0.3)),
        (row("likes chess", age=1), row("plays chess", age=9)),
        (row("likes chess", origin="user"), row("plays chess", origin="assistant")),
        (row("likes chess", origin="told"), row("plays chess", origin="tool")),
        (row("likes chess"), row("plays chess on most evenings")),
        (row("chess, always chess"), row("chess, always tea")),
    ],
)
def test_all_else_being_equal(better: Candidate, worse: Candidate) -> None:
    """Importance, recency, origin, brevity and frequency each decide where the rest is even."""
    for found in ([better, worse], [worse, better]):
        assert ids(recall(found, "chess", population=50)) == [better.id, worse.id]


def test_text_outweighs_the_rest() -> None:
    """A fresh and weighty item that answers half never precedes one that answers all."""
    whole = row("old: her cat is called Miso", importance=0.1, age=300, origin="assistant")
    half = row("she is called Ann", importance=1.0, age=0)
    assert ids(recall([half, whole], "cat called", population=50))[0] == whole.id


def test_a_message_gives_one_hit_for_the_same_words() -> None:
    """A fact and the message it came from are one hit; another fact of it may be a second."""
    said = row("I moved to Oslo, and my dog hates Oslo", at=("s1", 4))
    fact = row("Ann moved to Oslo", at=("s1", 4))
    other = row("Ann keeps bees", at=("s1", 4))
    assert len(recall([said, fact], "Oslo", population=50)) == 1
    assert len(recall([fact, other], "Oslo bees", population=50)) == 2
    assert len(recall([said, fact, other])) == 3


def test_sessions_of_the_same_name_are_told_apart() -> None:
    """Messages in one place of two sessions that share a name were said at different times."""
    one = row("likes chess at night", at=("main", 0), age=3)
    two = row("plays chess for money", at=("main", 0), age=2)
    assert len(recall([one, two], "chess", population=50)) == 2


def test_strong_items_come_along_behind_the_hits() -> None:
    """With a query, what is merely strong has score 0, and any minimum leaves it out."""
    strong = row("allergic to nuts", importance=1.0)
    hits = [row("likes chess", importance=0.2)]
    found = recall(hits, "chess", strongest=[strong, *hits], population=50)
    assert [(each.id, each.score, each.why) for each in found] == [
        ("likes chess", 1.0, "1 of 1 words"),
        ("allergic to nuts", 0.0, "importance"),
    ]
    assert ids(recall(hits, "chess", strongest=[strong], population=50, min_score=0.1)) == [
        "likes chess"
    ]


def test_a_part_of_a_word_is_no_word() -> None:
    """A token is matched whole: "art" is neither in "party" nor in "smart cart"."""
    party, art = row("a party in a smart cart"), row("the party sells art")
    found = recall([party, art], "art party", population=50)
    assert ids(found) == [art.id, party.id]
    assert found[1].why == "1 of 2 words"


def test_an_item_of_two_channels_is_one_item() -> None:
    """What is both strong and a hit is there once, and counts once for rarity."""
    hits = [row("likes chess"), row("plays chess and go")]
    both = recall(hits, "chess go", strongest=hits, population=9, weights=Weights(duplicate=2))
    assert both == recall(hits, "chess go", population=9)


def test_an_importance_that_is_just_enough_is_enough() -> None:
    """An item written with importance 0.1 is there at minimum 0.1, and 0.099 is not."""
    found = [row("just", importance=0.1), row("under", importance=0.099)]
    assert ids(recall(found, min_importance=0.1)) == ["just"]
    assert recall([row("x", importance=0.85)])[0].importance == 0.85


def test_pinned_items_stand_by_their_importance() -> None:
    """An item that never fades takes its place among those that do."""
    pinned = row("pinned", importance=0.6, policy=NEVER)
    assert pinned.fades_at > microseconds(FOREVER)
    found = [row("strong", importance=0.7), row("weak", importance=0.5), pinned]
    assert ids(recall(found)) == ["strong", "pinned", "weak"]


def test_a_recalled_item_names_its_source() -> None:
    """The source is the session and the place in it, where there is one."""
    assert recall([row("x", at=("s1", 7))])[0].source == "s1#7"
    assert recall([row("x")])[0].source is None


def test_nothing_comes_of_nothing() -> None:
    """No candidates, or a limit of none, give an empty answer."""
    assert recall([]) == recall([], "chess") == []
    assert recall(DIARY, limit=0) == recall(DIARY, "cat", limit=-1) == []


LANGUAGES = {
    "english": {
        "Ann is allergic to peanuts": "does Ann have an allergy?",
        "We moved to Bergen in March": "when did they move?",
        "The deadline for the grant is Friday": "grant deadlines",
    },
    "german": {
        "Meine Schwester wohnt in Köln": "Wo wohnen die Schwestern?",
        "Ich trinke keinen Kaffee mehr": "Kaffee trinken",
        "Der Zahnarzttermin ist am Dienstag": "zahnarzttermine",
    },
    "french": {
        "J'ai adopté un chat noir": "adopter des chats",
        "Nous partons à Séville en avril": "quand partir à Seville ?",
        "Ma fille étudie la médecine": "etudier la medecine",
    },
    "spanish": {
        "Mi hermano juega al ajedrez": "¿quién jugaba al ajedrez?",
        "Prefiero las reuniones por la mañana": "reunión preferida",
        "El perro se llama Canela": "¿cómo se llama el perro?",
    },
    "russian": {
        "Моя бабушка живёт в Казани": "где живет бабушка?",
        "Я учусь играть на гитаре": "учиться игре на гитаре",
        "Завтра сдаю отчёт по проекту": "отчеты проекта",
    },
    "chinese": {
        "我对花生过敏": "花生",
        "我的猫叫豆豆": "猫的名字",
        "下周二去北京出差": "什么时候去北京?",
    },
    "japanese": {
        "毎朝コーヒーを飲みます": "コーヒーは好き?",
        "妹は大阪に住んでいます": "大阪の妹",
        "来週の会議は中止です": "会議はいつ?",
    },
    "thai": {
        "ฉันแพ้อาหารทะเล": "แพ้อาหารอะไร",
        "แมวของฉันชื่อส้ม": "แมวชื่ออะไร",
        "พรุ่งนี้มีประชุมตอนเช้า": "ประชุมเมื่อไหร่",
    },
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_queries_in_eight_languages_find_their_item(language: str) -> None:
    """Among items in all languages, a question finds its item in the first three."""
    stemmer = language if language not in {"chinese", "japanese", "thai"} else "english"
    found = [row(content, language=stemmer) for each in LANGUAGES.values() for content in each]
    for content, question in LANGUAGES[language].items():
        tokens = query_tokens(question, stemmer)
        held = [each for each in found if set(tokens) & set((each.tokens or "").split())]
        answer = rank(
            Candidates(text=tuple(held), population=len(found)),
            query_tokens=tokens,
            now=NOW,
            limit=3,
            min_importance=0,
            min_score=0,
        )
        assert content in ids(answer)


@pytest.mark.parametrize(
    "weights",
    [{"text": -0.1}, {"recency": math.nan}, {"origin": math.inf}, {"length": 1.5}],
)
def test_senseless_weights_are_refused(weights: dict[str, float]) -> None:
    """A weight is a number from 0 up; the error names it."""
    with pytest.raises(ConfigError, match=next(iter(weights))):
        Weights(**weights)


def counters() -> st.SearchStrategy[object]:
    """Ways to count tokens: the estimate, by words, and one that does not add up."""
    return st.sampled_from(
        [estimate_tokens, lambda text: len(text.split()), lambda text: len(text) ** 2 // 99]
    )


@given(many, st.integers(-5, 400), counters())
def test_what_fits_stays_within_the_budget(found: list[Candidate], budget: int, count) -> None:
    """The rendered block of what fits costs at most the budget; the order is kept."""
    items = recall(found)
    chosen = [each for each, _ in fit(items, budget=budget, count_tokens=count)]
    assert not chosen or count(render(chosen)) <= budget
    assert chosen == [each for each in items if each in chosen]


def test_a_large_item_makes_way() -> None:
    """An item that is too large is left out, and a smaller one behind it is taken."""
    items = recall([row("tea " * 200, importance=0.9), row("likes tea", importance=0.5)])
    assert fit(items, budget=80) == [(items[1], line(items[1]))]
    assert fit(items, budget=10_000) == [(each, line(each)) for each in items]


def test_the_budget_is_spent_as_it_goes() -> None:
    """What was taken before counts: the second large item does not fit, the small one does."""
    contents = ["tea " * 30, "coffee " * 30, "likes chess"]
    items = recall([row(each, importance=1 - len(each) / 999) for each in contents])
    items.sort(key=lambda each: contents.index(each.content))
    budget = estimate_tokens(render([items[0], items[2]])) + 10
    assert [each for each, _ in fit(items, budget=budget)] == [items[0], items[2]]


def crowd(size: int) -> Said:
    """Candidates that share their longest words and nothing else, all taken in."""
    said = Said(0.9)
    for number in range(size):
        assert said.first(row(f"extraordinary circumstances tea{number} cup{number}"))
    return said


def test_a_crowd_is_not_compared_pairwise() -> None:
    """Work on near-duplicates grows with the candidates, not with their square."""
    took = {}
    for size in (500, 4_000):
        begun = time.thread_time()
        crowd(size)
        took[size] = time.thread_time() - begun
    assert took[4_000] < 24 * took[500] + 0.01
