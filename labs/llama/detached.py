"""A lab server that outlives the command that started it; its state lies in a folder."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from labs.llama.flags import CannotStart
from labs.llama.process import command, wait_until_ready

STOP_LIMIT_S = 5.0
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Running:
    """`born` tells our process from a later one with the same number."""

    pid: int
    born: str
    url: str


class Detached:
    """The server of one folder. Not for two processes at once; `busy` keeps the second out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log_path = folder / "server.log"
        self._state = folder / "server.json"

    def recorded(self) -> Running | None:
        """What the folder says, whether it still lives or not."""
        try:
            found = json.loads(self._state.read_text())
            return Running(int(found["pid"]), str(found["born"]), str(found["url"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def running(self) -> Running | None:
        """The server, if its process lives; after a kill -9 or a reboot it does not."""
        found = self.recorded()
        return found if found is not None and _birth(found.pid) == found.born else None

    def start(self, port: int, *flags: str) -> Running:
        """Returns when it is ready. Raises CannotStart, with the log's last lines."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log_path.unlink(missing_ok=True)
        url = f"http://127.0.0.1:{port}"
        with self.log_path.open("ab") as log:
            child = subprocess.Popen(
                command(port, self.log_path, "--slot-save-path", str(self.folder / "slots"), *flags),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        server = Running(child.pid, _birth(child.pid) or "", url)
        self._state.write_text(json.dumps(asdict(server)) + "\n")
        try:
            wait_until_ready(url, child, self.log_path, os.environ.get("LLAMA_API_KEY"))
        except BaseException:
            self.stop()
            raise
        finally:
            child.returncode = child.returncode or 0  # it is meant to outlive us; Popen would warn
        return server

    def stop(self) -> bool:
        """False where nothing was running. Forgets the state either way."""
        server = self.running()
        if server is not None:
            _end(server)
        self._state.unlink(missing_ok=True)
        return server is not None

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Holds the folder while starting or stopping; CannotStart where somebody else does."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as exc:
                raise CannotStart("another voice-llm is starting or stopping this server") from exc
            yield


def _end(server: Running) -> None:
    for number, limit_s in ((signal.SIGTERM, STOP_LIMIT_S), (signal.SIGKILL, STOP_LIMIT_S)):
        try:
            os.kill(server.pid, number)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            with contextlib.suppress(ChildProcessError):  # ours only where the same process started it
                os.waitpid(server.pid, os.WNOHANG)
            if _birth(server.pid) != server.born:
                return
            time.sleep(_POLL_S)


def _birth(pid: int) -> str | None:
    """When a living process began, as the system tells it; None for the dead and for zombies."""
    try:
        # The name in brackets may contain anything; state is the first and start time the 20th after it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if fields[0] == "Z" else fields[19]
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return None
    except ProcessLookupError:
        return None
    said = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return said.stdout.strip() or None
