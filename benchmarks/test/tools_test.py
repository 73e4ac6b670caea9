#!/usr/bin/env python3
"""Tests of am_sweep, am_compare, nas_run, nas_compare, mpi_compare and what they
share.

No MPI and nothing to measure: fake_command stands in for both.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import random
import re
import resource
import stat
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.dirname(HERE)
FAKE = os.path.join(HERE, "fake_command")
sys.path.insert(0, os.path.join(TOOLS, "lib"))

import am_grid  # noqa: E402
import am_measure  # noqa: E402
import am_nas  # noqa: E402
import am_run  # noqa: E402
import am_stats  # noqa: E402
import am_store  # noqa: E402


class GridTest(unittest.TestCase):
    def test_values_and_ranges(self):
        self.assertEqual(am_grid.parse_variable("AM_EAGER_MAX=0,256:64k:x4"),
                         ("AM_EAGER_MAX",
                          ["0", "256", "1k", "4k", "16k", "64k"]))
        self.assertEqual(am_grid.parse_variable("A=8:24:+8")[1],
                         ["8", "16", "24"])
        self.assertEqual(am_grid.parse_variable("AM_RNDV=prefix,get,put")[1],
                         ["prefix", "get", "put"])

    def test_protocol_list_is_no_range(self):
        self.assertEqual(am_grid.parse_variable("AM_PROTO=eager:1k")[1],
                         ["eager:1k"])

    def test_largest_size(self):
        largest = str((1 << 64) - 1)
        self.assertEqual(am_grid.parse_variable("A=" + largest)[1], [largest])

    def test_bad_variables(self):
        for text in ("A", "=1", "A=", "A=1:2:x1", "A=0:8:x2", "A=4:1:x2",
                     "A=1:1g:+1", "9A=1"):
            with self.assertRaises(ValueError, msg=text):
                am_grid.parse_variable(text)

    def test_product(self):
        grid = am_grid.product([("A", ["1", "2"]), ("B", ["x", "y"])])
        self.assertEqual(len(grid), 4)
        self.assertIn({"A": "2", "B": "x"}, grid)
        self.assertEqual(am_grid.product([]), [{}])
        with self.assertRaises(ValueError):
            am_grid.product([("A", ["1"]), ("A", ["2"])])


class StatsTest(unittest.TestCase):
    def runs(self, seed, factor=1.0, count=15, spread=0.015):
        draw = random.Random(seed)
        return [factor * draw.lognormvariate(0, spread)
                for _ in range(count)]

    def test_same_build_cannot_be_told(self):
        told = sum(am_stats.compare(self.runs(f"a{i}"), self.runs(f"b{i}"))
                   .verdict != am_stats.UNKNOWN for i in range(20))
        self.assertLessEqual(told, 1)

    def test_five_percent_are_found(self):
        found = sum(am_stats.compare(self.runs(f"a{i}"),
                                     self.runs(f"b{i}", 1.05))
                    .verdict == am_stats.SLOWER for i in range(20))
        self.assertGreaterEqual(found, 18)

    def test_faster_is_slower_the_other_way(self):
        a, b = self.runs("a"), self.runs("b", 0.9)
        self.assertEqual(am_stats.compare(a, b).verdict, am_stats.FASTER)
        self.assertEqual(am_stats.compare(b, a).verdict, am_stats.SLOWER)

    def test_small_differences_count_as_none(self):
        a, b = self.runs("a", spread=1e-4), self.runs("b", 1.01, spread=1e-4)
        self.assertEqual(am_stats.compare(a, b).verdict, am_stats.UNKNOWN)
        self.assertEqual(am_stats.compare(a, b, least=0.005).verdict,
                         am_stats.SLOWER)

    def test_few_runs_say_nothing(self):
        result = am_stats.compare([1, 1, 1], [2, 2, 2])
        self.assertEqual(result.verdict, am_stats.UNKNOWN)
        self.assertIn("fewer than 5", result.sentence())

    def test_pairs_see_through_drift(self):
        drift = [1.5 ** i for i in range(8)]
        a = [x * y for x, y in zip(drift, self.runs("a", count=8))]
        b = [x * y for x, y in zip(drift, self.runs("b", 1.1, count=8))]
        self.assertEqual(am_stats.compare(a, b).verdict, am_stats.UNKNOWN)
        self.assertEqual(am_stats.compare_pairs(a, b).verdict,
                         am_stats.SLOWER)

    def wild_runs(self, seed, factor=1.0):
        """Forty runs as a shared machine gives them: every fourth is off."""
        draw = random.Random(seed)
        return [value * (draw.lognormvariate(0, 0.4)
                         if draw.random() < 0.25 else 1.0)
                for value in self.runs(seed, factor, count=40)]

    def test_turns_see_through_wild_runs(self):
        same = [am_stats.compare_turns(self.wild_runs(f"a{i}"),
                                       self.wild_runs(f"b{i}"))
                for i in range(100)]
        self.assertLessEqual(
            sum(one.verdict != am_stats.UNKNOWN for one in same), 3)
        slower = [am_stats.compare_turns(self.wild_runs(f"a{i}"),
                                         self.wild_runs(f"b{i}", 1.05))
                  for i in range(100)]
        self.assertGreaterEqual(
            sum(one.verdict == am_stats.SLOWER for one in slower), 90)

    def test_sign_test_keeps_its_error_rate(self):
        # of two equal builds, whatever the noise: 1 in 100, without "least"
        told = sum(am_stats.compare_turns(
            self.wild_runs(f"a{i}"), self.wild_runs(f"b{i}"), least=0.0)
            .verdict != am_stats.UNKNOWN for i in range(1000))
        self.assertLessEqual(told, 20)

    def test_runs_that_drift_are_worth_less(self):
        told = 0
        for i in range(20):
            draw = random.Random(f"drift {i}")
            level, runs = 0.0, []
            for _ in range(20):
                level = 0.8 * level + draw.gauss(0, 0.1)
                runs.append(2.718 ** (level + draw.gauss(0, 0.05)))
            result = am_stats.compare(runs[:10], runs[10:])
            told += result.verdict != am_stats.UNKNOWN
        self.assertLessEqual(told, 2)

    def test_same_data_same_answer(self):
        a, b = self.runs("a"), self.runs("b")
        self.assertEqual(am_stats.compare(a, b).sentence(),
                         am_stats.compare(a, b).sentence())

    def test_interval_holds_the_median(self):
        values = self.runs("a")
        low, high = am_stats.median_interval(values)
        self.assertLess(low, high)
        self.assertTrue(low <= am_stats.median(values) <= high)


class RunTest(unittest.TestCase):
    def test_status_and_output(self):
        outcome = am_run.run([FAKE, "fail", "7"], {}, 60)
        self.assertEqual(outcome.status, 7)
        self.assertEqual(outcome.failure(60), "ended with status 7")
        outcome = am_run.run(["sh", "-c", "echo first; echo why; "
                              "echo ' '; echo '= EXIT CODE: 4'; exit 4"], {},
                             60)
        self.assertEqual(outcome.failure(60),
                         "ended with status 4 after saying: why")

    def test_settings_reach_the_command(self):
        outcome = am_run.run([sys.executable, "-c",
                              "import os; print(os.environ['AM_X'])"],
                             {"AM_X": "seven"}, 60)
        self.assertEqual(outcome.output, "seven\n")

    def test_time_limit_ends_children_too(self):
        token = f"token-of-{os.getpid()}"
        outcome = am_run.run([FAKE, "hang", token], {}, 1.0)
        self.assertTrue(outcome.timed_out)
        self.assertIn("time limit of 1 s", outcome.failure(1.0))
        self.assertEqual(running(token), [])

    def test_mpiexec_of_an_mpicc(self):
        self.assertEqual(am_run.find_mpiexec("/a/b/mpicc.openmpi"),
                         "/a/b/mpiexec.openmpi")
        with self.assertRaises(ValueError):
            am_run.find_mpiexec("gcc")


def running(token):
    """The processes that have token among their arguments."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if name.isdigit() and token.encode() in file.read():
                    found.append(name)
        except OSError:
            continue
    return found


