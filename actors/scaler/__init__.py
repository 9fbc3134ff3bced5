"""The scaler: starts hosts when work waits for a machine, and ends idle hosts.

    decide.py   the decision which hosts to start and to end; pure
    scaler.py   the process, which exists only when `hosts.launcher` names a launcher
    launch.py   the interface of launchers, and the choice of a launcher
    local.py    hosts as processes on the home's own machine
    kubernetes.py   hosts as pods
    ray_launcher.py   hosts as Ray actors; the only file that imports Ray

It owns the hosts whose names begin with `auto-`, and stores nothing: the table of hosts and the
launcher contain all facts.
"""
