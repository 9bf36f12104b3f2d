"""The limit of one thread ends where it should, whoever else is inside."""

import threading

import numpy as np
import pytest
import scipy.linalg
from threadpoolctl import ThreadpoolController, threadpool_limits

from heat_plugins.runtime.threads import one_blas_thread


@pytest.fixture(autouse=True)
def two_threads():
    """More than one thread to begin with, whatever the environment says."""
    scipy.linalg.cholesky(np.eye(2))  # its library is loaded, too
    before = limits()
    set_limits(2)
    if set(limits()) != {2}:
        pytest.skip("the linear algebra library here has a single thread")
    yield
    set_limits(before[0])


def set_limits(n):
    """Set the number of threads for good, from a thread that then is gone.

    threadpoolctl obeys one thread at a time. A limit held by the main thread would keep
    the other threads of these tests from setting any.
    """
    setter = threading.Thread(target=lambda: threadpool_limits(n, user_api="blas"))
    setter.start()
    setter.join()


def limits():
    """Return the number of threads of every BLAS library in the process."""
    libraries = ThreadpoolController().select(user_api="blas").info()
    return [library["num_threads"] for library in libraries]


def test_there_is_one_thread_inside_and_two_again_after():
    with one_blas_thread():
        assert set(limits()) == {1}
    assert set(limits()) == {2}


def test_nested_blocks_end_with_the_outer_one():
    with one_blas_thread():
        with one_blas_thread():
            assert set(limits()) == {1}
        assert set(limits()) == {1}
    assert set(limits()) == {2}
    with one_blas_thread():
        assert set(limits()) == {1}
    assert set(limits()) == {2}


def test_a_limit_held_by_the_user_is_there_again_after():
    with threadpool_limits(1, user_api="blas"):
        with one_blas_thread():
            assert set(limits()) == {1}
        assert set(limits()) == {1}
    assert set(limits()) == {2}
    with one_blas_thread(), threadpool_limits(2, user_api="blas"):
        assert set(limits()) == {2}
    assert set(limits()) == {2}


def test_any_thread_may_set_limits_afterwards():
    with one_blas_thread():
        pass
    set_limits(1)
    assert set(limits()) == {1}


def test_an_exception_ends_the_block():
    with pytest.raises(RuntimeError, match="inside"), one_blas_thread():
        raise RuntimeError("inside")
    assert set(limits()) == {2}


def test_the_last_of_several_threads_to_leave_restores_the_number():
    """Three threads come in one after the other and leave in the order they came.

    They live on after that, as the threads of a pool do.
    """
    n = 3
    end = threading.Event()
    inside = threading.Barrier(n + 1)
    may_leave = [threading.Event() for _ in range(n)]
    has_left = [threading.Event() for _ in range(n)]

    def work(i):
        with one_blas_thread():
            inside.wait(timeout=10)
            may_leave[i].wait(timeout=10)
        has_left[i].set()
        end.wait(timeout=10)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    for worker in workers:
        worker.start()
    inside.wait(timeout=10)
    seen = [set(limits())]
    for leave, left in zip(may_leave, has_left, strict=True):
        leave.set()
        assert left.wait(timeout=10)
        seen.append(set(limits()))
    end.set()
    for worker in workers:
        worker.join(timeout=10)
    assert seen == [{1}, {1}, {1}, {2}]


def test_many_threads_at_once_leave_nothing_behind():
    failures = []

    def work():
        for _ in range(30):
            with one_blas_thread(), one_blas_thread():
                if set(limits()) != {1}:
                    failures.append(limits())

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    assert failures == []
    assert set(limits()) == {2}
