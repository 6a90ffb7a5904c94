"""A slow task gets a second copy, as on a cluster: only one copy makes reports that readers see. `make engines`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deniable import AdaptiveSMP, Attribute, Collection, Schema
from deniable.engines import spark
from deniable.files import aggregate_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.skipif("DENIABLE_ENGINES" not in os.environ, reason="make engines"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

N, PARTITIONS = 20_000, 4
SURVEY = Collection(
    Schema((Attribute("smoker", ("yes", "no")), Attribute("town", tuple(map(str, range(40)))))),
    AdaptiveSMP((2, 40), 1.0),
)


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return a session with a master and two workers, because local mode never runs a second copy of a task."""
    import pyspark
    from pyspark.sql import SparkSession

    directory = tmp_path_factory.mktemp("cluster")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    master = f"spark://127.0.0.1:{port}"
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    worker = ["org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "600m", "--work-dir", str(directory)]
    parts = [
        ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", port, "--webui-port", "0"],
        *([*worker, "--host", host, "--webui-port", "0", master] for host in ("127.0.0.2", "127.0.0.3")),
    ]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    os.environ |= environment
    started: list[subprocess.Popen[bytes]] = []
    try:
        for part in parts:
            with (directory / f"{len(started)}.log").open("w") as log:
                started.append(subprocess.Popen([*command, *part], env=environment, stdout=log, stderr=log))
        settings = {
            "spark.ui.enabled": False,
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "500m",
            "spark.speculation": True,
            "spark.speculation.interval": "100ms",
            "spark.speculation.quantile": 0.5,
            "spark.speculation.multiplier": 1.01,
            "spark.speculation.minTaskRuntime": "100ms",
            "spark.speculation.efficiency.enabled": False,
            "spark.locality.wait": "0s",
        }
        builder: Any = SparkSession.builder
        for name, value in settings.items():
            builder = builder.config(name, value)
        found = builder.master(master).getOrCreate()
        found.sparkContext.setLogLevel("OFF")
        yield found
        found.stop()
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


def test_two_copies_of_a_task_make_reports_once(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = cluster.range(0, N, 1, PARTITIONS).selectExpr(
        "cast(id % 40 as string) as town", "case when id % 3 = 0 then 'yes' else 'no' end as smoker"
    )
    attempt, trace = spark._attempt, tmp_path / "attempts"
    trace.mkdir()

    def slow(work: Any, batches: Any) -> Iterator[Any]:
        import time

        from pyspark import TaskContext

        context: Any = TaskContext.get()
        done = list(attempt(work, batches))
        copies = [trace / f"{work.func.__name__}-{context.partitionId()}-{i}" for i in range(2)]
        copies[context.attemptNumber()].touch()
        # Both copies do their work. Then the first copy is silent until it is killed because the second has ended. The
        # only task of a stage gets no copy.
        deadline = time.monotonic() + 120
        while context.partitionId() == 0 and work.func is not spark.merge_parts and time.monotonic() < deadline:
            if context.attemptNumber() == 1 and copies[0].exists():
                break
            time.sleep(0.05)
        yield from done

    monkeypatch.setattr(spark, "_attempt", slow)
    stored = spark.randomize(answers, SURVEY, str(tmp_path / "reports"))
    total = spark.aggregate(stored, SURVEY)
    assert {f"{work}-0-{i}" for work in ("write_part", "sum_part") for i in range(2)} <= {
        path.name for path in trace.iterdir()
    }
    assert len(list((tmp_path / "reports").iterdir())) == PARTITIONS
    assert stored.count() == total.n == N
    assert stored.collect() == stored.collect()
    assert total == aggregate_files(SURVEY, [tmp_path / "reports"], tmp_path / "total.arrow")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attempts", "reports", "total.arrow"]
