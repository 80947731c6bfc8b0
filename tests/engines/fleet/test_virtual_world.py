"""The virtual world in which the scheduler is tried: its clock, its order, its deadlocks, and what it leaves behind."""

import concurrent.futures
import queue
import threading
import time
from types import ModuleType

import pytest
from virtual_primitives import virtual_world
from virtual_world import DeadlockError


def module():
    """One that imports what the scheduler imports."""
    made = ModuleType("scheduling_code")
    made.threading, made.queue, made.time, made.Future = threading, queue, time, concurrent.futures.Future
    return made


def test_the_clock_jumps_to_the_earliest_wake_up():
    """Hours of sleep take no time, and everybody wakes when due."""
    code, began, log = module(), time.monotonic(), []

    def sleeper(seconds):
        code.time.sleep(seconds)
        log.append((seconds, code.time.monotonic()))

    with virtual_world(code) as world:
        threads = [code.threading.Thread(target=sleeper, args=(3600 * n,)) for n in (3, 1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert world.now == 3 * 3600
    assert log == [(3600, 3600), (7200, 7200), (10800, 10800)]
    assert time.monotonic() - began < 3600


def test_a_deadlock_is_reported_with_who_waits_for_what():
    """Two threads that take two locks in opposite order, and the one that joins them."""
    code = module()
    with virtual_world(code) as world:
        one, two = code.threading.Lock(), code.threading.Lock()

        def take(first, second):
            with first:
                code.time.sleep(1)
                with second:
                    pass

        threads = [
            code.threading.Thread(target=take, args=pair, name=name)
            for name, pair in (("left", (one, two)), ("right", (two, one)))
        ]
        for thread in threads:
            thread.start()
        with pytest.raises(
            DeadlockError, match=r"at 1 s .*main for the end of left, left for a lock, right for a lock"
        ):
            threads[0].join()
        assert world.now == 1
    assert not [thread for thread in threading.enumerate() if thread.name == "virtual"]


def test_names_are_restored_whatever_happens():
    """A module has its own names again after an error inside, and only those it had were replaced."""
    code = ModuleType("half")
    code.threading = threading
    seen = []

    def fail():
        with virtual_world(code):
            seen.append((code.threading is threading, hasattr(code, "queue")))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert seen == [(False, False)]
    assert code.threading is threading


def test_an_error_in_a_thread_is_raised_at_the_end():
    """A thread that dies unheard is not passed over."""
    code = module()

    def fail():
        with virtual_world(code):
            thread = code.threading.Thread(target=lambda: 1 / 0)
            thread.start()
            thread.join()

    with pytest.raises(ZeroDivisionError):
        fail()


def order(seed):
    """In which order three threads get at a queue, three times each."""
    code, log = module(), []
    with virtual_world(code, seed=seed):
        inbox = code.queue.SimpleQueue()

        def put(name):
            for _ in range(3):
                inbox.put(name)

        threads = [code.threading.Thread(target=put, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        log += [inbox.get() for _ in range(9)]
    return "".join(log)


def test_without_a_seed_the_first_to_come_runs_first():
    """Each thread runs until it waits."""
    assert order(None) == "aaabbbccc"


def test_a_seed_decides_the_order_and_repeats_it():
    """The same seed gives the same schedule; seeds differ."""
    seen = [order(seed) for seed in range(8)]
    assert seen == [order(seed) for seed in range(8)]
    assert len(set(seen)) > 4
    assert all(sorted(each) == sorted("aaabbbccc") for each in seen)


def test_a_race_between_two_lines_is_found_where_lines_are_traced(tmp_path):
    """A counter that is read and written without a lock loses counts under some seed, and never in whole primitives."""
    file = tmp_path / "racing.py"
    file.write_text(
        "import threading\n\n\nclass Counter:\n    value = 0\n\n    def add(self):\n        seen = self.value\n"
        "        self.value = seen + 1\n"
    )
    code = ModuleType("racing")
    code.__file__ = str(file)
    exec(compile(file.read_text(), str(file), "exec"), code.__dict__)

    def counted(seed, traces):
        with virtual_world(code, seed=seed, traces=traces):
            counter = code.Counter()
            threads = [code.threading.Thread(target=counter.add) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return counter.value

    assert {counted(seed, traces=False) for seed in range(10)} == {4}
    assert min(counted(seed, traces=True) for seed in range(10)) < 4


def test_waits_end_by_the_clock():
    """Timeouts of conditions, events, queues, locks and joins pass in virtual time, and say so."""
    code = module()
    with virtual_world(code) as world:
        condition, event, inbox = code.threading.Condition(), code.threading.Event(), code.queue.SimpleQueue()
        with condition:
            assert not condition.wait(5)
            assert not condition.wait_for(lambda: False, 5)
        assert not event.wait(5)
        with pytest.raises(queue.Empty):
            inbox.get(timeout=5)
        lock = code.threading.Lock()
        lock.acquire()
        assert not lock.acquire(timeout=5)
        thread = code.threading.Thread(target=code.time.sleep, args=(100,))
        thread.start()
        thread.join(5)
        assert thread.is_alive()
        assert world.now == 30
        future = code.Future()
        with pytest.raises(concurrent.futures.TimeoutError):
            future.result(5)


def test_a_condition_lets_its_lock_go_and_takes_it_again_as_deep_as_before():
    """Whoever waits holds nothing; woken, it holds what it held."""
    code, log = module(), []
    with virtual_world(code):
        condition, future = code.threading.Condition(), code.Future()

        def waiter():
            with condition, condition:
                condition.wait()
                log.append("woken")
            future.set_result("done")

        code.threading.Thread(target=waiter).start()
        code.time.sleep(1)
        with condition:
            log.append("held")
            condition.notify_all()
            code.time.sleep(1)
            log.append("let go")
        assert future.result() == "done"
        with pytest.raises(RuntimeError, match="not held"):
            condition.notify()
    assert log == ["held", "let go", "woken"]
