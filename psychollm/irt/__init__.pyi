from psychollm.irt.ability import Abilities as Abilities
from psychollm.irt.ability import ability as ability
from psychollm.irt.adaptive import AdaptiveTest as AdaptiveTest
from psychollm.irt.adaptive import adaptive_test as adaptive_test
from psychollm.irt.bayes.bayesian import bayesian_2pl as bayesian_2pl
from psychollm.irt.bayes.bayesian import build_model as build_model
from psychollm.irt.bayes.pareto import LeaveOneOut as LeaveOneOut
from psychollm.irt.bayes.predictive import PredictiveCheck as PredictiveCheck
from psychollm.irt.bayes.predictive import predictive_check as predictive_check
from psychollm.irt.bayes.result import BayesianIRT as BayesianIRT
from psychollm.irt.bayes.target import HierarchicalPriors as HierarchicalPriors
from psychollm.irt.conditional.andersen import AndersenTest as AndersenTest
from psychollm.irt.conditional.andersen import andersen_test as andersen_test
from psychollm.irt.conditional.martin_loef import MartinLoefTest as MartinLoefTest
from psychollm.irt.conditional.martin_loef import martin_loef_test as martin_loef_test
from psychollm.irt.conditional.rasch import ConditionalRasch as ConditionalRasch
from psychollm.irt.conditional.rasch import conditional_rasch as conditional_rasch
from psychollm.irt.conditional.rasch import rasch_ability as rasch_ability
from psychollm.irt.factors.fit import fit_factors as fit_factors
from psychollm.irt.factors.result import FactorChoice as FactorChoice
from psychollm.irt.factors.result import GapModel as GapModel
from psychollm.irt.factors.result import LogisticFactorFit as LogisticFactorFit
from psychollm.irt.fit import fit_irt as fit_irt
from psychollm.irt.fit_statistics.item_fit import ItemFit as ItemFit
from psychollm.irt.fit_statistics.item_fit import item_fit as item_fit
from psychollm.irt.fit_statistics.local_dependence import LocalDependence as LocalDependence
from psychollm.irt.fit_statistics.local_dependence import local_dependence as local_dependence
from psychollm.irt.fit_statistics.model_fit import ModelFit as ModelFit
from psychollm.irt.fit_statistics.model_fit import model_fit as model_fit
from psychollm.irt.fit_statistics.person_fit import PersonFit as PersonFit
from psychollm.irt.fit_statistics.person_fit import person_fit as person_fit
from psychollm.irt.groups.differential import DifferentialItems as DifferentialItems
from psychollm.irt.groups.differential import differential_items as differential_items
from psychollm.irt.groups.fit import fit_irt_groups as fit_irt_groups
from psychollm.irt.groups.logistic import DifferentialFunctioning as DifferentialFunctioning
from psychollm.irt.groups.logistic import differential_functioning as differential_functioning
from psychollm.irt.groups.result import GroupIRTFit as GroupIRTFit
from psychollm.irt.information import Information as Information
from psychollm.irt.information import information as information
from psychollm.irt.joint import JointCovariance as JointCovariance
from psychollm.irt.joint import WaldTest as WaldTest
from psychollm.irt.joint import joint_covariance as joint_covariance
from psychollm.irt.known import known_items as known_items
from psychollm.irt.linking import Linking as Linking
from psychollm.irt.linking import link_scales as link_scales
from psychollm.irt.multidimensional.abilities import (
    MultidimensionalAbilities as MultidimensionalAbilities,
)
from psychollm.irt.multidimensional.abilities import (
    MultidimensionalInformation as MultidimensionalInformation,
)
from psychollm.irt.multidimensional.abilities import (
    multidimensional_ability as multidimensional_ability,
)
from psychollm.irt.multidimensional.abilities import (
    multidimensional_information as multidimensional_information,
)
from psychollm.irt.multidimensional.fit import fit_multidimensional as fit_multidimensional
from psychollm.irt.multidimensional.result import MultidimensionalIRT as MultidimensionalIRT
from psychollm.irt.multidimensional.scale import ItemSlopes as ItemSlopes
from psychollm.irt.multidimensional.scale import item_slopes as item_slopes
from psychollm.irt.priors import Priors as Priors
from psychollm.irt.replicated.bootstrap import bootstrap_fit as bootstrap_fit
from psychollm.irt.replicated.shuffle import SlopeNull as SlopeNull
from psychollm.irt.replicated.shuffle import shuffle_null as shuffle_null
from psychollm.irt.replicated.shuffle import slope_null as slope_null
from psychollm.irt.replicated.statistics import FitNull as FitNull
from psychollm.irt.result import IRTFit as IRTFit
from psychollm.irt.screen import ItemScreen as ItemScreen
from psychollm.irt.screen import item_screen as item_screen
from psychollm.irt.short_form import ShortForm as ShortForm
from psychollm.irt.short_form import short_form as short_form
from psychollm.irt.thresholds import Thresholds as Thresholds
from psychollm.irt.thresholds import thresholds as thresholds
