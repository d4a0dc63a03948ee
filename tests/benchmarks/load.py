"""How many visitors one server bears: `python -m tests.benchmarks.load`.

Real sessions over WebSocket, as a browser opens them, each typing a new prompt on Explore every few seconds. For each
number of sessions: the time from sending a prompt to the end of the rerun, errors, and the server's memory. As a
reference, one session alone in the same run. The sessions that come to those of the line before open at once, as a
class does: the seconds until all of them are drawn, and the longest rerun meanwhile of one who types. At the end many
interactions in one session, to find a leak.
"""

import asyncio
import math
import os
import random
import statistics
import time
from pathlib import Path

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.conftest import start_server, stop_server
from wordlm.commands import CommandParser, whole_number
from wordlm.files import ARTIFACTS
from wordlm.text import Vocab

WORDS = Vocab.load(ARTIFACTS / "vocab.json").itos[4:1500]


class Session:
    """One visitor."""

    def __init__(self, url: str) -> None:
        self._url = url.replace("http", "ws") + "/_stcore/stream"
        self._prompt_id = ""
        self.errors = 0

    async def open(self) -> None:
        self._socket = await websockets.connect(self._url, subprotocols=["streamlit"], max_size=None)
        await self._rerun(None)

    async def close(self) -> None:
        await self._socket.close()

    async def type(self, prompt: str) -> float:
        """Send a prompt and return the seconds until the rerun has ended."""
        start = time.perf_counter()
        await self._rerun(prompt)
        return time.perf_counter() - start

    async def _rerun(self, prompt: str | None) -> None:
        message = BackMsg()
        message.rerun_script.query_string = ""
        if prompt is not None:
            state = message.rerun_script.widget_states.widgets.add()
            state.id, state.string_value = self._prompt_id, prompt
        await self._socket.send(message.SerializeToString())
        while True:
            answer = ForwardMsg()
            answer.ParseFromString(await self._socket.recv())
            kind = answer.WhichOneof("type")
            if kind == "delta":
                element = answer.delta.new_element
                if element.WhichOneof("type") == "text_input" and element.text_input.label == "Prompt":
                    self._prompt_id = element.text_input.id
                elif element.WhichOneof("type") == "exception":
                    self.errors += 1
            elif kind == "script_finished":
                return


def memory(pid: int) -> float:
    """Return the resident memory of a process in MB; NaN where the system has no /proc to read it from."""
    statm = Path(f"/proc/{pid}/statm")
    if not statm.exists():
        return math.nan
    return int(statm.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def a_prompt() -> str:
    return " ".join(random.choices(WORDS, k=12))


async def visit(session: Session, pause: float, until: float, times: list[float]) -> None:
    await asyncio.sleep(random.uniform(0, pause))
    while time.perf_counter() < until:
        start = time.perf_counter()
        times.append(await session.type(a_prompt()))
        await asyncio.sleep(max(0.0, pause - (time.perf_counter() - start)))


async def open_at_once(sessions: list[Session], beside: Session) -> tuple[float, float]:
    """Open sessions at once; return the seconds until all are drawn, and the longest wait of one `beside` who types."""

    async def opened() -> float:
        start = time.perf_counter()
        await asyncio.gather(*(session.open() for session in sessions))
        return time.perf_counter() - start

    opening, waits = asyncio.create_task(opened()), [0.0]
    while not opening.done():
        waits.append(await beside.type(a_prompt()))
    return await opening, max(waits)


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[math.ceil(share * len(times)) - 1]


async def measure(url: str, pid: int, counts: list[int], pause: float, seconds: float, interactions: int) -> None:
    sessions = [Session(url)]
    await sessions[0].open()
    base = 0.0
    heads = ("sessions", "opened s", "wait s", "reruns", "median ms", "p95 ms", "errors", "memory MB", "MB a session")
    print("  ".join(f"{head:>9}" for head in heads))
    for count in counts:
        coming = [Session(url) for _ in range(count - len(sessions))]
        opened, wait = await open_at_once(coming, sessions[0])
        sessions += coming
        times: list[float] = []
        until = time.perf_counter() + seconds
        await asyncio.gather(*(visit(session, pause, until, times) for session in sessions))
        held = memory(pid)
        base = base or held
        each = (held - base) / (count - 1) if count > 1 else 0.0
        errors = sum(session.errors for session in sessions)
        print(
            f"{count:9}  {opened:9.1f}  {wait:9.1f}  {len(times):9}  "
            f"{1e3 * statistics.median(times):9.0f}  {1e3 * percentile(times, 0.95):9.0f}  "
            f"{errors:9}  {held:9.0f}  {each:12.1f}",
            flush=True,
        )
    for session in sessions[1:]:
        await session.close()
    await asyncio.sleep(2)
    print(f"\nafter all but one have left: {memory(pid):.0f} MB")
    for part in range(5):
        for _ in range(interactions // 5):
            await sessions[0].type(a_prompt())
        print(
            f"after {(part + 1) * interactions // 5:,} more interactions of that one: {memory(pid):.0f} MB", flush=True
        )


def main() -> None:
    parser = CommandParser(__doc__)
    parser.add_argument("--sessions", type=whole_number(1, 10_000), nargs="+", default=[1, 10, 25, 50, 75])
    parser.add_argument("--pause", type=float, default=5.0, help="seconds between two prompts of a session")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each number of sessions")
    parser.add_argument(
        "--interactions", type=whole_number(5, 1_000_000), default=1000, help="of one session at the end"
    )
    args = parser.parse_args()
    process, url = start_server(Path(os.devnull))
    try:
        asyncio.run(measure(url, process.pid, args.sessions, args.pause, args.seconds, args.interactions))
    finally:
        stop_server(process)


if __name__ == "__main__":
    main()
