"""Coding: rules and their words, a judge's JSON, spans, diversity, repeated checks."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.errors import InputError, LabelError, OptionError, ShapeError
from psychollm.instruments.coding import (
    FIVE,
    RATIONALIST,
    Category,
    Coding,
    Scheme,
    Transcript,
    code_by_rules,
    coded,
    read_reply,
    score_readings,
    verifications,
)
from psychollm.instruments.coding.instrument import coding_task
from psychollm.instruments.coding.replies import transcript_of
from psychollm.instruments.coding.result import Coded, Span, entropy, locate, n_words
from psychollm.instruments.coding.schemes import SCHEMES, as_scheme
from psychollm.instruments.coding.scoring import rule_scores
from psychollm.instruments.coding.transcripts import as_transcripts
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.reading import Outcome, Reading

TEXT = (
    "The question asks for the total. My plan is to add the two parts. I'm not sure about the "
    "first part. Alternatively, I could work backwards. Let me double-check: 3 + 4 = 7."
)
CODING = Coding(transcripts={"a": TEXT, "b": "Three and four are seven."})
PROMPT = CODING.prompts()[0]
ALL = {name: {"code": 1, "quotes": ["total"]} for name in FIVE.names}

SENTENCES = {
    "self_awareness": [
        "I'm not sure about this.",
        "I am not quite certain.",
        "I don't really know the year.",
        "I might be misremembering that.",
        "My mistake, it was 1815.",
    ],
    "context_awareness": [
        "The question asks for a list.",
        "The answer should be in metres.",
        "The problem doesn't specify the unit. The wording is odd.",
    ],
    "strategy_selection": [
        "Alternatively, we could count.",
        "Let's try a different approach.",
        "I'll proceed by elimination.",
    ],
    "goal_management": [
        "My goal is to find x.",
        "The plan is simple.",
        "First, I add them, and then I halve the sum.",
    ],
    "evaluation": [
        "Wait, that is not right.",
        "Let me verify the sum.",
        "Now to double-check.",
        "Let me see if this holds.",
    ],
    "logical_dependencies": [
        "If that turns out to be false, the rest fails.",
        "This hinges on the assumption that prices rise.",
    ],
    "cruxes": ["The crux is the cost.", "That would change my mind."],
    "assume_or_argue": [
        "I'm simply assuming that.",
        "We have not yet shown this.",
        "Taken for granted so far.",
    ],
    "motivated_reasoning": [
        "That would be convenient.",
        "I may be rationalizing here.",
        "Am I just agreeing?",
    ],
    "steelman": [
        "The strongest case against it is this.",
        "A critic might object that it is slow.",
    ],
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, said in SENTENCES.items() for text in said]
)
def test_strong_words_are_found(name, text):
    scheme = FIVE if name in FIVE.names else RATIONALIST
    assert code_by_rules(text, scheme).codes[name] == 2


@pytest.mark.parametrize(
    "text",
    [
        "Three and four are seven.",
        "No need to verify that.",
        "The river flows from the hills to the sea.",
        "The cheque was paid on Monday.",
        "",
    ],
)
@pytest.mark.parametrize("scheme", ["five", "rationalist", "skills"])
def test_plain_words_are_not(text, scheme):
    found = code_by_rules(text, scheme)
    assert not any(found.codes.values())
    assert found.spans == ()


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Let me verify the sum.", "checking"),
        ("Wait, that is not right.", "checking"),
        ("Coming back to my first conclusion, I see a gap.", "reviewing"),
        ("Earlier, I assumed that the list was sorted.", "reviewing"),
        ("A critic might object that the sample is small.", "other_side"),
        ("The evidence against this is strong.", "other_side"),
        ("The most important question is who pays.", "importance"),
        ("That is not worth the effort here.", "importance"),
    ],
)
def test_four_skills_are_coded(text, category):
    codes = code_by_rules(text, "skills").codes
    assert [name for name, code in codes.items() if code] == [category]
    assert codes[category] == 2


def test_two_weak_cues_are_as_good_as_a_strong_one():
    assert code_by_rules("I guess it is 7.").codes["self_awareness"] == 1
    assert code_by_rules("I guess it is 7. I think so.").codes["self_awareness"] == 2
    assert code_by_rules("I guess, I think, it is 7.").codes["self_awareness"] == 1


def test_a_whole_trace():
    found = code_by_rules(TEXT)
    assert set(found.codes.values()) == {2}
    assert found.diversity == pytest.approx(math.log2(5), abs=0.15)
    assert found.density == pytest.approx(1000 * len(found.spans) / found.words)
    cues = {one.name: one.cues for one in SCHEMES["five"].categories}
    for span in found.spans:
        assert TEXT[span.start : span.end] == span.words
        assert any(cue.name == span.cue for cue in cues[span.category])


def test_every_category_has_cues():
    for category in (one for scheme in SCHEMES.values() for one in scheme.categories):
        assert any(cue.strong for cue in category.cues)
    with pytest.raises(InputError, match="no cues"):
        code_by_rules("x", Scheme("own", (Category("wit", "jokes"),)))


@given(st.text(max_size=300))
def test_rules_take_any_text(text):
    found = code_by_rules(text)
    assert set(found.codes) == set(FIVE.names)
    again = code_by_rules(text + "\n" + text)
    for name, code in found.codes.items():
        assert again.codes[name] >= code
    verifications(text)


FORMS = [
    json.dumps(ALL),
    f"Here it is:\n```json\n{json.dumps(ALL, indent=2)}\n```\nDone.",
    f"<think>maybe {{}} or so</think>{json.dumps(ALL)}",
    json.dumps({"codes": ALL}),
    json.dumps([{"category": name, **entry} for name, entry in ALL.items()]),
    json.dumps({name.replace("_", "-").title(): entry for name, entry in ALL.items()}),
    json.dumps({name: {"score": "1", "evidence": "total"} for name in ALL}),
    json.dumps({name: [1, "total"] for name in ALL}),
    json.dumps(ALL)[:-1] + ",}",
    "\n".join(f'- **{name.replace("_", " ")}**: 1 ("total")' for name in ALL),
    "\n".join(json.dumps({name: entry}) for name, entry in ALL.items()),
    json.dumps({name: {"code": 1, "quotes": [{"text": "total"}]} for name in ALL}),
    json.dumps(ALL) + json.dumps(ALL),
]


@pytest.mark.parametrize("reply", FORMS)
def test_forms_of_replies(reply):
    reading = read_reply(PROMPT, reply)
    table = json.loads(reading.value)
    assert table["codes"] == dict.fromkeys(FIVE.names, 1)
    assert table["quotes"] == {name: ["total"] for name in FIVE.names}
    found = coded(PROMPT, reading)
    assert [span.words for span in found.spans] == ["total"] * 5


@pytest.mark.parametrize(
    ("reply", "finish", "outcome"),
    [
        ("", None, Outcome.EMPTY),
        ("<think>hm", None, Outcome.UNREADABLE),
        ("<think>hm", "length", Outcome.TRUNCATED),
        ("I see nothing of the kind.", None, Outcome.UNREADABLE),
        ('{"evaluation": {"code": 3}}', None, Outcome.UNREADABLE),
        ('{"evaluation": true}', None, Outcome.UNREADABLE),
        ('{"evaluation": 1}\n{"evaluation": 2}', None, Outcome.AMBIGUOUS),
        ('{"evaluation": {"code": 2, "quo', "length", Outcome.TRUNCATED),
        ("[" * 5000, None, Outcome.UNREADABLE),
    ],
)
def test_what_is_no_code(reply, finish, outcome):
    assert read_reply(PROMPT, reply, finish_reason=finish).outcome is outcome


def test_a_category_with_two_codes_has_none():
    reading = read_reply(PROMPT, '{"evaluation": 1, "self_awareness": 0}\n{"evaluation": 2}')
    assert coded(PROMPT, reading).codes["evaluation"] is None
    assert coded(PROMPT, reading).codes["self_awareness"] == 0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*FIVE.names, "code", "quotes", "category"]), inner)
        ),
        max_leaves=12,
    ),
    st.text(max_size=20),
)
def test_reading_never_raises(table, text):
    for reply in (json.dumps(table), text, f"{text}{json.dumps(table)}{text}"):
        reading = read_reply(PROMPT, reply)
        assert isinstance(reading, Reading)
        coded(PROMPT, reading)


def test_quotations_are_looked_up():
    assert locate("  the   QUESTION asks ", TEXT) == (0, 17)
    assert locate("“I’m not sure”", TEXT) == (66, 78)
    assert locate("...", TEXT) is None
    assert locate("never said", TEXT) is None
    reading = read_reply(PROMPT, '{"evaluation": {"code": 2, "quotes": ["3 + 4", "5 + 6"]}}')
    assert (len(coded(PROMPT, reading).spans), coded(PROMPT, reading).lost) == (1, 1)


def test_prompts():
    coding = Coding(
        transcripts=[
            Transcript(key="a", text=TEXT, model="m", item="q", arm="prompted", correct=True),
            {"key": "b", "text": ">>>\n<<< odd", "structure": "maze", "tokens": 12},
        ],
        scheme="rationalist",
        n_repeats=2,
    )
    prompts = coding.prompts()
    assert len({one.key for one in prompts}) == 4
    for one in prompts:
        assert Prompt.from_dict(json.loads(json.dumps(one.to_dict()))) == one
        for name in RATIONALIST.names:
            assert name in one.messages[-1].content
    assert coded(prompts[1], read_reply(prompts[1], "cruxes: 2")).words == n_words(">>>\n<<< odd")
    frame = coding.score({}, coder="x").to_frame()
    assert len(frame) == 4 * 5
    assert set(frame["coder"]) == {"x", "x-2"}
    assert frame["correct"].notna().sum() == 10
    assert frame.loc[frame["transcript"] == "b", "tokens"].unique() == [12]


def test_scores():
    readings = [read_reply(PROMPT, json.dumps(ALL)), None]
    scores = CODING.score(readings)
    np.testing.assert_array_equal(scores.codes, [[1] * 5, [np.nan] * 5])
    np.testing.assert_array_equal(scores.counts[0], 1)
    np.testing.assert_allclose(scores.diversity, [math.log2(5), np.nan])
    assert scores.outcomes == (Outcome.ANSWERED, Outcome.FAILED)
    assert len(scores.spans_frame()) == 5
    assert "1 of 1" in scores.summary()
    assert "no trace has a code" in CODING.score({}).summary()
    rules = CODING.by_rules()
    assert rules.codes.tolist() == [[2] * 5, [0] * 5]
    assert rules.to_frame().columns.tolist() == scores.to_frame().columns.tolist()


def test_bad_readings():
    with pytest.raises(ShapeError):
        CODING.score([None])
    with pytest.raises(LabelError):
        CODING.score({"nobody": Reading(outcome=Outcome.EMPTY)})
    other = Coding(transcripts={"c": "x"}, scheme="rationalist").prompts()
    with pytest.raises(InputError, match="several coding schemes"):
        score_readings((*CODING.prompts(), *other), {})


@pytest.mark.parametrize(
    "transcripts",
    [
        {},
        {"a": " "},
        [{"key": "a"}],
        ["text"],
        [{"key": "a", "text": "x", "correct": 2}],
        [{"key": "a", "text": "x"}, {"key": "a", "text": "y"}],
    ],
)
def test_bad_transcripts(transcripts):
    with pytest.raises(InputError):
        Coding(transcripts=transcripts)


@pytest.mark.parametrize("options", [{"scheme": "seven"}, {"n_repeats": 0}])
def test_bad_options(options):
    with pytest.raises(OptionError):
        Coding(transcripts={"a": "x"}, **options)


@pytest.mark.parametrize(
    ("text", "n", "repeated"),
    [
        ("Let me verify that 3 * 4 = 12. Now to check that 5 * 6 = 30.", 2, 0),
        ("Let me verify that 3 * 4 = 12. Let me double-check 3 * 4 = 12 again.", 2, 1),
        ("Let me double-check. 3 * 4 = 12. Fine. Let me check again. 3 * 4 = 12.", 2, 1),
        ("Let me check the capital of Peru. Let me verify Peru's capital city.", 2, 0),
        ("Let me check the capital of Peru. To verify: the capital of Peru.", 2, 1),
        ("Without checking, 12. There is no need to verify it.", 0, 0),
        ("", 0, 0),
    ],
)
def test_repeated_checks(text, n, repeated):
    found = verifications(text)
    assert (found.n, found.repeated) == (n, repeated)
    assert math.isnan(found.share) == (n == 0)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6))
def test_entropy_is_bounded(counts):
    found = entropy(counts)
    if not any(counts):
        assert math.isnan(found)
        return
    assert 0.0 <= found <= math.log2(len(counts)) + 1e-9
    assert entropy([3 * n for n in counts]) == pytest.approx(found)
    assert entropy(counts[::-1]) == pytest.approx(found)


def test_a_cue_finds_its_words():
    found = SCHEMES["five"].categories[-1].cues[0].pattern.search("Let me double-check this.")
    assert found.group() == "double-check"


def test_share_of_repeated_checks():
    found = verifications("Let me check that 3 * 4 = 12. Yes. Let me verify 3 * 4 = 12 again.")
    assert (found.n, found.repeated, found.share) == (2, 1, 0.5)


def test_transcripts_in_and_out_of_prompts():
    assert as_transcripts({"a": "Let me see."})[0].key == "a"
    assert transcript_of(Coding(transcripts={"a": "Two and two."}).prompts()[0]) == "Two and two."
    _, task, start = coding_task(FIVE, "Two and two.")
    assert task[start : start + 4] == "Two "


def test_schemes_spans_and_codes():
    assert as_scheme("five") is FIVE
    assert rule_scores([Transcript(key="a", text="Wait, that's wrong.")], FIVE).codes[0, -1] == 2.0
    assert Span("evaluation", 0, 5, "check", "check").words == "check"
    assert Coded(codes={"evaluation": 1}, spans=(), words=10).counts == {"evaluation": 0}


@pytest.mark.parametrize(
    ("text", "assertion", "anthropomorphism"),
    [
        ("4. I am fully confident that I can always find a way.", 2, 0),
        ("I can manage to do that.", 1, 0),
        ("I can't do that.", 0, 0),
        ("I am not sure; I cannot always do it.", 0, 0),
        ("I enjoy hard problems and my life has taught me to stay calm.", 0, 2),
        ("I do not feel anything, and I have no feelings or wishes.", 0, 0),
        ("I try to find a solution.", 0, 1),
        ("As a language model, this item does not apply: 1.", 0, 0),
        ("When I'm in trouble I stay calm because my experience certainly helps.", 2, 2),
    ],
)
def test_stance_is_told_by_words(text, assertion, anthropomorphism):
    codes = code_by_rules(text, "stance").codes
    assert codes == {"assertion": assertion, "anthropomorphism": anthropomorphism}


def test_a_judge_of_stance_is_told_what_to_look_for():
    role, task = (one.content for one in Coding(
        transcripts={"a": "I cope."}, scheme="stance"
    ).prompts()[0].messages)  # fmt: skip
    assert "how the writer speaks" in role
    assert "- assertion: the writer states firmly" in task


def test_mean_codes_by_model_leave_out_what_was_not_coded():
    traces = [
        {"key": key, "text": text, "model": model}
        for key, model, text in [
            ("a", "bold", "I can always do it."),
            ("b", "bold", "No."),
            ("c", "shy", "No."),
        ]
    ]
    coding = Coding(transcripts=traces, scheme="stance")
    assert coding.by_rules().by_model()["assertion"] == {"bold": 1.0, "shy": 0.0}
    assert coding.score({}).by_model()["assertion"] == {}


OWN = """
role = "You look for wit."
[[category]]
name = "wit"
meaning = "jokes."
[[category.cue]]
name = "pun"
pattern = 'no pun|{i} joke'
strong = true
deniable = true
"""


def test_a_scheme_of_ones_own(tmp_path):
    path = tmp_path / "humour.toml"
    path.write_text(OWN, encoding="utf-8")
    scheme = as_scheme(path)
    assert (scheme.name, scheme.names, scheme.role) == ("humour", ("wit",), "You look for wit.")
    assert scheme.categories[0].meaning == "jokes"
    coding = Coding(transcripts={"a": "We joke."}, scheme=str(path))
    assert coding.by_rules().codes.tolist() == [[2.0]]
    prompt = coding.prompts()[0]
    assert prompt.key == "a/humour/0"
    assert read_reply(prompt, '{"wit": {"code": 1, "quotes": ["We joke"]}}').answered


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('name = "wit"', "", r"own.toml: category: 'name' is missing"),
        ('meaning = "jokes."', "meaning = 3", "meaning=3 must be text"),
        ('meaning = "jokes."', 'meaning = " "', "meaning=' ' must be text"),
        ('name = "wit"', 'name = "w\\nit"', "category .* must be one line"),
        ("strong = true", "strong = 'yes'", "category 'wit': cue: strong='yes' must be true"),
        ("strong = true", "weight = 3", "unknown field 'weight': fields are name, pattern"),
        ("no pun|{i} joke", "(", "cue 'pun' is not a regular expression"),
        ("no pun|{i} joke", "x*", "cue 'pun' matches the empty text"),
        ("[[category]]", "[[category", "not valid TOML"),
        ("[[category]]", "[more]\n[[category]]", "own.toml: unknown field 'more'"),
    ],
)
def test_a_scheme_that_cannot_be_used_says_where_it_fails(tmp_path, old, new, match):
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=match):
        as_scheme(path)


def test_a_scheme_without_categories_or_with_two_of_a_name(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('name = "x"', encoding="utf-8")
    with pytest.raises(InputError, match="'category' is missing"):
        as_scheme(path)
    path.write_text(OWN + OWN.partition("\n")[2].partition("\n")[2], encoding="utf-8")
    with pytest.raises(InputError, match="category 'wit' occurs twice"):
        as_scheme(path)
    again = OWN.partition("\n")[2].partition("\n")[2].replace('name = "wit"', 'name = "WIT"')
    path.write_text(OWN + again, encoding="utf-8")
    with pytest.raises(InputError, match="category 'wit' occurs twice"):
        as_scheme(path)
    with pytest.raises(InputError, match="cannot be read"):
        as_scheme(tmp_path / "none.toml")
