"""Filters, and the changes between two versions of one, as messages for the wire.

>>> from bloomgrove import Filter, Params, codec
>>> old = Filter(Params(100_000, 1))            # one hash and many bits: nearly empty, so it compresses well
>>> old.insert_many([1, 2, 3])
>>> received = codec.expand(codec.compress(old))
>>> new = old.copy()
>>> new.insert(4)
True
>>> codec.apply(received, codec.delta(old, new))
>>> received == new
True
"""

from ._bloomgrove import apply, compress, delta, expand

__all__ = ["apply", "compress", "delta", "expand"]