OFFICIAL = """


 CG Benchmark Completed.
 Class           =                        W
 Size            =                     7000
 Iterations      =                       15
 Time in seconds =                     0.09
 Total processes =                        1
 Compiled procs  =                        1
 Mop/s total     =                  4725.40
 Mop/s/process   =                  4725.40
 Operation type  =           floating point
 Verification    =               SUCCESSFUL
 Version         =                    3.3.1
"""


class NasTest(unittest.TestCase):
    def test_official_report(self):
        report = am_nas.parse_report(OFFICIAL)
        self.assertEqual((report["kernel"], report["class"], report["ranks"],
                          report["verified"]), ("cg", "W", 1, True))
        self.assertAlmostEqual(report["seconds"], 0.089015, 6)

    def test_report_that_does_not_fit(self):
        report = am_nas.parse_report(OFFICIAL.replace("4725.40", "*******"))
        self.assertIsNone(report["mops"])
        self.assertEqual(report["seconds"], 0.09)

    def test_failed_verification(self):
        report = am_nas.parse_report(
            OFFICIAL.replace("  SUCCESSFUL", "UNSUCCESSFUL"))
        self.assertFalse(report["verified"])

    def test_no_report(self):
        self.assertIsNone(am_nas.parse_report("mpiexec: no such file"))

    def test_legal_rank_counts(self):
        legal = {(k, n) for k in am_nas.KERNELS for n in range(1, 17)
                 if am_nas.legal(k, "S", n)}
        self.assertEqual({n for k, n in legal if k == "bt"}, {1, 4, 9, 16})
        self.assertEqual({n for k, n in legal if k == "lu"}, {1, 2, 4, 6, 9})
        self.assertEqual({n for n in range(1, 40)
                          if am_nas.legal("lu", "W", n)},
                         {1, 2, 4, 6, 8, 9, 12, 15, 16, 18, 20, 24, 25, 28,
                          30, 32, 35, 36})
        self.assertEqual({n for k, n in legal if k == "cg"},
                         {1, 2, 4, 8, 16})
        self.assertEqual(len({n for k, n in legal if k == "ep"}), 16)


