"""Policy evaluation: estimators that learn omega from transitions, and the objectives they are judged by."""
