"""What Stable-Baselines3 calls the settings of agents: for errors that name ours. Imports nothing, for the command."""

CALLED_HERE = {
    "gamma": "discount",
    "lr": "learning_rate",
    "learning_starts": "warmup",
    "tau": "target_smoothing",
    "net_arch": "hidden",
    "policy_kwargs": "hidden",
    "activation_fn": "activation",
    "n_envs": "num_envs",
    "n_critics": "num_critics",
    "target_update_interval": "target_period",
    "exploration_final_eps": "epsilon",
}
"""Its name of a setting, and ours"""
INSTEAD = {
    "policy": "there is no policy to name, its networks are set by hidden and activation",
    "verbose": "learn(..., progress_bar=True) shows how far it is",
    "tensorboard_log": "bbo train --tensorboard writes curves",
    "train_freq": "there is one update for each step",
    "gradient_steps": "there is one update for each step",
}
"""Of what is no setting here, what there is in its place"""
