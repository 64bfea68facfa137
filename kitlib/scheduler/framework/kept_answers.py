"""What a plugin says about pods of one kind, kept up to date by the plugin as pods come and go.

Source: KEP-5598, which keeps the scored list of nodes; here what made it is kept.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kitlib.scheduler.framework.status import Rows

Mask = NDArray[np.bool_]


class KeptAnswers(Protocol):
    """A plugin's answers for the next pod of a kind, on the cluster as it stands."""

    def passes_all(self) -> bool:
        """Whether PreFilter would leave the plugin out of Filter now."""

    def scores_none(self) -> bool:
        """Whether no row gets a score now."""

    def restrict(self, passing: Mask) -> Mask | None:
        """Which of the rows pass that have passed so far; None = a whole cycle is needed to say what is wrong.

        Args:
            passing: by row; may be changed.
        """

    def normalized(self, rows: Rows) -> NDArray[np.int64] | None:
        """The normalised scores of the feasible rows; None = the plugin scores nothing, or all rows alike with 0.

        Args:
            rows: the feasible ones.
        """
