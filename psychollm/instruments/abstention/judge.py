"""Prompts for a judge of replies: whether they abstain, are certain, or doubted on the way.

Whether a trace and its answer disagree is judged twice: with the thinking shown to the judge, who
may then read its doubts into the answer, and without it.
"""

from collections.abc import Iterator, Mapping, Sequence

from psychollm.instruments.abstention.wording import Asks, View, judging
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.traces import split_trace

_MAX_TOKENS = 512
# What scoring needs to know of the question where it has nothing but a judge's verdicts.
_KEPT = ("instrument", "should_abstain", "scenario", "pair", "dataset")
# What is judged of a reply, and with what in view; the last four need thinking to look at.
JUDGEMENTS: tuple[tuple[Asks, View], ...] = (
    ("abstains", "answer"),
    ("confident", "answer"),
    ("abstains", "whole"),
    ("confident", "whole"),
    ("uncertain", "trace"),
)


def judge_prompts(
    prompts: Sequence[Prompt],
    replies: Mapping[str, str],
    *,
    model: str = "",
    judgements: Sequence[tuple[Asks, View]] = JUDGEMENTS,
) -> tuple[Prompt, ...]:
    """Return what to ask a judge about replies in hand.

    Parameters
    ----------
    prompts : sequence of Prompt
        What was asked.
    replies : mapping
        Replies by the key of the prompt; thinking in tags. Blank ones are left out.
    model : str
        Whose replies these are, so that one run may judge those of several models.
    judgements : sequence of (asks, view)
        What to have judged, and whether the judge sees the answer, the thinking, or the whole.
        What needs thinking is asked where there is any.

    Examples
    --------
    >>> from psychollm.instruments.abstention import Abstention
    >>> asked = Abstention(n_pairs=1, scenarios=("subjective",)).prompts()
    >>> made = judge_prompts(asked, {asked[0].key: "<think>Hm.</think>Answer: 3"})
    >>> [one.about["asks"] for one in made]
    ['abstains', 'confident', 'abstains', 'confident', 'uncertain']
    """
    return tuple(
        made
        for prompt in prompts
        if replies.get(prompt.key, "").strip() and prompt.about["stage"] == "ask"
        for made in _of_reply(prompt, replies[prompt.key], model, judgements)
    )


def _of_reply(
    prompt: Prompt, reply: str, model: str, judgements: Sequence[tuple[Asks, View]]
) -> Iterator[Prompt]:
    thinking, answer, _ = split_trace(reply)
    known = {name: prompt.about[name] for name in _KEPT}
    for asks, view in judgements:
        if view != "answer" and not thinking:
            continue
        if view != "trace" and not answer:
            continue
        role, task = judging(
            asks,
            prompt.about["question"],
            thinking="" if view == "answer" else thinking,
            answer="" if view == "trace" else answer,
        )
        yield Prompt(
            key=f"{f'{model}: ' if model else ''}{prompt.key}/{asks}/{view}",
            item=prompt.item,
            messages=(Message("system", role), Message("user", task)),
            reply="yes_no",
            repeat=prompt.repeat,
            max_tokens=_MAX_TOKENS,
            about=known
            | {"stage": "judge", "of": prompt.key, "asks": asks, "view": view}
            | ({"model": model} if model else {}),
        )