class MeasureTest(unittest.TestCase):
    def outcome(self, *arguments):
        return am_run.run([FAKE, *arguments], {}, 60)

    def test_json(self):
        rows = am_measure.read(self.outcome("json"))
        self.assertEqual([row["bytes"] for row in rows], [1, 64, 4096])
        self.assertEqual({row["key"] for row in rows}, {"lat/one_way"})
        self.assertEqual({row["better"] for row in rows}, {"lower"})

    def test_columns(self):
        rows = am_measure.read(self.outcome("columns"))
        self.assertEqual([row["bytes"] for row in rows], [1, 64, 4096])
        self.assertEqual({row["unit"] for row in rows}, {"MB/s"})
        self.assertEqual({row["better"] for row in rows}, {"higher"})

    def test_columns_of_am_perf(self):
        outcome = am_run.Outcome(0, 1.0, "# libam, am_perf lat\n"
                                 "# half_round_trip, ns\n"
                                 "#   bytes   value     50%\n"
                                 "        0  300.45  295.44\n"
                                 "       64  310.45  295.44\n", False)
        self.assertEqual(
            [(row["key"], row["bytes"], row["value"], row["unit"])
             for row in am_measure.read(outcome)],
            [("half_round_trip", 0, 300.45, "ns"),
             ("half_round_trip", 64, 310.45, "ns")])

    def test_nas_and_wall_time(self):
        rows = am_measure.read(self.outcome("nas", "S", "2"))
        self.assertEqual(rows[0]["key"], "cg.S")
        rows = am_measure.read(self.outcome("silent"))
        self.assertEqual(rows[0]["key"], "wall time")

    def test_problems(self):
        self.assertIn("verification", am_measure.problem(
            self.outcome("nas", "S", "1", "UNSUCCESSFUL"), 60))
        self.assertIn("not in its output", am_measure.problem(
            self.outcome("silent"), 60, "done"))
        self.assertIsNone(am_measure.problem(
            self.outcome("nas", "S", "1"), 60))


