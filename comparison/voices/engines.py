"""The engines: how one is started with a number of voices, and what it says about its load."""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import osc
import synthdef

RATE_HZ = 48_000
SECTIONS = 32
# After voices were added, before a step counts.
SETTLE_S = 0.3
JACK_PRIORITY = 70
GROUP = 100
PACKAGES = {
    "jackd": "jackd2",
    "scsynth": "supercollider-server",
    "supernova": "supercollider-supernova",
}


class NotHere(Exception):
    """Something cannot be had on this machine."""


def cpu_ns(pid):
    """CPU time of all threads of a process (proc_pid_schedstat: the first field, nanoseconds)."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as stat:
                total += int(stat.read().split()[0])
        except FileNotFoundError:
            # It ended meanwhile.
            continue
    return total


def threads(pid):
    """Name, scheduling class and CPUs of each thread of a process, as the system reports them."""
    classes = {os.SCHED_OTHER: "SCHED_OTHER", os.SCHED_FIFO: "SCHED_FIFO", os.SCHED_RR: "SCHED_RR"}
    found = []
    for thread in map(int, os.listdir(f"/proc/{pid}/task")):
        try:
            with open(f"/proc/{pid}/task/{thread}/comm", encoding="utf-8") as comm:
                name = comm.read().strip()
            # Linux ORs SCHED_RESET_ON_FORK into the class.
            policy = os.sched_getscheduler(thread) & ~os.SCHED_RESET_ON_FORK
            priority = os.sched_getparam(thread).sched_priority
            cpus = sorted(os.sched_getaffinity(thread))
        except (FileNotFoundError, ProcessLookupError):
            # It ended meanwhile.
            continue
        name_of = classes.get(policy, f"class {policy}")
        found.append({"name": name, "class": f"{name_of} {priority}", "cpus": cpus})
    return found


def cpu_share(pid, wait):
    """CPU time of a process by wall time, while `wait` lasts; 1.0 is one CPU."""
    cpu, wall = cpu_ns(pid), time.monotonic_ns()
    result = wait()
    return (cpu_ns(pid) - cpu) / (time.monotonic_ns() - wall), result


class Hocket:
    """Hocket's engine on its virtual device: a process a step."""

    def __init__(self, program, voice, workers, frames):
        what = "hocket" if voice == "cascade" else f"hocket {voice}"
        self.name = f"{what}, {workers} worker" + "s" * (workers > 1)
        self.program, self.voice, self.workers, self.frames = program, voice, workers, frames
        self.threads = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def step(self, voices, seconds):
        """Plays `voices` voices for `seconds`."""
        arguments = ["hold", "--voices", voices, "--workers", self.workers, "--seconds", seconds]
        arguments += ["--voice", self.voice, "--frames", self.frames]
        command = [self.program, *map(str, arguments)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            if not process.stdout.readline():
                raise NotHere(f"{self.program} hold: no output, exit code {process.wait()}")
            self.threads = threads(process.pid)
            share, _ = cpu_share(process.pid, lambda: time.sleep(seconds - 0.1))
            held = json.loads(process.stdout.readline())
        return {
            "load": held["load_mean"],
            "load_highest": held["load_p99"],
            "late_share": held["with_misses"] / held["blocks"],
            "cpu_share": share,
        }


class Server:
    """scsynth or supernova as a client of a JACK server with the dummy driver."""

    def __init__(self, program, workers, frames, port):
        self.is_supernova = program == "supernova"
        self.name = f"supernova -T {workers}" if self.is_supernova else program
        self.workers, self.frames, self.port = workers, frames, port
        self.program, self.voices, self.threads, self.processes = program, 0, [], []

    def __enter__(self):
        for name in ("jackd", self.program):
            if shutil.which(name) is None:
                raise NotHere(f"{name} is not installed; the Debian package is {PACKAGES[name]}")
        self.folder = tempfile.TemporaryDirectory(prefix="hocket-voices-")
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        jack = f"hocket-voices-{os.getpid()}"
        self.environment = {
            **os.environ, "JACK_DEFAULT_SERVER": jack, "JACK_NO_AUDIO_RESERVATION": "1",
        }
        # No sound device is touched: the dummy driver keeps time by itself.
        options = ["-R", "-P", JACK_PRIORITY, "-n", jack, "-d", "dummy"]
        self.run("jackd", *options, "-p", self.frames, "-r", RATE_HZ)
        time.sleep(1.0)
        own = ["-T", self.workers] if self.is_supernova else ["-R", 0]
        common = ["-u", self.port, "-i", 0, "-o", 2, "-z", 64, "-n", 8192, "-m", 262_144]
        self.server = self.run(self.program, *common, *own)
        self.peer = osc.Peer(self.port)
        self.peer.ask("/status", reply="/status.reply", patience=15.0)
        definition = synthdef.voice("voice", SECTIONS)
        self.peer.ask("/d_recv", definition, reply="/done")
        new_group = "/p_new" if self.is_supernova else "/g_new"
        self.peer.send(new_group, GROUP, 0, 0)
        self.sync()

    def run(self, program, *options):
        with open(os.path.join(self.folder.name, program + ".log"), "wb") as log:
            process = subprocess.Popen(
                [program, *map(str, options)], env=self.environment, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL,
            )
        self.processes.append(process)
        return process

    def sync(self):
        self.peer.ask("/sync", 1, reply="/synced")

    def step(self, voices, seconds):
        """Adds voices until there are `voices`, then lets them play for `seconds`."""
        for voice in range(self.voices, voices):
            self.peer.send("/s_new", "voice", 1000 + voice, 0, GROUP)
            if voice % 16 == 15:
                self.sync()
        self.voices = max(self.voices, voices)
        self.sync()
        time.sleep(SETTLE_S)
        self.threads = threads(self.server.pid)
        before = self.unfinished()
        share, (loads, peaks, synths) = cpu_share(self.server.pid, lambda: self.listen(seconds))
        if synths != self.voices:
            raise NotHere(f"{self.name} has {synths} voices instead of {self.voices}")
        return {
            "load": statistics.mean(loads),
            "load_highest": statistics.median(peaks),
            "late_share": (self.unfinished() - before) / (seconds * RATE_HZ / self.frames),
            "cpu_share": share,
        }

    def listen(self, seconds):
        """What the server says about itself: shares of the period, and how many voices it has."""
        loads, peaks, synths = [], [], 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.25)
            _, _, synths, _, _, average, peak, *_ = self.peer.ask("/status", reply="/status.reply")
            loads.append(average / 100)
            peaks.append(peak / 100)
        return loads, peaks, synths

    def unfinished(self):
        """Cycles that jackd reports as not finished in time."""
        with open(os.path.join(self.folder.name, "jackd.log"), "rb") as log:
            return log.read().count(b"was not finished")

    def __exit__(self, *_):
        # The server first: jackd would call it in vain.
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()
        self.folder.cleanup()


def version(program, *options):
    """The first line of what it says about its version; None: not installed."""
    if shutil.which(program) is None:
        return None
    said = subprocess.run(
        [program, *options], capture_output=True, text=True, check=False, timeout=20
    )
    lines = (said.stdout + said.stderr).splitlines()
    return next((line.strip() for line in lines if line.strip()), None)
