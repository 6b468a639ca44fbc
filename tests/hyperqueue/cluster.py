"""A HyperQueue server, a worker, or a submission, each a process of its own, from the Python package
`hyperqueue` alone: it has no `hq` program, but everything else.

  cluster.py server DIR            until its standard input ends
  cluster.py worker DIR OWN        with one core, for the server of DIR; until its standard input ends
  cluster.py submit DIR COMMAND... one task for each command, run by `sh`; waits until all are done
  cluster.py run N                 a server and N workers for the commands on standard input, one a line

Every command runs, whatever the others end with. "Violated" and "unknown", 1 and 3, are answers of a
check: only if a command ends otherwise, and not with 0, the exit code is 1.
"""

import os
import sys
import tempfile
from pathlib import Path

from hyperqueue import Client, Job
from hyperqueue.cluster import LocalCluster, WorkerConfig


def until_told():
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)


def worker(directory, own):
    # The package starts workers for a server of its own only. Which server that is says a link, which
    # is read when the worker starts.
    cluster = LocalCluster(own)
    link = Path(own, "hq-current")
    link.unlink()
    link.symlink_to(os.path.realpath(Path(directory, "hq-current")))
    cluster.start_worker(WorkerConfig(cores=1))
    until_told()


def submit(client, commands):
    job = Job(max_fails=None)
    for command in commands:
        job.program(["sh", "-c", '(eval "$1"); code=$?; case $code in 1|3) ;; *) exit $code; esac', "sh", command])
    return client.wait_for_jobs([client.submit(job)], raise_on_error=False)


def run(workers):
    with tempfile.TemporaryDirectory() as directory:
        cluster = LocalCluster(directory)
        for _ in range(workers):
            cluster.start_worker(WorkerConfig(cores=1))
        done = submit(cluster.client(), sys.stdin.read().splitlines())
    sys.stdout.flush()
    # Without waiting for the workers.
    os._exit(0 if done else 1)


role, *rest = sys.argv[1:]
if role == "server":
    cluster = LocalCluster(rest[0])
    until_told()
elif role == "worker":
    worker(*rest)
elif role == "run":
    run(int(rest[0]))
else:
    sys.exit(0 if submit(Client(rest[0]), rest[1:]) else 1)
