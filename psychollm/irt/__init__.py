"""Floor 3: item response theory: items, abilities, information, fit, comparisons, short forms."""

from psychollm.irt.ability import Abilities, ability
from psychollm.irt.adaptive import AdaptiveTest, adaptive_test
from psychollm.irt.bayes.bayesian import bayesian_2pl, build_model
from psychollm.irt.bayes.pareto import LeaveOneOut
from psychollm.irt.bayes.predictive import PredictiveCheck, predictive_check
from psychollm.irt.bayes.result import BayesianIRT
from psychollm.irt.bayes.target import HierarchicalPriors
from psychollm.irt.differential import DifferentialFunctioning, differential_functioning
from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.item_fit import ItemFit, item_fit
from psychollm.irt.fit_statistics.local_dependence import LocalDependence, local_dependence
from psychollm.irt.fit_statistics.model_fit import ModelFit, model_fit
from psychollm.irt.fit_statistics.person_fit import PersonFit, person_fit
from psychollm.irt.groups.differential import DifferentialItems, differential_items
from psychollm.irt.groups.fit import fit_irt_groups
from psychollm.irt.groups.result import GroupIRTFit
from psychollm.irt.information import Information, information
from psychollm.irt.linking import Linking, link_scales
from psychollm.irt.priors import Priors
from psychollm.irt.replicated.shuffle import SlopeNull, slope_null
from psychollm.irt.result import IRTFit
from psychollm.irt.screen import ItemScreen, item_screen
from psychollm.irt.short_form import ShortForm, short_form

__all__ = [
    "Abilities",
    "AdaptiveTest",
    "BayesianIRT",
    "DifferentialFunctioning",
    "DifferentialItems",
    "GroupIRTFit",
    "HierarchicalPriors",
    "IRTFit",
    "Information",
    "ItemFit",
    "ItemScreen",
    "LeaveOneOut",
    "Linking",
    "LocalDependence",
    "ModelFit",
    "PersonFit",
    "PredictiveCheck",
    "Priors",
    "ShortForm",
    "SlopeNull",
    "ability",
    "adaptive_test",
    "bayesian_2pl",
    "build_model",
    "differential_functioning",
    "differential_items",
    "fit_irt",
    "fit_irt_groups",
    "information",
    "item_fit",
    "item_screen",
    "link_scales",
    "local_dependence",
    "model_fit",
    "person_fit",
    "predictive_check",
    "short_form",
    "slope_null",
]
