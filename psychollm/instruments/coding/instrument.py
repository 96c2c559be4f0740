"""The coding instrument, which codes reflection on one's own thinking in reasoning traces.

Rules and a judge are two independent coders. Rules are transparent but match only words. A judge
interprets the text, but its codes can be verified only by comparing its quotations with the text.
`metacognitive_skill` compares the two coders.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from psychollm._base.checks import hold_counts
from psychollm.instruments.coding.result import CodingScores
from psychollm.instruments.coding.schemes import Scheme, SchemeName, as_scheme
from psychollm.instruments.coding.scoring import rule_scores, score_readings
from psychollm.instruments.coding.transcripts import Transcript, as_transcripts, read_transcripts
from psychollm.instruments.instrument import Instrument, from_file
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.reading import ReadingsLike

_SCALE = (
    "Give each category a code: 0 if nothing of the kind is there; 1 if there is a trace of it, "
    "or it is left half done; 2 if it is plainly there. For a code of 1 or 2, quote the words "
    "that show it, exactly as they stand, at most 20 words each, one quotation for every place."
)
# The reply form shown to the judge contains no codes, so that a copy of the form is not valid JSON
# and never counts as a reply.
_FORM = '{"CATEGORY": {"code": CODE, "quotes": ["QUOTATION", ...]}, ...}'


def coding_task(scheme: Scheme, text: str) -> tuple[str, str, int]:
    """Return a coder's role and task, and the position of the transcript within the task."""
    defined = "\n".join(f"- {one.name}: the writer {one.meaning}." for one in scheme.categories)
    head = f"{_SCALE}\n\n{defined}\n\nTRANSCRIPT\n<<<\n"
    tail = (
        "\n>>>\n\nReply with one JSON object and nothing else, all categories in it, of this "
        f"form: {_FORM}"
    )
    return scheme.role, f"{head}{text}{tail}", len(head)


_MAX_TOKENS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding(Instrument[CodingScores]):
    """Reasoning traces to be coded.

    Parameters
    ----------
    transcripts : mapping of str to str, or iterable of Transcript or mapping
        Texts of traces by key, or transcripts with text, model, question and correctness of the
        answer.
    scheme : {"five", "rationalist", "stance", "skills"}, path or Scheme
        Coding scheme: five, rationalist, stance, skills, or the path of your own scheme; see
        `read_scheme`.
    n_repeats : int
        Number of times that a judge codes each trace.

    Raises
    ------
    InputError
        If there are no transcripts, or a transcript is blank.
    LabelError
        If two transcripts have the same key.
    OptionError
        If a number is not a positive whole number, or the scheme does not exist.

    Examples
    --------
    >>> coding = Coding(transcripts={"a": "I'm not sure about that. Let me check."})
    >>> coding.by_rules().codes[0]
    array([2., 0., 0., 0., 2.])
    """

    NAME = "coding"

    transcripts: Mapping[str, str] | Iterable[Any] = from_file(
        read_transcripts,
        ".jsonl with key and text, or a store, whose replies are coded",
        replies=True,
    )
    scheme: SchemeName | str | PathLike[str] | Scheme = field(
        default="five", metadata={"parse": as_scheme, "metavar": "SCHEME"}
    )
    n_repeats: int = 1
    items: tuple[Transcript, ...] = field(init=False, repr=False, compare=False)
    _scheme: Scheme = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        hold_counts(self, "n_repeats")
        object.__setattr__(self, "items", as_transcripts(self.transcripts))
        object.__setattr__(self, "_scheme", as_scheme(self.scheme))

    def prompts(self) -> tuple[Prompt, ...]:
        """Return the prompts that ask a judge to code the traces.

        Examples
        --------
        >>> prompt = Coding(transcripts={"a": "Let me check."}).prompts()[0]
        >>> prompt.key, prompt.about["categories"][-1]
        ('a/five/0', 'evaluation')
        """
        return tuple(
            self._prompt(one, repeat) for repeat in range(self.n_repeats) for one in self.items
        )

    def by_rules(self) -> CodingScores:
        """Return the codes assigned by rules, without a model.

        Raises
        ------
        InputError
            If the scheme has categories without cues.

        Examples
        --------
        >>> Coding(transcripts={"a": "Two and two."}).by_rules().codes.sum()
        np.float64(0.0)
        """
        return rule_scores(self.items, self._scheme)

    def score(
        self,
        readings: ReadingsLike,
        *,
        coder: str = "judge",
    ) -> CodingScores:
        """Score the parsed replies of one judge.

        Parameters
        ----------
        readings : mapping or sequence
            Parsed replies, either by prompt key or in the order of `prompts`; None marks a failed
            call.
        coder : str
            Name of the judge; if a judge codes repeatedly, each repetition is a separate coder.

        Examples
        --------
        >>> Coding(transcripts={"a": "Let me check."}).score({}).codes
        array([[nan, nan, nan, nan, nan]])
        """
        return score_readings(self.prompts(), readings, coder=coder)

    def _prompt(self, one: Transcript, repeat: int) -> Prompt:
        role, task, start = coding_task(self._scheme, one.text)
        about = {
            "instrument": "coding",
            "scheme": self._scheme.name,
            "categories": list(self._scheme.names),
            "trace": [start, start + len(one.text)],
        }
        return Prompt(
            key=f"{one.key}/{self._scheme.name}/{repeat}",
            item=one.item or one.key,
            messages=(Message("system", role), Message("user", task)),
            reply="text",
            repeat=repeat,
            max_tokens=_MAX_TOKENS,
            about=about | one.about(),
        )
