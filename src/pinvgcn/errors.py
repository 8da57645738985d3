"""Everything that can go wrong, as one tree.

::

    PinvGCNError                 catch this to catch them all
    ├── InputError               something handed in cannot be used            (a ValueError)
    │   ├── ParameterError       a setting: sigma <= 0, an unknown solver, a bad rank
    │   ├── DataError            points, features or rows: NaN, empty, wrong shape
    │   │   ├── ColumnError      a table's columns: missing, all constant
    │   │   └── DataTypeError    objects that are no numbers                   (a TypeError)
    │   ├── LabelError           labels: none, one class, another length
    │   └── GraphError           adjacency or incidence: isolated nodes, negative, asymmetric
    ├── DatasetError             a data set: not found, truncated, wrong hash   (an OSError)
    ├── TableFileError           a table that cannot be read or written         (an OSError)
    ├── ModelFileError           a saved spectrum or model that cannot be read  (an OSError)
    ├── ScanFileError            a scan that cannot be read or written          (an OSError)
    ├── OutputError              another file that cannot be written            (an OSError)
    ├── TrainingError            training failed: the loss is not finite        (a RuntimeError)
    ├── PeerError                another process of the same job has ended      (a RuntimeError)
    └── MissingDependencyError   an optional package is not installed           (an ImportError)

    PinvGCNWarning               the answer stands, but know this               (a UserWarning)
    ├── RankWarning              fewer eigenvectors exist than were asked for
    ├── ToleranceWarning         an eigenpair is less accurate than was asked for
    ├── UnseenValueWarning       prediction met values that training never saw
    ├── ExtrapolationWarning     prediction met points outside the training cloud
    ├── SlowWarning              what was asked for will take long
    └── TrainingWarning          training ended before its time

Each message says what was wrong, the value received, and what to do.
"""


class PinvGCNError(Exception):
    """Base of every error that this package raises."""


class InputError(PinvGCNError, ValueError):
    """Something handed in cannot be used."""


class ParameterError(InputError):
    """A setting is out of its range."""


class DataError(InputError):
    """Points, features or rows cannot be used."""


class ColumnError(DataError):
    """The columns of a table cannot be used."""


class DataTypeError(DataError, TypeError):
    """Objects that are no numbers stand where numbers belong."""


class LabelError(InputError):
    """The labels cannot be used."""


class GraphError(InputError):
    """An adjacency or incidence matrix does not describe a usable graph."""


class DatasetError(PinvGCNError, OSError):
    """A data set is missing or damaged."""


class TableFileError(PinvGCNError, OSError):
    """A table cannot be read or written."""


class ModelFileError(PinvGCNError, OSError):
    """A saved spectrum or model cannot be read."""


class ScanFileError(PinvGCNError, OSError):
    """A scan cannot be read or written."""


class OutputError(PinvGCNError, OSError):
    """A report or another file of results cannot be written."""


class TrainingError(PinvGCNError, RuntimeError):
    """Training failed."""


class PeerError(PinvGCNError, RuntimeError):
    """Another process of the same job has ended."""


class MissingDependencyError(PinvGCNError, ImportError):
    """An optional package is needed and not installed."""


class PinvGCNWarning(UserWarning):
    """Base of every warning that this package gives."""


class RankWarning(PinvGCNWarning):
    """Fewer eigenvectors exist than were asked for."""


class ToleranceWarning(PinvGCNWarning):
    """An eigenpair is less accurate than was asked for."""


class UnseenValueWarning(PinvGCNWarning):
    """Prediction met values that training never saw."""


class ExtrapolationWarning(PinvGCNWarning):
    """Prediction met points outside the training cloud."""


class SlowWarning(PinvGCNWarning):
    """What was asked for will take long."""


class TrainingWarning(PinvGCNWarning):
    """Training ended before its time."""
