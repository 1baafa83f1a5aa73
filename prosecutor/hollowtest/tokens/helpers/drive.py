"""Runs the tests of a repository against many mutants in one process.

The runner and the tests are loaded once. Every run happens in a fork of that state: a mutated function gets the code of
its mutant there, and nothing else changes. Mutants of code that runs when a module is loaded are tried in a fork from
before the tests were loaded. The mutated file is on the disk meanwhile, for processes that the tests start and for
modules that they load late.
"""

import ast
import ctypes
import gc
import json
import os
import select
import signal
import sys
import threading
import time
import types
import warnings

CO_OPTIMIZED = 1
FIXTURE = -1
LOADING = -2

with open(sys.argv[1], encoding="utf-8") as _file:
    SPEC = json.load(_file)
TREE = os.path.realpath(SPEC["tree"])
OUT = os.open(SPEC["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def say(**record):
    os.write(OUT, (json.dumps(record) + "\n").encode())


# Processes


def prctl(option, value):
    """Linux only; elsewhere orphans are left to the executor, which kills the whole process group."""
    try:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
    except (AttributeError, OSError):
        pass


def children(pid):
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task), encoding="ascii") as file:
                found.extend(int(n) for n in file.read().split())
    except OSError:
        pass
    return found


def descendants(pid):
    todo, found = [pid], []
    while todo:
        for child in children(todo.pop()):
            found.append(child)
            todo.append(child)
    return found


def kill_below(pid):
    """Ends all descendants. They reach this process when their parents end, since it is their subreaper."""
    for _ in range(1000):
        below = descendants(pid)
        if not below:
            return
        for child in below:
            try:
                os.kill(child, signal.SIGKILL)
            except OSError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except OSError:
            pass
        time.sleep(0.001)


def resident(pids):
    pages = 0
    for pid in pids:
        try:
            with open("/proc/%d/statm" % pid, encoding="ascii") as file:
                pages += int(file.read().split()[1])
        except (OSError, IndexError, ValueError):
            pass
    return pages * os.sysconf("SC_PAGE_SIZE")


def used(pid):
    """The processor time of a process so far, in seconds."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0.0


def in_fork(body, wall, memory, processor=0.0):
    """Runs body(send) in a fork. Returns what it sent, and how it ended: done, time (of the wall), processor (its time),
    memory, or a signal's number."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        code = 70
        try:
            os.close(reader)
            prctl(1, signal.SIGKILL)  # end with the parent

            def send(value):
                data = (json.dumps(value) + "\n").encode()
                while data:
                    data = data[os.write(writer, data) :]

            body(send)
            code = 0
        except BaseException as problem:  # whatever a test raises must not continue in the parent's code
            sys.stderr.write("%s: %s\n" % (type(problem).__name__, problem))
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writer)
    data, end, status = b"", "done", None
    deadline = time.monotonic() + wall
    wait = 0.001
    while True:
        if select.select([reader], [], [], wait)[0]:
            piece = os.read(reader, 1 << 16)
            if piece:
                data += piece
                continue
            break
        wait = min(wait * 2, 0.02)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            while select.select([reader], [], [], 0)[0]:
                piece = os.read(reader, 1 << 16)
                if not piece:
                    break
                data += piece
            break
        status = None
        if time.monotonic() > deadline:
            end = "time"
        elif processor and used(pid) > processor:
            end = "processor"
        elif memory and resident([pid] + descendants(pid)) > memory:
            end = "memory"
        if end != "done":
            break
    if status is None:
        if end == "done":
            # It closed the pipe: it is about to end.
            stop = time.monotonic() + 5
            while status is None and time.monotonic() < stop:
                ended, got = os.waitpid(pid, os.WNOHANG)
                if ended:
                    status = got
                else:
                    time.sleep(0.0005)
        if status is None:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
            status = os.waitpid(pid, 0)[1]
    os.close(reader)
    kill_below(os.getpid())
    if end == "done" and os.WIFSIGNALED(status):
        end = os.WTERMSIG(status)
    return [json.loads(line) for line in data.decode("utf-8", "replace").splitlines()], end


# Runners. Each loads the tests and calls loaded(names, run). run(selected, start, fail) runs the tests of those numbers,
# calls start(number) before each, start(FIXTURE) after it, and fail(name) for each that fails.


