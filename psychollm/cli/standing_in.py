"""Replacement of the endpoints of a plan by simulated models or by a small local model."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psychollm._base.csv_text import write_csv
from psychollm._base.errors import OptionError

if TYPE_CHECKING:
    from psychollm.collect.plan import Plan
    from psychollm.collect.staged import StagedPlan
    from psychollm.kits import Respondents

_COMPLETIONS = "openai-completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIns:
    """Options that replace the endpoints of a plan."""

    simulated: bool
    local: bool
    seed: int

    @contextmanager
    def answering(
        self, study: str, staged: "StagedPlan"
    ) -> "Iterator[tuple[StagedPlan, Respondents | None]]":
        """Start the replacement endpoints; yield the plan that uses them, and simulated models."""
        if self.local:
            from psychollm.kits.small_model import serving as serving_small

            with serving_small() as url:
                yield replace(staged, plan=_at(staged.plan, url)), None
        elif self.simulated:
            from psychollm.kits.simulated import serving

            plan = staged.plan
            name = f"{plan.store.stem}-simulated-{self.seed}{plan.store.suffix}"
            # Use the names in the plan, because two models may have the same name on a server.
            models = tuple(replace(one, model=one.name) for one in plan.models)
            staged = replace(
                staged, plan=replace(plan, store=plan.store.with_name(name), models=models)
            )
            respondents = _simulated(study, staged, self.seed)
            with serving(respondents) as url:
                yield replace(staged, plan=_at(staged.plan, url)), respondents
        else:
            yield staged, None


def _simulated(study: str, staged: "StagedPlan", seed: int) -> "Respondents":
    from psychollm.collect.store import Store
    from psychollm.kits import respondents_of

    kind = respondents_of(study)
    if other := [step.name for step in staged.steps if step.name not in kind.JUDGES]:
        msg = f"--simulated does not support {other[0]}: remove [study.{other[0]}] from the plan"
        raise OptionError(msg)
    held, plan = 0, staged.plan
    if plan.store.is_file():
        with Store(plan.store, create=False) as store:
            held = sum(sum(kinds.values()) for kinds in store.counts().values())
    names = [one.name for one in staged.respondents]
    return kind(plan.prompts, names, seed=seed, held=held)


def _at(plan: "Plan", url: str) -> "Plan":
    """Return a plan whose endpoints are all on this machine and cost nothing."""
    from psychollm.collect.roster import Endpoint

    endpoints = {
        name: Endpoint(
            name=name,
            url=url,
            wire=_COMPLETIONS if one.wire == _COMPLETIONS else "openai-chat",
            concurrency=one.concurrency,
            start_concurrency=one.start_concurrency,
            timeout=600.0,
        )
        for name, one in plan.endpoints.items()
    }
    models = tuple(replace(one, prices=None, budget=None) for one in plan.models)
    return replace(plan, endpoints=endpoints, models=models, budget=None)


def held_against(
    respondents: "Respondents", studies: Mapping[str, Mapping[str, Any]], out: Path, *, loud: bool
) -> list[dict[str, Any]]:
    """Write true and estimated parameters to a file, and print how many intervals cover them."""
    import pandas as pd

    truths = list(respondents.truths(studies))
    rows = [one._asdict() | {"holds": one.holds} for one in truths]
    write_csv(pd.DataFrame(rows), out / "truth.csv")
    if loud:
        known = [one for one in truths if one.holds is not None]
        missed = [one for one in known if not one.holds]
        print(f"\n{len(known) - len(missed)} of {len(known)} intervals cover the true value:")
        for one in missed:
            bounds = f"[{one.lower:.3g}, {one.upper:.3g}]"
            print(f"  missed: {one.what}: true {one.true:.3g}, estimated {one.found:.3g} {bounds}")
        print(f"True values: {out / 'truth.csv'}")
    return rows
