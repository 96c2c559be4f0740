"""Item response models with several abilities."""

from psychollm.irt.multidimensional.abilities import (
    MultidimensionalAbilities,
    MultidimensionalInformation,
    multidimensional_ability,
    multidimensional_information,
)
from psychollm.irt.multidimensional.fit import fit_multidimensional
from psychollm.irt.multidimensional.result import MultidimensionalIRT
from psychollm.irt.multidimensional.scale import ItemSlopes, item_slopes

__all__ = [
    "ItemSlopes",
    "MultidimensionalAbilities",
    "MultidimensionalIRT",
    "MultidimensionalInformation",
    "fit_multidimensional",
    "item_slopes",
    "multidimensional_ability",
    "multidimensional_information",
]
