"""A process that was forked after a query says that it would hang."""

import pytest

from tests.processes import in_python


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "told"), [("fork", "would hang"), ("spawn", "counted")])
def test_a_forked_process_says_so_and_does_not_hang(method: str, told: str) -> None:
    code = (
        "import multiprocessing, sys\n"
        "import nci_frames as nf\n"
        "from tests.forks import LOG, in_child\n"
        "if __name__ == '__main__':\n"
        "    nf.count_confusion(LOG, thresholds=[0.5])\n"
        "    context = multiprocessing.get_context(sys.argv[1])\n"
        "    queue = context.SimpleQueue()\n"
        "    child = context.Process(target=in_child, args=(queue,))\n"
        "    child.start()\n"
        "    print(queue.get())\n"
        "    child.join()\n"
    )
    done = in_python(code, method)
    assert told in done.stdout, done.stdout + done.stderr
    if method == "fork":
        assert "get_context('spawn')" in done.stdout
