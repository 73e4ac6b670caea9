"""A PMI-1 server that ends nobody.  The ranks are children of this process,
each with a socket; they may spawn more.  A rank that dies leaves the others as
they are, and nobody tells them of it."""
import os
import socket
import subprocess
import threading

MAXES = "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024"


class World:
    """Ranks that were started together: one store, one barrier."""

    def __init__(self, server, commands, values, env):
        self.server = server
        self.size = len(commands)
        self.name = "world-%d" % len(server.worlds)
        self.store = {"PMI_process_mapping":
                      "(vector,(0,1,%d))" % self.size}
        self.store.update(values)
        self.lock = threading.Lock()
        self.waiting = []
        self.ranks = []
        server.worlds.append(self)
        for rank, argv in enumerate(commands):
            ours, theirs = socket.socketpair()
            os.set_inheritable(theirs.fileno(), True)
            self.ranks.append(subprocess.Popen(
                argv, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                stdout=server.output, stderr=subprocess.STDOUT,
                env=dict(server.env, PMI_FD=str(theirs.fileno()),
                         PMI_RANK=str(rank), PMI_SIZE=str(self.size), **env)))
            theirs.close()
            threading.Thread(target=self.serve, args=(ours,),
                             daemon=True).start()

    def serve(self, sock):
        """The conversation with one rank, to its end."""
        try:
            with sock, sock.makefile(errors="replace") as lines:
                for line in lines:
                    if line.startswith("mcmd=spawn"):
                        answer = self.spawn(lines)
                    else:
                        words = dict(word.split("=", 1)
                                     for word in line.split() if "=" in word)
                        if words.get("cmd") == "abort":
                            return
                        answer = self.answer(sock, words)
                    if answer is not None:
                        sock.sendall((answer + "\n").encode())
        except OSError:
            pass  # the rank is gone

    def answer(self, sock, words):
        cmd = words.get("cmd")
        fixed = {
            "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "get_maxes": MAXES,
            "get_my_kvsname": "cmd=my_kvsname kvsname=" + self.name,
            "get_appnum": "cmd=appnum appnum=0",
            "get_universe_size": "cmd=universe_size size=%d" % self.size,
            "finalize": "cmd=finalize_ack",
        }
        if cmd in fixed:
            return fixed[cmd]
        if cmd == "put":
            self.store[words["key"]] = words["value"]
            return "cmd=put_result rc=0 msg=success"
        if cmd == "get":
            value = self.store.get(words["key"])
            return "cmd=get_result rc=%d msg=- value=%s" % (
                -1 if value is None else 0, value or "unknown")
        if cmd == "barrier_in":
            self.barrier(sock)
            return None
        return "cmd=%s rc=-1" % cmd

    def barrier(self, sock):
        with self.lock:
            self.waiting.append(sock)
            if len(self.waiting) < self.size:
                return
            for one in self.waiting:
                try:
                    one.sendall(b"cmd=barrier_out\n")
                except OSError:
                    pass  # it is gone
            self.waiting = []

    def spawn(self, lines):
        """One command after another, until the last of them has come."""
        commands, values = [], {}
        while True:
            words = {}
            for line in lines:
                if line.startswith("endcmd"):
                    break
                key, _, value = line.rstrip("\n").partition("=")
                words[key] = value
            argv = [words["execname"]]
            argv += [words["arg%d" % (i + 1)]
                     for i in range(int(words["argcnt"]))]
            commands += [argv] * int(words["nprocs"])
            for i in range(int(words["preput_num"])):
                values[words["preput_key_%d" % i]] = \
                    words["preput_val_%d" % i]
            if words["spawnssofar"] == words["totspawns"]:
                break
            lines.readline()  # the next mcmd=spawn
        World(self.server, commands, values, {"PMI_SPAWNED": "1"})
        return "cmd=spawn_result rc=0"


class Server:
    """A job of `commands`, one argument vector for each rank; all output goes
    to the file `output`."""

    def __init__(self, commands, output, env):
        self.output = output
        self.env = env
        self.worlds = []
        World(self, commands, {}, {})

    def ranks(self):
        return [rank for world in list(self.worlds) for rank in world.ranks]

    def poll(self):
        """None while a rank runs, else the first status that is not 0."""
        codes = [rank.poll() for rank in self.ranks()]
        return None if None in codes else next((c for c in codes if c), 0)

    def end(self):
        for rank in self.ranks():
            if rank.poll() is None:
                rank.kill()
            rank.wait()
