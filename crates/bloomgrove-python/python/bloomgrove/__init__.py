"""Which of my hundred thousand sets contain this key?

Bloom filters, alone and by the hundred thousand. The same files as those of the Rust library, the command-line
tool and the server.

    Filter          one set: is this key in it?
    MappedFilter    the same in a file, of any size
    Index           many sets: which of them contain this key?
    IndexFile       the same in a file, with changes
    IndexBuilder    the same from a column of sets and one of keys
    buffered        a filter larger than memory
    sample, reconstruct     the items of a filter, given the names that may be in it
    codec           filters and changes for the wire
    tune            sizes and kinds of filters
    lake            the Parquet files of a table that may contain a value
    which           the files that contain a text
    Client          a server
    spark           Spark (import bloomgrove.spark)

A key is bytes, str or int. An int is eight bytes, little-endian, so 17 and "17" are different keys; integers from
-2**63 to 2**64 - 1 can be keys, and a negative one is the same key as that number plus 2**64, as i64 and u64 are in Rust.
"""

from . import buffered, codec, lake, tune
from ._bloomgrove import (
    Answers,
    Client,
    Filter,
    Index,
    IndexBuilder,
    IndexFile,
    MappedFilter,
    Params,
    reconstruct,
    sample,
    verify,
)
from ._errors import (
    Budget,
    Busy,
    Corrupt,
    DamagedMessage,
    DifferentTrees,
    DuplicateSet,
    Error,
    Finished,
    Incompatible,
    InvalidExpression,
    InvalidNamespace,
    InvalidParams,
    NoMember,
    NotGrove,
    OtherVersion,
    Replaced,
    ServerError,
    Stale,
    ToolError,
    TooLarge,
    Unavailable,
    Unfoldable,
    UnknownSet,
    UnknownVersion,
    Unreachable,
    Unsupported,
    WouldReplace,
    WrongContent,
)
from ._tool import which

__all__ = [
    "Answers", "Client", "Filter", "Index", "IndexBuilder", "IndexFile", "MappedFilter", "Params",
    "buffered", "codec", "lake", "tune", "reconstruct", "sample", "verify", "which",
    "Budget", "Busy", "Corrupt", "DamagedMessage", "DifferentTrees", "DuplicateSet", "Error", "Finished",
    "Incompatible", "InvalidExpression", "InvalidNamespace", "InvalidParams", "NoMember", "NotGrove",
    "OtherVersion", "Replaced", "ServerError", "Stale", "ToolError", "TooLarge", "Unavailable", "Unfoldable",
    "UnknownSet", "UnknownVersion", "Unreachable", "Unsupported", "WouldReplace", "WrongContent",
]
