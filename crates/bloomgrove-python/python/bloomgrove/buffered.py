"""Filters larger than memory, on disk."""

from ._bloomgrove import _buffered

Builder = _buffered.Builder
Filter = _buffered.Filter

__all__ = ["Builder", "Filter"]
