"""Shortened names stay short, and apart."""

from hypothesis import given
from hypothesis import strategies as st

from psychollm._base.names import LONGEST, short_names, shortened


def test_the_beginning_and_the_end_stay() -> None:
    name = "meta-llama/Llama-3.1-405B-Instruct-turbo-temperature-0.7"
    assert shortened(name) == "meta-llama/Llama-…-temperature-0.7"
    assert len(shortened(name)) == LONGEST
    assert shortened("gpt-4") == "gpt-4"


def test_names_that_differ_in_the_middle_are_cut_before_it() -> None:
    names = [f"openrouter/some-vendor/model-{k}-instruct-thinking-high-0.7" for k in range(3)]
    assert short_names(names) == [f"openr…{k}-instruct-thinking-high-0.7" for k in range(3)]


def test_names_with_two_middles_are_numbered() -> None:
    names = [f"{'a' * 40}{x}{'b' * 40}{y}{'c' * 40}" for x in "12" for y in "12"]
    assert [name[-2:] for name in short_names(names)] == ["#1", "#2", "#3", "#4"]


@given(st.lists(st.text("ab-", max_size=60)))
def test_different_names_look_different_and_fit(names: list[str]) -> None:
    short = short_names(names, 20)
    assert len(short) == len(names)
    assert max(map(len, short), default=0) <= 20
    assert len(set(short)) == len(set(names))
