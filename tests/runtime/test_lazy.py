"""Properties that are computed once, in any thread."""

import threading

from heat_plugins.runtime.lazy import cached_property


class Slow:
    def __init__(self):
        self.n_computed = 0
        self.begun, self.may_end = threading.Event(), threading.Event()

    @cached_property
    def value(self):
        """Some number."""
        self.n_computed += 1
        self.begun.set()
        self.may_end.wait(30)
        return 7


def test_a_value_is_computed_once():
    slow = Slow()
    slow.may_end.set()
    assert (slow.value, slow.value, slow.n_computed) == (7, 7, 1)
    assert Slow.value.__doc__ == "Some number."


def test_no_thread_waits_for_another_instance():
    slow, quick = Slow(), Slow()
    quick.may_end.set()
    first = threading.Thread(target=lambda: slow.value, daemon=True)
    first.start()
    assert slow.begun.wait(30)
    second = threading.Thread(target=lambda: quick.value, daemon=True)
    second.start()
    second.join(10)
    assert not second.is_alive() and first.is_alive()
    slow.may_end.set()
    first.join(30)
