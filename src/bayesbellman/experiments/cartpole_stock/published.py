"""What others have published for the Control Suite's ``cartpole-swingup_sparse``, after 500,000 steps of physics.

Taken from what authors put beside their code, where that is cited; none of it was measured here. TD-MPC2 and DreamerV3
choose an action at every second step (action repeat 2) and count the steps of the physics; our agents choose one at
each step.
"""

from typing import NamedTuple


class Published(NamedTuple):
    """Returns of seeds, or their range."""

    method: str
    returns: str
    source: str


TD_MPC2 = "github.com/nicklashansen/tdmpc2, results/{}/cartpole-swingup-sparse.csv"
UNSEEN = "a reported range; we have not seen the scores"
PUBLISHED = (
    Published("TD-MPC2", "844.6, 844.8, 844.9", TD_MPC2.format("tdmpc2")),
    Published("SAC", "0.0, 764.4, 827.9", TD_MPC2.format("sac")),
    Published("DreamerV3", "770.2, 770.8, 779.2", TD_MPC2.format("dreamerv3")),
    Published("DreamerV3", "46 to 830", UNSEEN),
    Published("D4PG", "689 to 841", UNSEEN),
)
