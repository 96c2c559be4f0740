"""The second stage: a judge model that compares answers with right answers."""

from collections.abc import Mapping, Sequence

from psychollm._base.errors import LabelError
from psychollm.data.labels import listed
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.self_prediction.replies import NAME
from psychollm.instruments.self_prediction.wording import judgement

_LENGTH = 16


def judge_prompts(prompts: Sequence[Prompt], replies: Mapping[str, str]) -> tuple[Prompt, ...]:
    """Return the prompts that ask a judge whether answers are right.

    Parameters
    ----------
    prompts : sequence of Prompt
        Those of `SelfPrediction.prompts`.
    replies : mapping of str to str
        Replies of one model, by the key of the prompt. Those that are not answers, and blank
        ones, are passed over.

    Returns
    -------
    tuple of Prompt
        One per answer, with its key and "/judge". Their readings, scored together with the
        others, outweigh the grading by words.

    Raises
    ------
    LabelError
        If a key belongs to no prompt.

    Examples
    --------
    >>> from psychollm.instruments.self_prediction import SelfPrediction
    >>> asked = SelfPrediction(questions=[{"question": "What is 2 + 2?", "answer": "4"}])
    >>> [prompt.key for prompt in judge_prompts(asked.prompts(), {"1/answer/0": "four"})]
    ['1/answer/0/judge']
    """
    known = {prompt.key: prompt for prompt in prompts}
    if unknown := sorted(set(replies) - set(known)):
        msg = f"replies has keys of no prompt: {listed(unknown)}; use the instrument that asked"
        raise LabelError(msg)
    return tuple(
        _judge(known[key], reply)
        for key, reply in replies.items()
        if known[key].about["part"] == "answer" and reply.strip()
    )


def _judge(prompt: Prompt, reply: str) -> Prompt:
    about = prompt.about
    text = judgement(about["question"], about["reference"], reply.strip())
    return Prompt(
        key=f"{prompt.key}/judge",
        item=prompt.item,
        messages=(Message("user", text),),
        reply="yes_no",
        repeat=prompt.repeat,
        max_tokens=_LENGTH,
        about={"instrument": NAME, "part": "judge", "question": about["question"]},
    )
