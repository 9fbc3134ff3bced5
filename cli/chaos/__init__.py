"""Chaos: convince yourself. A playbook team works while its processes are killed at random.

schedule    which kind is struck when, and how: follows from the seed alone
victims     the living processes of a home, by kind, from the supervisor's own journal
house       the supervisor under test, and the times at which its children were ready again
storm       the strikes, carried out
full_disk   another storm: the disk fills up, and has room again
tally       what a run left: nodes, lines, messages, published files; and how two runs differ
"""
