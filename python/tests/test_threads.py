"""Threads of calls and of the program, contexts, forks, the GIL."""

import asyncio
import contextvars
import os
import threading
import time

import numpy as np
import pytest

import diptych
from conftest import raises, run


def test_threads():
    diptych.set_threads(2)
    assert diptych.get_threads() == 2
    block = diptych.threads(3)
    with block:
        assert diptych.get_threads() == 3
        with diptych.threads(1), block:
            assert diptych.get_threads() == 3
        assert diptych.get_threads() == 3
        seen = []
        other = threading.Thread(target=lambda: seen.append(diptych.get_threads()))
        other.start()
        other.join()
        assert seen == [2]
    assert diptych.get_threads() == 2
    with pytest.raises(ZeroDivisionError), diptych.threads(4):
        1 / 0
    assert diptych.get_threads() == 2
    for bad in (0, -1, 10**6):
        with raises(diptych.ArgumentError, "the number of threads must be between"):
            diptych.set_threads(bad)
        with raises(diptych.ArgumentError):
            diptych.threads(bad)


def test_threads_of_contexts():
    """A block holds in its context, and in copies of it."""
    diptych.set_threads(2)
    with diptych.threads(3):
        copy = contextvars.copy_context()
        fresh = contextvars.Context()
        assert (copy.run(diptych.get_threads), fresh.run(diptych.get_threads)) == (3, 2)
        fresh.run(diptych.threads(5).__enter__)
        assert (diptych.get_threads(), fresh.run(diptych.get_threads)) == (3, 5)
    assert (diptych.get_threads(), copy.run(diptych.get_threads), fresh.run(diptych.get_threads)) == (2, 3, 5)


def test_threads_of_tasks():
    diptych.set_threads(1)
    shared = diptych.threads(7)
    seen = {}

    async def work(n, block):
        with block:
            for _ in range(3):
                seen.setdefault(n, set()).add(diptych.get_threads())
                await asyncio.sleep(0.001 * n)
            seen[n].add(await asyncio.to_thread(diptych.get_threads))
        return diptych.get_threads()

    async def main():
        tasks = [work(n, diptych.threads(n)) for n in (2, 3, 4)] + [work(n, shared) for n in (5, 6)]
        return await asyncio.gather(*tasks)

    assert asyncio.run(main()) == [1] * 5
    assert seen == {2: {2}, 3: {3}, 4: {4}, 5: {7}, 6: {7}}
    assert diptych.get_threads() == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("share", [True, False])
def test_threads_in_generators(order, share):
    """Blocks of generators are open together; each closes its own, whichever is first."""
    diptych.set_threads(1)
    blocks = [diptych.threads(3)] * 2 if share else [diptych.threads(3), diptych.threads(4)]

    def generator(block):
        with block:
            yield

    running = [generator(block) for block in blocks]
    for one in running:
        next(one)
    assert diptych.get_threads() == (3 if share else 4)
    running[order[0]].close()
    assert diptych.get_threads() == (3 if share else [3, 4][order[1]])
    running[order[1]].close()
    assert diptych.get_threads() == 1


def test_a_block_shared_by_threads():
    diptych.set_threads(1)
    block, barrier, seen = diptych.threads(6), threading.Barrier(3), []

    def work(outer):
        with diptych.threads(outer):
            with block:
                barrier.wait()
                seen.append(diptych.get_threads())
                barrier.wait()
            seen.append(diptych.get_threads() - outer)

    workers = [threading.Thread(target=work, args=(n,)) for n in (2, 3, 4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(seen) == [0, 0, 0, 6, 6, 6] and diptych.get_threads() == 1


def test_threads_left_in_another_context():
    """As of an asynchronous generator that is closed by another task."""
    diptych.set_threads(1)
    block = diptych.threads(3)
    contextvars.Context().run(block.__enter__)
    block.__exit__(None, None, None)
    assert diptych.get_threads() == 1
    with block:
        contextvars.Context().run(block.__exit__, None, None, None)
        assert diptych.get_threads() == 3


def test_long_calls_use_the_threads_of_their_context():
    """Seen by the threads of the process."""
    code = """
import os, contextvars, array, diptych
x = array.array('d', bytes(8 << 20))
def count():
    diptych.square(x)
    return len(os.listdir('/proc/self/task'))
before = count()
context = contextvars.Context()
context.run(diptych.threads(3).__enter__)
print(before, count() - before, context.run(count) - before)
"""
    if not os.path.isdir("/proc/self/task"):
        pytest.skip("needs /proc")
    before, outside, inside = map(int, run(code).stdout.split())
    assert (outside, inside) == (0, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork():
    code = """
import os, numpy as np, diptych
diptych.set_threads(2)
x = np.ones(4_000_000)
assert diptych.sum(x) == len(x)
child = os.fork()
assert diptych.sum(x) == len(x)
if child == 0:
    with diptych.threads(3):
        assert diptych.sum(x) == len(x)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("done")
"""
    assert run(code).stdout == "done\n"


def test_several_interpreter_threads():
    diptych.set_threads(2)
    x = np.random.default_rng(8).standard_normal(500_000)
    expected = diptych.sum(x)
    failures = []

    def work(seed):
        for _ in range(30):
            y = np.full(7, float(seed))
            if diptych.sum(x) != expected or (diptych.add(y, y) != 2 * seed).any():
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_long_calls_release_the_gil():
    a = np.ones((1500, 1500), np.float32)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    diptych.matmul(a, a)
    end = time.perf_counter()
    done.set()
    thread.join()
    if end - begin > 0.01:
        assert sum(begin < t < end for t in ticks) >= 3