def unittest_tests(args, loaded, failed_to_load):
    import unittest

    caught = []

    class Catch:
        def run(self, suite):
            caught.append(suite)
            return unittest.TestResult()

    try:
        unittest.main(module=None, argv=["python -m unittest"] + args, exit=False, testRunner=Catch())
    except SystemExit as problem:
        if not caught:
            failed_to_load("unittest: %s" % problem)
            return

    def flatten(suite):
        for test in suite:
            if isinstance(test, unittest.TestSuite):
                yield from flatten(test)
            else:
                yield test

    tests = list(flatten(caught[0])) if caught else []
    number = {id(test): i for i, test in enumerate(tests)}

    def run(selected, start, fail):
        class Result(unittest.TestResult):
            def startTest(self, test):
                super().startTest(test)
                start(number.get(id(test), FIXTURE))

            def stopTest(self, test):
                start(FIXTURE)
                super().stopTest(test)

            def addError(self, test, err):
                fail(test.id())

            def addFailure(self, test, err):
                fail(test.id())

            def addUnexpectedSuccess(self, test):
                fail(test.id())

            def addSubTest(self, test, subtest, err):
                if err is not None:
                    fail(test.id())

        unittest.TestSuite([tests[i] for i in selected]).run(Result())

    loaded([test.id() for test in tests], run)


def pytest_tests(args, loaded, failed_to_load):
    import pytest

    class Plugin:
        def __init__(self):
            self.start = self.fail = None
            self.problems = []
            self.entered = False

        def pytest_collectreport(self, report):
            if report.failed:
                self.problems.append(report.nodeid)

        def pytest_runtest_logreport(self, report):
            if report.failed and self.fail:
                self.fail(report.nodeid)

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session):
            self.entered = True
            config = session.config
            if self.problems:
                failed_to_load(self.problems[0])
                return True
            if getattr(config.option, "numprocesses", None):
                failed_to_load("")
                return True
            items = list(session.items)

            def run(selected, start, fail):
                self.fail = fail
                chosen = [items[i] for i in selected]
                for k, item in enumerate(chosen):
                    start(selected[k])
                    following = chosen[k + 1] if k + 1 < len(chosen) else None
                    config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                    start(FIXTURE)

            loaded([item.nodeid for item in items], run)
            return True

    plugin = Plugin()
    code = pytest.main(args, plugins=[plugin])
    if not plugin.entered:
        failed_to_load(plugin.problems[0] if plugin.problems else "pytest ended with %s" % code)


def load(loaded, failed_to_load):
    kinds = {"unittest": unittest_tests, "pytest": pytest_tests}
    kinds[SPEC["kind"]](list(SPEC["args"]), loaded, failed_to_load)


# Mutants


class Mutant:
    def __init__(self, record):
        self.id = record["id"]
        self.rel = record["path"]
        self.path = os.path.join(TREE, record["path"])
        self.line = record["line"]
        self.tests = record.get("tests")
        self.late = record.get("late", False)
        with open(record["source"], "rb") as file:
            self.source = file.read()

    def __enter__(self):
        with open(self.path, "rb") as file:
            self.original = file.read()
        put(self.path, self.source)
        return self

    def __exit__(self, *_):
        put(self.path, self.original)


def put(path, content):
    temporary = path + ".prosecutor"
    with open(temporary, "wb") as file:
        file.write(content)
    os.chmod(temporary, os.stat(path).st_mode & 0o777)
    os.replace(temporary, path)


def nested(code):
    return [const for const in code.co_consts if isinstance(const, types.CodeType)]


def own(code):
    """What a code object does by itself, without what is nested in it."""
    consts = tuple((type(c), None if isinstance(c, types.CodeType) else repr(c)) for c in code.co_consts)
    return (
        code.co_code, consts, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags, code.co_argcount,
        code.co_posonlyargcount, code.co_kwonlyargcount, getattr(code, "co_exceptiontable", b""),
    )  # fmt: skip


def differences(old, new, found):
    """Collects pairs of code objects that differ, outer ones first. None means that they cannot be paired."""
    if old == new:
        return found
    below_old, below_new = nested(old), nested(new)
    if len(below_old) != len(below_new) or [c.co_name for c in below_old] != [c.co_name for c in below_new]:
        return None
    changed = own(old) != own(new)
    if not old.co_flags & CO_OPTIMIZED:
        if changed:
            return None  # the body of a module or class: it ran when the module was loaded
    elif old.co_freevars != new.co_freevars:
        return None
    else:
        found.append((old, new))
    for a, b in zip(below_old, below_new):
        if differences(a, b, found) is None:
            return None
    return found


def outermost(pairs):
    inner = set()
    for old, _ in pairs:
        stack = nested(old)
        while stack:
            code = stack.pop()
            inner.add(id(code))
            stack.extend(nested(code))
    return [(old, new) for old, new in pairs if id(old) not in inner]


