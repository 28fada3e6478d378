"""The size and kind of a filter, and why.

>>> from bloomgrove import tune
>>> choice = tune.recommend(1_000_000, 0.01)
>>> choice.layout, choice.hashes, round(choice.bits / choice.items, 1)
('blocked', 8, 10.1)
"""

from ._bloomgrove import Recommendation, accuracy, bits_for_accuracy, recommend

__all__ = ["Recommendation", "accuracy", "bits_for_accuracy", "recommend"]
