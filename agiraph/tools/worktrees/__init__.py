"""Worktrees: if a run's input is a git repository, each node works in its own git worktree.

    the person's repository          INPUT/.git              objects are read from here
    the run's repository             {agent}/repositories/{run}.git    bare; the branches of the run
    a node's worktree                nodes/{node}/scratch/repo         on agiraph/{run}/{node}
    the merged work                  agiraph/{run}/result

Worktrees and unfinished work never touch the person's repository: the run has a bare one beside the
agent's files, which borrows the person's objects (git's alternates) and costs next to nothing. A
node's worker creates its worktree, under a lock beside the repository (`{run}.lock`), and commits
to its branch; only the coordinator merges, one node after the other, by `git merge-tree`: trees and
commits are written first, then one reference is moved from its known value. So a process that dies
at any moment leaves the result either before or after the merge, never half merged. The result is
then copied into the person's repository, only as a branch.

Everything in a worktree is a model's work, so no file of it may make git run a program: git gets no
configuration but ours (`git.py`), and other repositories inside the worktree are ignored.
"""
