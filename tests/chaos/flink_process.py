"""A small Flink as a process of its own: it speaks the REST that the bot's real client asks, and commits all the time.

`python -m tests.chaos.flink_process FOLDER` prints its address. It keeps its runs in the folder, accepts a job id once,
and notes every stop and start that it really carried out in `calls.txt`. Whoever runs the experiment may ask it to
damage the table (`POST /break`, with the kind of damage), and to hold and go on (`POST /hold`, `POST /go`).
"""

import json
import re
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bot.observation.ids import JobId
from tests.chaos.cluster import COMMIT_EVERY_S, Cluster
from tests.chaos.parent import end_with_parent
from tests.little_flink import JOB

JAR = "orders.jar"


class Rest:
    """The pages that the bot reads, and the requests that it sends."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._routes: list[tuple[str, str, Callable[..., tuple[int, Any]]]] = [
            ("GET", r"/jobs/overview", self._overview),
            ("GET", r"/jobs/(\w+)", self._job),
            ("GET", r"/jobs/(\w+)/checkpoints", self._checkpoints),
            ("GET", r"/jobs/(\w+)/checkpoints/config", self._config),
            ("GET", r"/jobs/(\w+)/exceptions", lambda _body, _id: (200, {"exceptionHistory": {"entries": []}})),
            ("GET", r"/jobs/(\w+)/config", lambda _body, _id: (200, {})),
            ("GET", r"/jobs/(\w+)/savepoints/(\w+)", self._savepoint),
            ("POST", r"/jobs/(\w+)/stop", self._stop),
            ("GET", r"/jars", lambda _body: (200, {"files": [{"id": JAR}]})),
            ("POST", r"/jars/[\w.]+/run", self._run),
            ("POST", r"/break", lambda body: (200, cluster.damage(body["kind"]))),
            ("POST", r"/hold", lambda _body: (200, cluster.hold())),
            ("POST", r"/go", lambda _body: (200, cluster.go())),
        ]
        self._savepoints: dict[str, str] = {}

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """(status, body) of one request."""
        for wanted, pattern, do in self._routes:
            if method == wanted and (found := re.fullmatch(pattern, path.partition("?")[0])):
                return do(body, *found.groups())
        return 404, {"errors": [f"Not found: {path}"]}

    def _overview(self, _body: object) -> tuple[int, Any]:
        runs = self._cluster.runs(JOB)
        lines = [{"jid": r.job_id, "name": r.name, "start-time": _ms(r.started_at), "state": r.state} for r in runs]
        return 200, {"jobs": lines}

    def _job(self, _body: object, job_id: str) -> tuple[int, Any]:
        run = self._cluster.run(JobId(job_id))
        if run is None:
            return 404, {"errors": ["Job not found"]}
        vertices = [
            {"id": v.vertex_id, "name": v.name, "parallelism": 1, "status": v.status} for v in run.vertices
        ]  # fmt: skip
        times = {"start-time": _ms(run.started_at), "end-time": _ms(run.ended_at) if run.ended_at else -1}
        return 200, {"jid": job_id, "name": run.name, "state": run.state, **times, "vertices": vertices}

    def _checkpoints(self, _body: object, job_id: str) -> tuple[int, Any]:
        run = self._cluster.run(JobId(job_id))
        if run is None:
            return 404, {"errors": ["Job not found"]}
        restored = run.restored and {
            "id": run.restored.checkpoint_id,
            "restore_timestamp": _ms(run.restored.at),
            "is_savepoint": True,
            "external_path": run.restored.path,
        }
        counts = {"completed": run.completed_count, "failed": 0, "restored": int(bool(restored))}
        return 200, {"counts": counts, "latest": {"restored": restored or None}, "history": []}

    def _config(self, _body: object, _job_id: str) -> tuple[int, Any]:
        kept = {"enabled": True, "delete_on_cancellation": False}
        return 200, {"mode": "exactly_once", "interval": int(COMMIT_EVERY_S * 1000), "externalization": kept}

    def _stop(self, body: dict[str, Any], job_id: str) -> tuple[int, Any]:
        trigger = body["triggerId"]
        self._savepoints[trigger] = str(self._cluster.stop_once(JobId(job_id)))
        return 202, {"request-id": trigger}

    def _savepoint(self, _body: object, _job_id: str, trigger: str) -> tuple[int, Any]:
        if trigger not in self._savepoints:
            return 404, {"errors": ["Operation not found"]}
        return 200, {"status": {"id": "COMPLETED"}, "operation": {"location": self._savepoints[trigger]}}

    def _run(self, body: dict[str, Any]) -> tuple[int, Any]:
        if not self._cluster.start_once(JobId(body["jobId"]), body["savepointPath"]):
            return 400, {"errors": ["DuplicateJobSubmissionException: Job has already been submitted."]}
        return 200, {"jobid": body["jobId"]}


class _Server(ThreadingHTTPServer):
    def handle_error(self, _request: object, _client: object) -> None:
        """Who asked was killed."""


def _ms(moment: Any) -> int:
    return int(moment.timestamp() * 1000)


def main(folder: Path) -> None:
    end_with_parent()
    cluster = Cluster(folder)
    rest = Rest(cluster)

    class Handler(BaseHTTPRequestHandler):
        """Hands requests on."""

        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else {}
            status, content = rest.answer(self.command, self.path, body)
            text = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815 - named by the standard library

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    threading.Thread(target=cluster.commit_for_ever, daemon=True).start()
    server = _Server(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