class Live:
    """The functions of the mutated files that exist after loading."""

    def __init__(self, rels):
        self.rel_of = {}
        self.rels = {os.path.join(TREE, rel): rel for rel in rels}
        self.functions = {rel: [] for rel in rels}
        self.trees = {}
        gc.collect()
        for item in gc.get_objects():
            if isinstance(item, types.FunctionType):
                rel = self.known(item.__code__.co_filename)
                if rel is not None:
                    self.functions[rel].append(item)
        self.loaded = set()
        for module in list(sys.modules.values()):
            name = getattr(module, "__file__", None)
            if isinstance(name, str) and self.known(name) is not None:
                self.loaded.add(self.known(name))

    def known(self, filename):
        if filename not in self.rel_of:
            self.rel_of[filename] = self.rels.get(os.path.realpath(filename))
        return self.rel_of[filename]

    def pairs(self, mutant):
        """What to exchange for a mutant, or None when that cannot be done."""
        if mutant.rel not in self.loaded:
            return []
        if mutant.rel not in self.trees:
            with open(mutant.path, "rb") as file:
                self.trees[mutant.rel] = compile(file.read(), mutant.path, "exec", dont_inherit=True)
        pairs = differences(self.trees[mutant.rel], compile(mutant.source, mutant.path, "exec", dont_inherit=True), [])
        if not pairs:
            return None
        for old, _ in outermost(pairs):
            if not any(function.__code__ == old for function in self.functions[mutant.rel]):
                return None
        return pairs

    def exchange(self, mutant, pairs):
        for function in self.functions[mutant.rel]:
            for old, new in pairs:
                if function.__code__ == old:
                    function.__code__ = new
                    break


def statement_range(tree, line):
    """The lines of the innermost statement around a line; of a compound one only its head."""
    low, high = line, line
    best = None
    for node in ast.walk(tree):
        if not isinstance(node, (ast.stmt, ast.excepthandler)) or not node.lineno <= line <= node.end_lineno:
            continue
        end = node.end_lineno
        body = getattr(node, "body", None)
        if isinstance(body, list) and body:
            end = max(body[0].lineno - 1, node.lineno)
            if line > end:
                continue
        size = end - node.lineno
        if best is None or size <= best:
            best, low, high = size, node.lineno, end
    return low, high


# Modes


class Trace:
    """Which tests reach which lines of the mutated files."""

    def __init__(self, rels):
        self.rels = {os.path.join(TREE, rel): rel for rel in rels}
        self.files = {}
        self.hits = {}
        self.now = LOADING

    def rel(self, filename):
        if filename not in self.files:
            self.files[filename] = self.rels.get(os.path.realpath(filename))
        return self.files[filename]

    def __call__(self, frame, event, arg):
        rel = self.rel(frame.f_code.co_filename)
        if rel is None or (self.now == LOADING and not frame.f_code.co_flags & CO_OPTIMIZED):
            return None
        hits = self.hits

        def local(frame, event, arg):
            if event == "line":
                hits.setdefault((rel, frame.f_lineno), set()).add(self.now)
            return local

        return local

    def on(self):
        threading.settrace(self)
        sys.settrace(self)

    @staticmethod
    def off():
        sys.settrace(None)
        threading.settrace(None)


STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn")


def record(mutants):
    trace = Trace(sorted({m.rel for m in mutants}))

    def failed_to_load(name):
        trace.off()
        say(kind="record", ok=False, why=name)

    began, began_tests = time.perf_counter(), [0.0]

    def loaded(names, run):
        trace.off()
        began_tests[0] = time.perf_counter()
        if threading.active_count() > 1:
            say(kind="record", ok=False, why="loading the tests starts threads")
            return

        def observe(traced):
            def body(send):
                started, took, red, opaque = [0.0], {}, [], set()

                def start(number):
                    now = time.perf_counter()
                    if trace.now >= 0:
                        took[trace.now] = took.get(trace.now, 0.0) + now - started[0]
                    started[0] = now
                    trace.now = number

                def audit(event, _):
                    if event in STARTS:
                        opaque.add(trace.now)

                trace.now = FIXTURE
                if traced:
                    sys.addaudithook(audit)
                    trace.on()
                run(list(range(len(names))), start, red.append)
                trace.off()
                hits = [[rel, line, sorted(tests)] for (rel, line), tests in trace.hits.items()]
                send({"took": took, "red": red, "opaque": sorted(opaque), "hits": hits})

            return in_fork(body, SPEC["wall"], 0)

        first, end = observe(True)
        second, end2 = observe(False)
        if end != "done" or end2 != "done" or not first or not second:
            say(kind="record", ok=False, why="the tests did not come to their end: %s" % (end if end != "done" else end2))
            return
        first, second = first[0], second[0]
        live = Live({m.rel for m in mutants})
        hits = {}
        for rel, line, tests in first["hits"]:
            hits.setdefault(rel, {})[line] = tests
        everything = list(range(len(names)))
        trees, reach, late = {}, {}, []
        for m in mutants:
            if m.rel not in trees:
                with open(m.path, "rb") as file:
                    trees[m.rel] = ast.parse(file.read())
            pairs = live.pairs(m)
            lines = hits.get(m.rel, {})
            if pairs is None:
                late.append(m.id)
                reach[m.id] = everything
                continue
            if any(LOADING in tests for line, tests in lines.items() for old, _ in pairs if spans(old, line)):
                late.append(m.id)
                reach[m.id] = everything
                continue
            low, high = statement_range(trees[m.rel], m.line)
            tests = set(first["opaque"])
            for line in range(low, high + 1):
                tests.update(lines.get(line, ()))
            if FIXTURE in tests:
                tests = set(everything)
            reach[m.id] = sorted(t for t in tests if t >= 0)
        say(
            kind="record", ok=True, names=names, took=[second["took"].get(str(i), 0.0) for i in everything],
            red=[first["red"], second["red"]], reach=reach, late=late, load=began_tests[0] - began,
        )  # fmt: skip

    trace.on()
    load(loaded, failed_to_load)


