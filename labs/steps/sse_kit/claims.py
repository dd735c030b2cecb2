"""One claim a stream: the trap it holds, the fields that show it, its points, and its hints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labs.grading.claim import Claim
from labs.text import N_, Text


@dataclass(frozen=True, slots=True)
class Streamed:
    """`function` reads `stream`; the claim holds where all of `fields` are right, in this order of complaint."""

    function: str
    stream: str
    claim: Claim
    fields: Sequence[str]
    passed: Text


def _core(stream: str, points: int, title: Text, fields: str, passed: Text, *hints: Text) -> Streamed:
    return Streamed(
        "parse", stream, Claim(f"parse-{stream}", "streams", title, points, hints), fields.split(), passed
    )


def _stretch(stream: str, title: Text, fields: str, passed: Text, *hints: Text) -> Streamed:
    return Streamed(
        "feed", stream, Claim(f"feed-{stream}", "streams", title, 1, hints), fields.split(), passed
    )


STREAMS: Sequence[Streamed] = (
    _core(
        "plain",
        4,
        N_("Every piece with its time, and the text"),
        "pieces text first_token ttft_ms",
        N_("All pieces, their times and the text are right."),
        N_(
            "Look at each line of the stream beside your own list: which line has text, and when did it come?"
        ),
        N_(
            "The new text is choices[0].delta.content. Call now() in the loop, for each piece; it gives milliseconds."
        ),
    ),
    _core(
        "role",
        4,
        N_("Pieces with a role and no text"),
        "ttft_ms first_token pieces",
        N_("The pieces with a role and no text did not count."),
        N_("Which pieces of this stream could a person hear?"),
        N_("Count a piece only when its content is not empty: it may be null, an empty string, or missing."),
    ),
    _core(
        "empty",
        3,
        N_("Pieces whose content is empty"),
        "ttft_ms pieces text",
        N_("Empty pieces did not count, in front or in the middle."),
        N_("A piece without a role can be empty too."),
        N_("Do not look at the role at all. Test the content: `if content:`."),
    ),
    _core(
        "timings",
        3,
        N_("The counters in a last piece without a choice"),
        "prompt_n prompt_ms predicted_n",
        N_("The server's counters were found, although their piece has no choice."),
        N_("How long is the list of choices in the last piece of this stream?"),
        N_("Read `timings` first, then look whether there is a choice: `for choice in event['choices']`."),
    ),
    _core(
        "done",
        2,
        N_("The end mark, and a text that talks about it"),
        "text done",
        N_("The end of the stream was found, and only there."),
        N_("The answer of this stream contains the mark itself. Where does the real one stand?"),
        N_(
            "[DONE] is the whole data of a line. Compare it with ==, before json.loads, and read until the end."
        ),
    ),
    _stretch(
        "cut",
        N_("Bonus: a read ends inside a line"),
        "text pieces ttft_ms",
        N_("Lines that came in two reads were joined."),
        N_("Print the reads: does each one end with a line's end?"),
        N_("Keep what stands behind the last line's end, and put the next read behind it."),
    ),
    _stretch(
        "syllable",
        N_("Bonus: a read ends inside a Korean syllable"),
        "text pieces ttft_ms",
        N_("Syllables that came in two reads are whole."),
        N_("A Korean syllable has three bytes. What does decode() do with two of them?"),
        N_("Join bytes, split at b'\\n', decode whole lines; or use codecs.getincrementaldecoder('utf-8')."),
    ),
    _stretch(
        "crlf",
        N_("Bonus: lines that end with CR LF"),
        "text pieces done",
        N_("CR LF ends a line like LF does."),
        N_("Print a line with repr(): what stands at its end?"),
        N_("Split at LF and strip a CR from the end of each line. The blank line is then empty again."),
    ),
    _stretch(
        "pings",
        N_("Bonus: pings and comments between the pieces"),
        "text pieces ttft_ms done",
        N_("Pings, comments and empty data were passed over."),
        N_("Not every line is data, and not all data is JSON with choices."),
        N_("Pass over lines that do not begin with data:, over empty data, and over events without choices."),
    ),
    _stretch(
        "together",
        N_("Bonus: several events in one read"),
        "pieces text done",
        N_("Every event of a read was found; they share its time."),
        N_("How many blank lines can one read hold?"),
        N_(
            "Loop over all whole lines of a read, not only over the first. All of them came at the same now()."
        ),
    ),
    _stretch(
        "error",
        N_("Bonus: an error inside the stream"),
        "error text done",
        N_("The server's error was found, and the text before it kept."),
        N_("The status was 200 long ago: where can the server still say that it failed?"),
        N_(
            "Look for `error` in each event, keep its message, and give back the text so far with done False."
        ),
    ),
    _stretch(
        "no-done",
        N_("Bonus: a stream that breaks off"),
        "text pieces done",
        N_("The broken stream was told from a whole one."),
        N_("This stream has no end. What is left over in your buffer?"),
        N_("Half an event at the end is none: leave it, and let done stay False."),
    ),
)

RECORDING = Streamed(
    "parse",
    "own",
    Claim(
        "own",
        "own",
        N_("Your own recording, read right"),
        2,
        (
            N_("Compare your list with the lines of the recording: a real server sends progress pieces too."),
            N_("What passed on the streams of the first round passes here: content, timings, [DONE]."),
        ),
    ),
    ("ttft_ms", "pieces", "text", "prompt_n", "prompt_ms", "predicted_n", "done"),
    N_("Your code read a real server's stream right."),
)
MS_PER_TOKEN = Claim(
    "ms-per-token",
    "own",
    N_("The time of one token"),
    2,
    (
        N_("How many steps are there from the first token to the last?"),
        N_(
            "Tokens are the server's count (predicted_n). The first one is there already, so divide by one less."
        ),
    ),
)
