"""Floor 3: item response theory: items, abilities, information, fit, comparisons, short forms."""

from psychollm.irt.ability import Abilities, ability
from psychollm.irt.differential import DifferentialFunctioning, differential_functioning
from psychollm.irt.fit import fit_irt
from psychollm.irt.information import Information, information
from psychollm.irt.item_fit import ItemFit, item_fit
from psychollm.irt.linking import Linking, link_scales
from psychollm.irt.local_dependence import LocalDependence, local_dependence
from psychollm.irt.model_fit import ModelFit, model_fit
from psychollm.irt.person_fit import PersonFit, person_fit
from psychollm.irt.priors import Priors
from psychollm.irt.result import IRTFit
from psychollm.irt.screen import ItemScreen, item_screen
from psychollm.irt.short_form import ShortForm, short_form
from psychollm.irt.shuffle import SlopeNull, slope_null

__all__ = [
    "Abilities",
    "DifferentialFunctioning",
    "IRTFit",
    "Information",
    "ItemFit",
    "ItemScreen",
    "Linking",
    "LocalDependence",
    "ModelFit",
    "PersonFit",
    "Priors",
    "ShortForm",
    "SlopeNull",
    "ability",
    "differential_functioning",
    "fit_irt",
    "information",
    "item_fit",
    "item_screen",
    "link_scales",
    "local_dependence",
    "model_fit",
    "person_fit",
    "short_form",
    "slope_null",
]
