"""What the library warns of. Errors are the built-in ones; a warning that users may want to filter has a class."""


class RankDeficientWarning(UserWarning):
    """The data do not determine every coefficient; the answer given is the one of least norm."""


class JitterWarning(UserWarning):
    """A covariance was singular to rounding; the stated amount was added to its diagonal."""


class NotFittedError(ValueError, AttributeError):
    """An estimator was asked for something it learns from data before it was given any."""
