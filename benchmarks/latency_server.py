"""A chat completions endpoint that answers the same text after a set time, cheaply.

python benchmarks/latency_server.py SECONDS TEXT
"""

import asyncio
import json
import sys


async def main(latency: float, text: str) -> None:
    """Serve on a free port of the loopback, and print the port."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    body = json.dumps(
        {"id": "1", "object": "chat.completion", "created": 0, "model": "served",
         "choices": [choice], "usage": usage}
    ).encode()  # fmt: skip
    head = (
        f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    response = head.encode() + body

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.lower().split(b"\r\n")
                length = next(int(x[15:]) for x in lines if x.startswith(b"content-length:"))
                await reader.readexactly(length)
                await asyncio.sleep(latency)
                writer.write(response)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), sys.argv[2]))
