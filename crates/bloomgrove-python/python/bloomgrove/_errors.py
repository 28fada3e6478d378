"""The exceptions of this package. Each mirrors a kind of error of the library."""


class Error(Exception):
    """The base class of all exceptions of this package.

    Errors of the operating system are OSError (FileNotFoundError and so on), and a lack of memory is MemoryError.
    """

    # KeyError would show the message as a quoted string.
    __str__ = Exception.__str__


class Incompatible(Error, ValueError):
    """The filters have different params, so they cannot be combined."""


class DifferentTrees(Error, ValueError):
    """The trees have different shapes, so they cannot be combined."""


class InvalidParams(Error, ValueError):
    """The params are invalid."""


class Unreachable(Error, ValueError):
    """No filter of this kind reaches the requested false-positive rate."""


class Unfoldable(Error, ValueError):
    """The filter cannot be folded to half its size."""


class UnknownVersion(Error):
    """The file was written in a format version that this build cannot read."""


class NotGrove(Error):
    """The file is empty, or not a .grove file."""


class Corrupt(Error):
    """The data is damaged or truncated."""


class WrongContent(Error):
    """The file is intact, but its content is of another kind than expected."""


class WouldReplace(Error):
    """The file that would be replaced is of another kind than the one to be written."""


class DamagedMessage(Error, ValueError):
    """The message is damaged, truncated, or not a message."""


class TooLarge(Error, ValueError):
    """The message would expand to more than allowed."""


class OtherVersion(Error, ValueError):
    """The delta was made from other bits than those it was applied to."""


class UnknownSet(Error, KeyError):
    """The index contains no set with this name."""


class DuplicateSet(Error, ValueError):
    """The index already contains a set with this name."""


class InvalidNamespace(Error, ValueError):
    """The names do not form a valid namespace, or not one for this filter."""


class NoMember(Error, LookupError):
    """The filter accepts none of the names."""


class Unavailable(Error):
    """The members of the filter cannot be found by the requested method."""


class InvalidExpression(Error, ValueError):
    """The expression over filters cannot be parsed."""


class Stale(Error):
    """The scope belongs to an index that has since been rearranged."""


class Busy(Error):
    """Another process is changing the file."""


class Replaced(Error):
    """The file has been replaced since it was opened."""


class Finished(Error):
    """The file is finished: nothing more can be added to it."""


class Budget(Error, ValueError):
    """The memory limit is too small for this operation."""


class Unsupported(Error):
    """The operation is not supported on this machine."""


class ServerError(Error):
    """The server refused the request, or could not be reached."""

    code: "str | None" = None
    """The kind of problem, such as "not_found", if the server reported one."""


class ToolError(Error):
    """The command-line tool failed, with this message."""
