"""The comparison on a Ray cluster of two nodes, started here; it must give what one process gives."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wordlm.files import REPOSITORY, read_json
from wordlm.prepare_data import prepare
from wordlm.runs import ClusterError, resources_of_a_run

ray = pytest.importorskip("ray", reason="Ray is an optional extra")
SETTINGS = ["--steps", "60", "--batch-size", "64", "--eval-every", "20", "--device", "cpu", "--seeds", "11"]


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one core each."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    prepare("smoke", folder)
    return folder


def start(data_dir: Path, output_dir: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "wordlm.run_head_comparison", "--profile", "smoke", *SETTINGS]
    command += ["--data-dir", str(data_dir), "--output-dir", str(output_dir), *options]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(command, env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(process: subprocess.Popen) -> str:
    output = process.communicate(timeout=240)[0].decode()
    assert process.returncode == 0, output
    return output


def workers() -> list[int]:
    """The processes in which a run is being carried out; Ray names them after the task."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and b"ray::_train_run" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it ended meanwhile
            continue
    return found


def losses(folder: Path) -> dict[str, tuple]:
    runs = read_json(folder / "heads" / "comparison.json")["runs"]
    return {kind: [(r["seed"], r["test_loss"], r["history"]) for r in each] for kind, each in runs.items()}


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the worker to kill through /proc")
def test_a_cluster_that_loses_a_worker_gives_the_results_of_one_process(cluster, data_dir, tmp_path):
    there = start(data_dir, tmp_path / "ray", "--engine", "ray", "--address", cluster.address)
    while len(workers()) < 2:
        with pytest.raises(subprocess.TimeoutExpired):  # else it ended without two runs at once
            there.wait(0.02)
    os.kill(workers()[0], signal.SIGKILL)
    finish(there)
    finish(start(data_dir, tmp_path / "local"))
    assert losses(tmp_path / "ray") == losses(tmp_path / "local")
    for path in (tmp_path / "local" / "heads").glob("*.npz"):
        with np.load(path) as one, np.load(tmp_path / "ray" / "heads" / path.name) as other:
            assert all((one[name] == other[name]).all() for name in one.files if name != "metadata")

    again = finish(start(data_dir, tmp_path / "ray", "--engine", "ray", "--address", cluster.address))
    assert "0 runs" in again or "0step" in again, "finished runs are not done again"
    refused = start(data_dir, tmp_path / "ray", "--engine", "ray", "--address", cluster.address, "--steps", "10")
    output = refused.communicate(timeout=60)[0].decode()
    assert refused.returncode == 1
    assert "holds runs with steps = 60, this command asks for 10" in output


def test_a_cluster_that_cannot_be_reached_is_named(data_dir, tmp_path):
    process = start(data_dir, tmp_path, "--engine", "ray", "--address", "127.0.0.1:1")
    output = process.communicate(timeout=240)[0].decode()
    assert process.returncode == 1
    assert "error: the Ray cluster 127.0.0.1:1 cannot be used" in output
    assert "Traceback" not in output


def test_a_run_takes_a_gpu_where_there_is_one_and_its_threads_elsewhere():
    cores, with_gpu = {"CPU": 4.0}, {"CPU": 8.0, "GPU": 1.0}
    assert resources_of_a_run("auto", 2, [cores, cores]) == {"num_cpus": 2}
    assert resources_of_a_run("auto", 2, [cores, with_gpu]) == {"num_gpus": 1, "num_cpus": 1}
    assert resources_of_a_run("cpu", 4, [cores, with_gpu]) == {"num_cpus": 4}
    assert resources_of_a_run("cuda", 4, [with_gpu]) == {"num_gpus": 1, "num_cpus": 1}


@pytest.mark.parametrize(
    ("device", "threads", "message"),
    [
        ("auto", 8, "a run needs 8 CPU, the largest node of the cluster has 4: set OMP_NUM_THREADS=4"),
        ("cuda", 1, "a run needs 1 GPU, the largest node of the cluster has 0: use --device cpu"),
    ],
)
def test_a_run_that_fits_no_node_is_refused_instead_of_waiting_for_ever(device, threads, message):
    with pytest.raises(ClusterError, match=message):
        resources_of_a_run(device, threads, [{"CPU": 4.0}, {"CPU": 2.0}])
