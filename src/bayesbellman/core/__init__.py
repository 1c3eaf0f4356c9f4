"""The ground: the central types, the empirical Bellman functions, parameter trees, time-scales, linear algebra."""