def spans(code, line):
    lines = [n for _, _, n in code.co_lines() if n] if hasattr(code, "co_lines") else [code.co_firstlineno]
    return min(lines, default=0) <= line <= max(lines, default=0) and line != code.co_firstlineno


def attempt(run, selected, dropped):
    """A body that runs tests until one fails."""

    def body(send):
        def fail(name):
            if name not in dropped:
                send({"failed": name})
                os._exit(0)

        run(selected, lambda _: None, fail)
        send({"passed": len(selected)})

    return body


def verdict(sent, end):
    if end in ("time", "memory", "processor"):
        return end, ""
    for item in sent:
        if "failed" in item:
            return "failed", item["failed"]
    if any("passed" in item for item in sent):
        return "passed", ""
    if isinstance(end, int) and end in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL):
        return "failed", "the test process crashed (%s)" % signal.Signals(end).name
    return "nothing", ""


def try_mutant(m, body_of, took, control):
    """Runs a mutant's tests, and without the mutant when one failed. What uses much more of the processor than without
    the mutant hangs. What only takes longer may have been kept waiting, and gets another chance."""
    processor, wall = max(0.5, 10 * took + 0.2), max(2.0, 10 * took + 1.0)
    say(kind="start", id=m.id)
    begun = time.monotonic()
    with m:
        result, name = verdict(*in_fork(body_of(m), wall, SPEC["memory"], processor))
        if result == "time":
            result, name = verdict(*in_fork(body_of(m), 3 * wall, SPEC["memory"], processor))
    if result == "failed" and not control():
        result, name = "unsure", name
    say(kind="result", id=m.id, result=result, test=name, ms=int(1000 * (time.monotonic() - begun)))


def mutate(mutants):
    dropped = set(SPEC["dropped"])
    for m in [m for m in mutants if m.late]:

        def late(_):
            def body(send):
                def loaded(names, run):
                    attempt(run, list(range(len(names))), dropped)(send)

                load(loaded, lambda name: send({"failed": name or "loading the tests"}))

            return body

        try_mutant(m, late, sum(SPEC["took"]) + SPEC["load"], lambda: True)
    quick = [m for m in mutants if not m.late]
    if not quick:
        say(kind="end")
        return

    def loaded(names, run):
        if threading.active_count() > 1:
            return
        live = Live({m.rel for m in quick})
        green = {}
        for m in quick:
            pairs = live.pairs(m)
            if pairs is None:
                continue
            selected = m.tests

            def body_of(m, pairs=pairs, selected=selected):
                inner = attempt(run, selected, dropped)

                def body(send):
                    live.exchange(m, pairs)
                    inner(send)

                return body

            took = sum(SPEC["took"][i] for i in selected)

            def control(selected=selected, took=took):
                key = tuple(selected)
                if key not in green:
                    green[key] = verdict(*in_fork(attempt(run, selected, dropped), 30 * took + 10, 0))[0] == "passed"
                return green[key]

            try_mutant(m, body_of, took, control)
        say(kind="end")

    load(loaded, lambda name: None)


def main():
    os.chdir(TREE)
    sys.path[0:1] = [TREE] if SPEC["cwd_on_path"] else []
    sys.argv = ["pytest" if SPEC["kind"] == "pytest" else "python -m unittest"] + list(SPEC["args"])
    prctl(36, 1)  # orphans come here
    __import__(SPEC["kind"])
    mutants = [Mutant(item) for item in SPEC["mutants"]]
    record(mutants) if SPEC["mode"] == "record" else mutate(mutants)


main()
