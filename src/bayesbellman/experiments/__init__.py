"""One folder per artefact: ``sweep`` declares and runs it, ``analysis`` makes its tables and figures."""
