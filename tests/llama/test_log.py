"""What the server's log says of one task."""

from pathlib import Path

from labs.llama.log import lines_since, size_bytes, task_lines

LOG = """\
0.05.968.594 I slot launch_slot_: id  0 | task 33 | processing task, is_child = 0
5.18.249.237 W srv          stop: cancel task, id_task = 33
5.18.249.301 I slot      release: id  0 | task 33 | stop processing: n_tokens = 86, truncated = 0
5.18.599.203 W srv          stop: cancel task, id_task = 333
5.18.599.300 I slot      release: id  1 | task 333 | stop processing: n_tokens = 54, truncated = 0
"""


def test_lines_of_a_task(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(LOG)
    found = task_lines(path, 33)
    assert found.cancel == LOG.splitlines()[1]
    assert found.release == LOG.splitlines()[2]
    assert (found.slot_id, found.n_tokens) == (0, 86)
    assert found.next_offset == len(LOG)


def test_only_since_the_offset(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(LOG)
    offset = size_bytes(path)
    assert task_lines(path, 33, offset).cancel is None
    with path.open("a") as log:
        log.write("6.0 W srv          stop: cancel task, id_task = 33\n6.1 half a li")
    found = task_lines(path, 33, offset)
    assert found.cancel == "6.0 W srv          stop: cancel task, id_task = 33"
    assert lines_since(path, found.next_offset) == ([], found.next_offset)
    with path.open("a") as log:
        log.write("ne\n")
    assert lines_since(path, found.next_offset)[0] == ["6.1 half a line"]


def test_a_rotated_log_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(LOG)
    assert task_lines(path, 33, offset=len(LOG) * 2).cancel is not None


def test_no_log(tmp_path: Path) -> None:
    assert size_bytes(tmp_path / "none") == 0
    assert task_lines(tmp_path / "none", 1).cancel is None
