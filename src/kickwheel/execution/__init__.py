"""Running tasks: executors by action, and where a task's data lies.

An **executor** does what an action says (:mod:`kickwheel.execution.ports`); a **binding** says what a task's target is
physically (:mod:`kickwheel.execution.bindings`); :mod:`kickwheel.execution.execute` brings them together.
"""
