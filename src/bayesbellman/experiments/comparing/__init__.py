"""Several training runs against each other: `grouping` says what is compared, `values` by which rule, then tables."""
