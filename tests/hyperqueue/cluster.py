"""A HyperQueue server, a worker, or a submission, each a process of its own, from the Python package
`hyperqueue` alone: it has no `hq` program, but everything else.

  cluster.py server DIR            until its standard input ends
  cluster.py worker DIR OWN        with one core, for the server of DIR; until its standard input ends
  cluster.py submit DIR COMMAND... one task for each command, run by `sh`; waits until all are done
"""

import os
import sys
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


def submit(directory, commands):
    job = Job()
    for command in commands:
        job.program(["sh", "-c", command])
    client = Client(directory)
    sys.exit(0 if client.wait_for_jobs([client.submit(job)], raise_on_error=False) else 1)


role, directory, *rest = sys.argv[1:]
if role == "server":
    cluster = LocalCluster(directory)
    until_told()
elif role == "worker":
    worker(directory, *rest)
else:
    submit(directory, rest)