class Tools(unittest.TestCase):
    """Starts the tools as a user does; has no tests of its own."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.log = os.path.join(self.folder.name, "log")

    def tearDown(self):
        self.folder.cleanup()

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def tool(self, name, *arguments, **environment):
        return subprocess.run(
            [os.path.join(TOOLS, name), *arguments],
            env={**os.environ, "FAKE_LOG": self.log, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            check=False, cwd=self.folder.name)

    def sweep(self, out, *arguments, **environment):
        return self.tool("am_sweep", "--out", self.path(out), *arguments,
                         **environment)

    def calls(self):
        with open(self.log, encoding="utf-8") as file:
            return len(file.readlines())


class SweepTest(Tools):
    def test_best_setting_is_found(self):
        done = self.sweep("o", "--var", "AM_FAKE_FACTOR=1.3,1,1.6", "--",
                          FAKE, "nas", "S", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Best is AM_FAKE_FACTOR=1;", done.stdout)
        plan, runs = am_store.load(self.path("o", "results.jsonl"))
        self.assertEqual(plan["command"], [FAKE, "nas", "S", "2"])
        self.assertEqual(len(runs), 21)
        self.assertEqual(runs[1]["effective"]["AM_FAKE_FACTOR"], "1")
        order = [run["setting"]["AM_FAKE_FACTOR"] for run in runs]
        self.assertEqual(order[:6], ["1.3", "1", "1.6", "1", "1.6", "1.3"])

    def test_noise_is_called_noise(self):
        done = self.sweep("o", "--var", "AM_NOTHING=1,2,3", "--no-plots",
                          "--", FAKE, "nas", "S", "2")
        self.assertIn("within noise", done.stdout)

    def test_series_and_plots(self):
        done = self.sweep("o", "--var", "AM_FAKE_FACTOR=1,2", "--repeat",
                          "5", "--", FAKE, "columns")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Best is AM_FAKE_FACTOR=1;", done.stdout)
        if "gnuplot is not installed" not in done.stdout:
            drawn = [name for name in os.listdir(self.path("o"))
                     if name.endswith((".svg", ".png"))]
            self.assertEqual(len(drawn), 2)

    def spans(self, *options):
        """The lines of the table of what is best by size."""
        done = self.sweep("o", "--fresh", "--no-plots", "--var",
                          "AM_FAKE_SIDE=steep,flat", *options)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        told = done.stdout.split("the best by size\n")[1].split("\n\n")[0]
        return told.splitlines()[2:]

    def test_exact_values_need_one_run_and_cross_at_a_byte(self):
        lines = self.spans("--exact", "--sizes", "1:4k:x4", "--", FAKE,
                           "cross", "{sizes}")
        self.assertRegex(lines[0], r"^1 to 1200 +AM_FAKE_SIDE=steep ")
        self.assertRegex(lines[1], r"^1201 to 4k +AM_FAKE_SIDE=flat ")
        self.assertLess(self.calls(), 30)

    def test_exact_sizes_of_one_setting(self):
        done = self.sweep("o", "--exact", "--no-plots", "--sizes", "1,64",
                          "--", FAKE, "cross", "{sizes}", AM_FAKE_SIDE="flat")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("only one setting that works", done.stdout)

    def test_runs_that_are_not_exact_are_told(self):
        done = self.sweep("o", "--exact", "--var", "AM_FAKE_FACTOR=1,2", "--",
                          FAKE, "json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("gave different values", done.stderr)

    def test_measured_values_change_between_sizes(self):
        lines = self.spans("--repeat", "5", "--sizes", "64,8k", "--", FAKE,
                           "cross", "{sizes}")
        self.assertRegex(lines[0], r"^64 +AM_FAKE_SIDE=steep .*\+\d+")
        self.assertRegex(lines[1], r"^8k +AM_FAKE_SIDE=flat ")

    def test_stopped_sweep_goes_on(self):
        command = ["--var", "AM_FAKE_FACTOR=1,2", "--no-plots", "--", FAKE,
                   "nas", "S", "2"]
        self.sweep("o", "--repeat", "2", *command)
        with open(self.path("o", "results.jsonl"), "a",
                  encoding="utf-8") as file:
            file.write('{"torn": ')
        self.assertEqual(self.calls(), 4)
        done = self.sweep("o", "--repeat", "3", *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls(), 6)
        self.assertEqual(
            len(am_store.load(self.path("o", "results.jsonl"))[1]), 6)

    def test_full_disk_is_told_and_sweep_goes_on(self):
        command = ["--var", "AM_FAKE_FACTOR=1,2", "--no-plots", "--repeat",
                   "2", "--", FAKE, "nas", "S", "2"]
        results = self.path("o", "results.jsonl")
        self.sweep("o", *command)
        with open(results, "rb") as file:
            plan = len(file.readline())
        for most in (10, plan + 10):
            os.remove(results)
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
            try:
                done = self.sweep("o", *command)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"am_sweep: {results}: File too large.\n",
                          done.stderr)
            done = self.sweep("o", *command)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(am_store.load(results)[1]), 4)

    def test_other_files_are_left_alone(self):
        os.makedirs(self.path("o"))
        results = self.path("o", "results.jsonl")
        with open(results, "w", encoding="utf-8") as file:
            file.write("somebody's only line")
        done = self.sweep("o", "--repeat", "1", "--no-plots", "--", FAKE,
                          "silent")
        self.assertEqual(done.returncode, 2)
        self.assertIn("holds no results", done.stderr)
        with open(results, encoding="utf-8") as file:
            self.assertEqual(file.read(), "somebody's only line")

    def test_other_results_are_not_mixed_in(self):
        self.sweep("o", "--repeat", "1", "--no-plots", "--", FAKE, "silent")
        done = self.sweep("o", "--repeat", "1", "--", FAKE, "json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("holds results of something else", done.stderr)
        done = self.sweep("o", "--repeat", "1", "--no-plots", "--fresh",
                          "--", FAKE, "json")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_failed_runs_are_told_and_kept(self):
        for limit, words, sentence in (
                ("60", ["nas", "S", "1", "UNSUCCESSFUL"], "verification was"),
                ("60", ["fail", "3"], "ended with status 3"),
                ("0.5", ["hang", "x"], "time limit of 0.5 s")):
            done = self.sweep("o", "--fresh", "--repeat", "1", "--no-plots",
                              "--time-limit", limit, "--", FAKE, *words)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(sentence, done.stdout)
            runs = am_store.load(self.path("o", "results.jsonl"))[1]
            self.assertIn(sentence, runs[0]["problem"])

    def test_bad_command_lines(self):
        for words, sentence in (
                ([], "there is no command to run"),
                (["--var", "A=4:1:x2", "--", FAKE], "is empty"),
                (["--repeat", "0", "--", FAKE], "at least 1"),
                (["--sizes", "1,2", "--", FAKE], "go together"),
                (["--", FAKE, "cross", "{sizes}"], "go together"),
                (["--", "/nowhere/at/all"], "No such file")):
            done = self.sweep("o2", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(sentence, done.stderr)

    def test_am_info_gives_all_settings(self):
        info = self.path("info")
        write_script(info, 'echo "AM_RNDV=prefix (default prefix)"\n'
                           'echo "    AM_NOT=a setting"\n'
                           'echo "AM_STATS= (default empty)"\n'
                           'echo "AM_EAGER_MAX=$AM_EAGER_MAX (default 2k)"')
        self.sweep("o", "--var", "AM_EAGER_MAX=1k", "--repeat", "1",
                   "--no-plots", "--am-info", info, "--", FAKE, "silent")
        runs = am_store.load(self.path("o", "results.jsonl"))[1]
        self.assertEqual(
            {name: value for name, value in runs[0]["effective"].items()
             if name in ("AM_RNDV", "AM_STATS", "AM_EAGER_MAX", "AM_NOT")},
            {"AM_RNDV": "prefix", "AM_STATS": "", "AM_EAGER_MAX": "1k"})

    def test_misspelt_variable_is_told_once(self):
        info = self.path("info")
        write_script(info, 'echo "am 0 warn: AM_X is not a variable" >&2\n'
                           'echo "AM_RNDV=auto (default auto)"')
        done = self.sweep("o", "--var", "AM_X=1,2", "--repeat", "1",
                          "--no-plots", "--am-info", info, "--", FAKE,
                          "silent")
        self.assertEqual(done.stderr.count("AM_X is not a variable"), 1)

    def compare(self, factor):
        """am_compare on two sweeps, the second slower by a factor."""
        for name, seed, by in (("a", "7", "1"), ("b", "8", factor)):
            self.sweep(name, "--repeat", "15", "--no-plots", "--fresh",
                       "--", FAKE, "json", FAKE_SEED=seed, AM_FAKE_FACTOR=by)
        return self.tool("am_compare", "--fail-if-slower",
                         self.path("a", "results.jsonl"),
                         self.path("b", "results.jsonl"))

    def test_compare_cannot_tell(self):
        done = self.compare("1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("B against A: cannot tell", done.stdout)

    def test_compare_slower(self):
        done = self.compare("1.05")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"B against A: [45]\.\d% slower")

    def write_runs(self, name, costs, begins):
        row = {"key": "t", "bytes": None, "unit": "s", "better": "lower"}
        lines = [{"command": []}] + [
            {"round": i, "setting": {}, "problem": None, "begin": begin,
             "rows": [{**row, "value": cost}]}
            for i, (cost, begin) in enumerate(zip(costs, begins))]
        write_text(self.path(name),
                   "".join(json.dumps(line) + "\n" for line in lines))

    def test_runs_that_took_turns_are_compared_in_pairs(self):
        a = [1.5 ** i for i in range(8)]
        b = [1.1 * x for x in a]
        self.write_runs("a", a, range(0, 16, 2))
        self.write_runs("turns", b, range(1, 17, 2))
        self.write_runs("later", b, range(16, 24))
        done = self.tool("am_compare", self.path("a"), self.path("turns"))
        self.assertIn("B against A: 10.0% slower", done.stdout)
        done = self.tool("am_compare", self.path("a"), self.path("later"))
        self.assertIn("B against A: cannot tell", done.stdout)

    def test_compare_without_good_runs(self):
        self.sweep("a", "--repeat", "2", "--", FAKE, "fail", "1")
        done = self.tool("am_compare", *2 * [self.path("a", "results.jsonl")])
        self.assertEqual(done.returncode, 2)
        self.assertIn("has no run that counts", done.stderr)

    def test_compare_bad_files(self):
        write_text(self.path("x"), "no json\n")
        done = self.tool("am_compare", self.path("x"), self.path("x"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("is no JSON", done.stderr)
        done = self.tool("am_compare", self.path("y"), self.path("x"))
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, f"am_compare: {self.path('y')}: "
                                      "No such file or directory.\n")


class NasRunTest(Tools):
    """nas_run on a folder of false official executables."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        write_launcher(self.path("mpiexec"))

    def program(self, name, words):
        write_program(self.path("bin", name), words)

    def nas_run(self, *arguments):
        return self.tool("nas_run", "--bin", self.path("bin"), "--mpiexec",
                         self.path("mpiexec"), "--out", self.path("o"),
                         *arguments)

    def test_official_programs(self):
        self.program("cg.S.4", "nas S 2")
        self.program("cg.W.x", "nas W 3")
        done = self.nas_run("--classes", "S,W", "--kernels", "cg,bt",
                            "--repeat", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(re.findall("verified", done.stdout)), 2)
        self.assertIn("bt.S on 4: left out: no executable.", done.stdout)
        self.assertEqual(self.calls(), 4)
        done = self.nas_run("--classes", "S,W", "--kernels", "cg,bt",
                            "--repeat", "3")
        self.assertEqual(self.calls(), 6)

    def test_settings_are_compared_over_all_cases(self):
        self.program("cg.S.4", "nas S 2")
        self.program("mg.S.4", "nas S 3")
        done = self.nas_run("--kernels", "cg,mg", "--repeat", "5", "--var",
                            "AM_FAKE_FACTOR=1.3,1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Best is AM_FAKE_FACTOR=1;", done.stdout)
        if "gnuplot is not installed" not in done.stdout:
            self.assertTrue(os.path.exists(
                self.path("o", "nas_by_setting.svg")))

    def test_failures(self):
        self.program("cg.S.4", "nas S 2 UNSUCCESSFUL")
        self.program("ft.S.4", "silent")
        done = self.nas_run("--kernels", "cg,ft")
        self.assertEqual(done.returncode, 1)
        self.assertIn("verification was not successful", done.stdout)
        self.assertIn("printed no NAS report", done.stdout)

    def test_report_of_another_run(self):
        self.program("cg.S.x", "nas W 2")
        write_script(self.path("bin", "mg.S.x"),
                     f"FAKE_RANKS=1 FAKE_KERNEL=mg exec {FAKE} nas S 2")
        done = self.nas_run("--kernels", "cg,mg")
        self.assertEqual(done.returncode, 1)
        self.assertIn("of class W and not of S.", done.stdout)
        self.assertIn("of ranks 1 and not of 4; is this mpiexec of another",
                      done.stdout)

    def test_hanging_program(self):
        self.program("mg.S.4", "hang x")
        done = self.nas_run("--time-limit", "0.5", "--kernels", "mg")
        self.assertEqual(done.returncode, 1)
        self.assertIn("time limit of 0.5 s", done.stdout)

    def test_bad_command_lines(self):
        for words, sentence in (
                (["--classes", "X"], "there is no class 'X'"),
                (["--kernels", "dt"], "there is no kernel 'dt'"),
                (["--ranks", "0"], "at least 1"),
                (["--ranks", "3", "--kernels", "cg"], "not a legal number"),
                (["--bin", "/nowhere"], "there is no folder"),
                (["--mpiexec", "/nowhere/mpiexec"], "there is no command")):
            done = self.nas_run(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(sentence, done.stderr)


class NasCompareTest(Tools):
    """nas_compare on folders of false official executables."""

    def setUp(self):
        super().setUp()
        write_launcher(self.path("mpiexec"))
        for name in ("a", "b", "c"):
            os.mkdir(self.path(name))

    def program(self, side, name, words):
        write_program(self.path(side, name), words)

    def compare(self, *arguments, sides="abc"):
        words = []
        for side in sides:
            words += ["--official",
                      f"{side}={self.path(side)}:{self.path('mpiexec')}"]
        return self.tool("nas_compare", "--out", self.path("o"), *words,
                         *arguments)

    def all_programs(self, a, b, c):
        for side, seconds in zip("abc", (a, b, c)):
            self.program(side, "cg.S.x", f"nas S {seconds}")
            self.program(side, "mg.S.x", f"nas S {2 * seconds}")

    def test_bars(self):
        self.all_programs(2, 2.5, 4)
        words = ["--classes", "S", "--kernels", "cg,mg", "--ranks", "2",
                 "--repeat", "3"]
        done = self.compare(*words, "--bar", "2:best:0.9", "--bar",
                            "2:c:0.6")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"0\.9 x best: met, 0\.\d+ x b over 2")
        self.assertEqual(self.calls(), 18)
        done = self.compare(*words, "--bar", "2:best:0.7")
        self.assertEqual(done.returncode, 1)
        self.assertIn("at most 0.7 x best: MISSED", done.stdout)
        self.assertEqual(self.calls(), 18)
        done = self.compare(*words, "--bar", "4:best:0.7")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not measured", done.stdout)

    def test_each_case(self):
        self.all_programs(2.5, 2, 4)
        done = self.compare("--classes", "S", "--kernels", "cg", "--ranks",
                            "1", "--each", "1.15")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout,
                         r"above the bar of 1\.15: cg.S on 1: 1\.2\d x b")

    def test_slices(self):
        self.all_programs(1, 1, 1)
        words = ["--classes", "S", "--kernels", "cg,mg", "--ranks", "1",
                 "--repeat", "1"]
        done = self.compare(*words, "--slice", "0.01")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("not all is measured", done.stdout)
        self.assertEqual(self.calls(), 3)
        done = self.compare(*words, "--slice", "0.01")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls(), 6)

    def test_a_side_that_fails_is_left_out(self):
        self.all_programs(1, 1, 1)
        self.program("b", "cg.S.x", "hang x")
        done = self.compare("--classes", "S", "--kernels", "cg", "--ranks",
                            "1", "--repeat", "2", "--time-limit", "5",
                            "--bar", "1:best:1.2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cg.S on 1, b: did not end within the time limit",
                      done.stdout)
        self.assertIn("x c over 1 cases", done.stdout)
        self.assertEqual(self.calls(), 5)

    def test_own_failure_is_a_failure(self):
        self.all_programs(1, 1, 1)
        self.program("a", "cg.S.x", "nas S 2 UNSUCCESSFUL")
        done = self.compare("--classes", "S", "--kernels", "cg", "--ranks",
                            "1", "--repeat", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("verification was not successful", done.stdout)

    def test_bad_command_lines(self):
        for words, sentence in (
                (["--classes", "X"], "there is no class 'X'"),
                (["--bar", "2:best"], "bars are RANKS:OTHER:RATIO"),
                (["--bar", "2:d:1"], "there is no 'd' to compare with"),
                (["--official", "d=/nowhere:x"], "there is no folder"),
                (["--official", "d=/"], "NAME=FOLDER:MPIEXEC"),
                (["--mpi", "a=mpicc:/nowhere"], "there is no command"),
                (["--ranks", "3", "--kernels", "cg"], "nothing to run")):
            done = self.compare(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(sentence, done.stderr)
        done = self.compare(sides="a")
        self.assertEqual(done.returncode, 2)
        self.assertIn("two sides are needed", done.stderr)


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_launcher(path):
    """A false mpiexec: tells the one process how many ranks it stands for."""
    write_script(path, 'FAKE_RANKS=$2\nexport FAKE_RANKS\nshift 2\nexec "$@"')


def write_program(path, words):
    """A false NAS program of the kernel that its name begins with."""
    kernel = os.path.basename(path)[:2]
    write_script(path, f"FAKE_KERNEL={kernel} exec {FAKE} {words}")


def write_script(path, body):
    write_text(path, "#!/bin/sh\n" + body + "\n")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def load(tool):
    """A tool as a module."""
    loader = importlib.machinery.SourceFileLoader(
        tool, os.path.join(TOOLS, tool))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(tool, loader))
    loader.exec_module(module)
    return module


class MpiCompareTest(unittest.TestCase):
    tool = load("mpi_compare")

    def row(self, size, ours, theirs, copies, flags=()):
        return {"test": "bw", "ranks": 2, "bytes": size, "bar": 1.3,
                "upper": False, "unit": "B/s", "copies": {"copy": copies},
                "flags": [list(f) for f in flags] or [[]] * len(ours),
                "values": {"am": ours, "other": theirs}}

    def test_states_of_the_machine(self):
        row = self.row(8, [3, 9, 5, 4], [1] * 4, [1] * 4,
                       [(66, 70), (285, 300), (67, 290), (72, 69)])
        alone = self.row(8, [1] * 8, [1] * 8, [1] * 8,
                         [(68, 70)] * 7 + [(68, 130)])
        states = self.tool.machine_states([row, alone])
        self.assertEqual(states, [(66, 72), (285, 300), (0, 0)])
        near, = self.tool.in_state([row], *states[0])
        self.assertEqual(near["values"]["am"], [3, 4])
        far, = self.tool.in_state([row], *states[1])
        self.assertEqual(far["copies"]["copy"], [1])
        self.assertEqual(self.tool.in_state([row], *states[2]), [])

    def test_ratio_is_of_rounds(self):
        """Half of the rounds in another state: the medians say nothing."""
        values = {"am": [40, 41, 10, 11, 42], "a": [20, 20, 5, None, 60],
                  "b": [1] * 5}
        _, met, ratio = self.tool.verdict(values, 1.3, False)
        self.assertEqual((met, ratio), (True, 2))
        _, met, ratio = self.tool.verdict(values, 0.5, True)
        self.assertEqual((met, ratio), (False, 40))
        self.assertEqual(self.tool.verdict({"am": [1]}, 1, True)[1], None)

    def test_drops(self):
        def missed(ours, copies):
            rows = [self.row(size, [mine] * 3, [1] * 3, [copy] * 3)
                    for size, mine, copy in zip((1, 2), ours, copies)]
            with contextlib.redirect_stdout(io.StringIO()):
                return self.tool.drops(rows)
        self.assertEqual(missed((100, 91), (9, 9)), 0)
        self.assertEqual(missed((100, 89), (9, 9)), 1)
        self.assertEqual(missed((100, 60), (9, 6)), 0)
        self.assertEqual(missed((100, 50), (9, 8)), 1)


if __name__ == "__main__":
    unittest.main()
