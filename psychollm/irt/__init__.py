"""Floor 3: item response theory: items, abilities, information, fit."""

from psychollm.irt.ability import Abilities, ability
from psychollm.irt.fit import fit_irt
from psychollm.irt.information import Information, information
from psychollm.irt.item_fit import ItemFit, item_fit
from psychollm.irt.local_dependence import LocalDependence, local_dependence
from psychollm.irt.model_fit import ModelFit, model_fit
from psychollm.irt.person_fit import PersonFit, person_fit
from psychollm.irt.priors import Priors
from psychollm.irt.result import IRTFit

__all__ = [
    "Abilities",
    "IRTFit",
    "Information",
    "ItemFit",
    "LocalDependence",
    "ModelFit",
    "PersonFit",
    "Priors",
    "ability",
    "fit_irt",
    "information",
    "item_fit",
    "local_dependence",
    "model_fit",
    "person_fit",
]
