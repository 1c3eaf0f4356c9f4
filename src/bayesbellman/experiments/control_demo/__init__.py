"""The demonstration that ``make demo`` runs: RP-BBAC solves sparse MountainCar, SAC beside it does not."""
