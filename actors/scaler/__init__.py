"""The scaler: starts hosts when work waits for one, and ends those that have nothing to do.

    decide.py   what to start and to end, from what is known; pure
    scaler.py   the process, which exists only when `hosts.launcher` names a launcher
    launch.py   what a launcher is, and which there are
    local.py    hosts as processes on the home's own machine
    kubernetes.py   hosts as pods
    ray_launcher.py   hosts as Ray actors; the only file that imports Ray

It owns the hosts whose names begin with `auto-`, and writes nothing down: the table of hosts and
the launcher say what there is.
"""
