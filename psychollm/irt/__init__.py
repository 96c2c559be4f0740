"""Floor 3: item response theory: items, abilities, information, fit, comparisons, short forms."""

from psychollm._base.entry import entries
from psychollm.irt.ability import Abilities, ability
from psychollm.irt.adaptive import AdaptiveTest, adaptive_test
from psychollm.irt.bayes.bayesian import bayesian_2pl, build_model
from psychollm.irt.bayes.pareto import LeaveOneOut
from psychollm.irt.bayes.predictive import PredictiveCheck, predictive_check
from psychollm.irt.bayes.result import BayesianIRT
from psychollm.irt.bayes.target import HierarchicalPriors
from psychollm.irt.conditional.andersen import AndersenTest, andersen_test
from psychollm.irt.conditional.martin_loef import MartinLoefTest, martin_loef_test
from psychollm.irt.conditional.rasch import ConditionalRasch, conditional_rasch, rasch_ability
from psychollm.irt.factors.fit import fit_factors
from psychollm.irt.factors.result import FactorChoice, GapModel, LogisticFactorFit
from psychollm.irt.fit import fit_irt
from psychollm.irt.fit_statistics.item_fit import ItemFit, item_fit
from psychollm.irt.fit_statistics.local_dependence import LocalDependence, local_dependence
from psychollm.irt.fit_statistics.model_fit import ModelFit, model_fit
from psychollm.irt.fit_statistics.person_fit import PersonFit, person_fit
from psychollm.irt.groups.differential import DifferentialItems, differential_items
from psychollm.irt.groups.fit import fit_irt_groups
from psychollm.irt.groups.logistic import DifferentialFunctioning, differential_functioning
from psychollm.irt.groups.result import GroupIRTFit
from psychollm.irt.information import Information, information
from psychollm.irt.joint import JointCovariance, WaldTest, joint_covariance
from psychollm.irt.known import known_items
from psychollm.irt.linking import Linking, link_scales
from psychollm.irt.multidimensional.abilities import (
    MultidimensionalAbilities,
    MultidimensionalInformation,
    multidimensional_ability,
    multidimensional_information,
)
from psychollm.irt.multidimensional.fit import fit_multidimensional
from psychollm.irt.multidimensional.result import MultidimensionalIRT
from psychollm.irt.multidimensional.scale import ItemSlopes, item_slopes
from psychollm.irt.priors import Priors
from psychollm.irt.replicated.bootstrap import bootstrap_fit
from psychollm.irt.replicated.shuffle import SlopeNull, shuffle_null, slope_null
from psychollm.irt.replicated.statistics import FitNull
from psychollm.irt.result import IRTFit
from psychollm.irt.screen import ItemScreen, item_screen
from psychollm.irt.short_form import ShortForm, short_form
from psychollm.irt.thresholds import Thresholds, thresholds

__all__ = [
    "Abilities",
    "AdaptiveTest",
    "AndersenTest",
    "BayesianIRT",
    "ConditionalRasch",
    "DifferentialFunctioning",
    "DifferentialItems",
    "FactorChoice",
    "FitNull",
    "GapModel",
    "GroupIRTFit",
    "HierarchicalPriors",
    "IRTFit",
    "Information",
    "ItemFit",
    "ItemScreen",
    "ItemSlopes",
    "JointCovariance",
    "LeaveOneOut",
    "Linking",
    "LocalDependence",
    "LogisticFactorFit",
    "MartinLoefTest",
    "ModelFit",
    "MultidimensionalAbilities",
    "MultidimensionalIRT",
    "MultidimensionalInformation",
    "PersonFit",
    "PredictiveCheck",
    "Priors",
    "ShortForm",
    "SlopeNull",
    "Thresholds",
    "WaldTest",
    "ability",
    "adaptive_test",
    "andersen_test",
    "bayesian_2pl",
    "bootstrap_fit",
    "build_model",
    "conditional_rasch",
    "differential_functioning",
    "differential_items",
    "fit_factors",
    "fit_irt",
    "fit_irt_groups",
    "fit_multidimensional",
    "information",
    "item_fit",
    "item_screen",
    "item_slopes",
    "joint_covariance",
    "known_items",
    "link_scales",
    "local_dependence",
    "martin_loef_test",
    "model_fit",
    "multidimensional_ability",
    "multidimensional_information",
    "person_fit",
    "predictive_check",
    "rasch_ability",
    "short_form",
    "shuffle_null",
    "slope_null",
    "thresholds",
]

entries(globals())
