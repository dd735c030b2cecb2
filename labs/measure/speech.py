"""The voice timeline (lab.md): when the mouth opens, serial and streaming. ASR and TTS are modelled.

The client's turn (their measurement of 2026-09-23): ASR 0.4 s, model 0.6 s, TTS 2.3 s, 3.3 s in all, serial.
TTS time is proportional to spoken length. Two things are not in their text and are set here:
- the length of that turn: 0.6 s of a model that writes 50 tokens a second and starts after 0.127 s are about
  24 tokens, about 25 syllables in either language;
- how many sentences it had: with 1.25, five sentences are four such turns and give 0.4 + 4 * (0.6 + 2.3) =
  12.0 s, the client's 'five sentences, 12 seconds'. Both of their figures then hold in one model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal
from unicodedata import normalize

from labs.measure.sentences import Sentence
from labs.measure.sentences.chars import is_cjk, is_said
from labs.measure.sentences.thinking import without_thoughts

SPEECH_MODEL_VERSION = 1

ASR_MS = 400
CLIENT_MODEL_MS = 600
CLIENT_TTS_MS = 2_300
CLIENT_FIVE_SENTENCES_MS = 12_000  # what the client's text says
CLIENT_SYLLABLES = 25
CLIENT_SENTENCES = 1.25
TTS_MS_PER_SYLLABLE = CLIENT_TTS_MS / CLIENT_SYLLABLES

Mode = Literal["serial", "streaming"]
Lane = Literal["asr", "model", "tts"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A bar of the timeline, in ms from the moment the user stops speaking. `sentence` counts from 0."""

    lane: Lane
    start_ms: int
    end_ms: int
    sentence: int | None = None

    @property
    def modelled(self) -> bool:
        return self.lane != "model"


@dataclass(frozen=True, slots=True)
class Timeline:
    """`opens_ms`: when the first sound is ready. It is modelled whole, since two of its parts are."""

    mode: Mode
    opens_ms: int
    stretches: tuple[Stretch, ...]
    modelled: bool = field(default=True, init=False)


@dataclass(frozen=True, slots=True)
class Spoken:
    """One sentence: when the model had written it, in ms from sending, and how long it is to say."""

    ready_ms: int
    syllables: int


CLIENT_TURN = (Spoken(CLIENT_MODEL_MS, CLIENT_SYLLABLES),)


def spoken(sentence: Sentence) -> Spoken:
    """Of a recording's sentence, whose times count from the ask's sent."""
    return Spoken(round(sentence.at_us / 1000), count_syllables(sentence.text))


def serial(answer: Sequence[Spoken], *, model_ms: int) -> Timeline:
    """The whole answer is written (`model_ms`), then all of it is made into sound, then the mouth opens."""
    written = ASR_MS + model_ms
    opens = written + tts_ms(sum(sentence.syllables for sentence in answer))
    bars = (Stretch("asr", 0, ASR_MS), Stretch("model", ASR_MS, written), Stretch("tts", written, opens))
    return Timeline("serial", opens, bars)


def streaming(answer: Sequence[Spoken], *, model_ms: int) -> Timeline:
    """Each sentence is made into sound once it is complete, one at a time; the first opens the mouth."""
    bars = [Stretch("asr", 0, ASR_MS), Stretch("model", ASR_MS, ASR_MS + model_ms)]
    free = ASR_MS
    for number, sentence in enumerate(answer):
        start = max(free, ASR_MS + sentence.ready_ms)
        free = start + tts_ms(sentence.syllables)
        bars.append(Stretch("tts", start, free, number))
    first = next((bar.end_ms for bar in bars if bar.sentence == 0), ASR_MS + model_ms)
    return Timeline("streaming", first, tuple(bars))


def client_sentences(count: int) -> tuple[Spoken, ...]:
    """`count` even sentences at the client's pace, 0.48 s of writing and 20 syllables each."""
    ms, syllables = CLIENT_MODEL_MS / CLIENT_SENTENCES, round(CLIENT_SYLLABLES / CLIENT_SENTENCES)
    return tuple(Spoken(round(ms * number), syllables) for number in range(1, count + 1))


def tts_ms(syllables: int) -> int:
    return round(TTS_MS_PER_SYLLABLE * syllables)


_WORD = re.compile(r"[^\W\d_]+|\d")
_POINT = re.compile(r"(?<=\d)[.．](?=\d)")
_VOWELS = re.compile(r"[aeiouy]+")
_SPELLED_AT_MOST = 4


def count_syllables(text: str) -> int:
    """Spoken length in syllables, Korean and English alike.

    Hangul, Kana and Han count one each. A Latin word counts its groups of vowels, without a silent e, one at
    least; up to four capitals in a row, or a word without a vowel, are spelled. A digit counts one, as it does
    in Korean; the point of a decimal number one. Marks, emoji, Markdown and thoughts are silent.
    """
    said = normalize("NFC", without_thoughts(text))
    return sum(_word_syllables(word) for word in _WORD.findall(said)) + len(_POINT.findall(said))


def _word_syllables(word: str) -> int:
    cjk = sum(is_cjk(char) for char in word)
    latin = "".join(char for char in word if is_said(char) and not is_cjk(char))
    return cjk + (_latin_syllables(latin) if latin else 0)


def _latin_syllables(word: str) -> int:
    low = "".join(char for char in normalize("NFD", word).lower() if is_said(char))
    if not _VOWELS.search(low) or (1 < len(word) <= _SPELLED_AT_MOST and word.isupper()):
        return len(word)
    groups = len(_VOWELS.findall(low))
    silent = word.lower().endswith("e") and not low.endswith(("le", "ee", "ye")) and groups > 1
    return groups - silent
