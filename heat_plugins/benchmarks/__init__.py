"""Comparison problems, and what is measured on them.

    problems   what is minimised, all of it by name
    methods    who is compared: our sampler, and its peers
    results    raw lines of studies, and the numbers that they add up to
    run        studies of problems x methods x seeds, and the speed of suggestions
    claims     what the paper says, with verdicts
    report     pages of tables and figures

Each imports from those above it only, and none from ``run`` but the commands in ``__main__``.
"""
