"""How the demo is shown: step by step on a terminal, or as one JSON document."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self, assert_never

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.text import Text

from memkit.cli.output import Output
from memkit.cli.story import STEPS, Advance, Recall, Setting, Step, StoryEvent
from memkit.cli.words import counted, safe

_TITLE = 21
_INDENT = " " * 6
_SHOWN = 120


class Screen:
    """Shows a story's events as they come. Leaving it ends the bar, or prints the JSON."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._steps: list[Step] = []
        self._recall: Recall | None = None
        hidden = output.as_json or not output.err.is_terminal
        self._bar = Progress(
            TextColumn(_INDENT + "{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            console=output.err,
            transient=True,
            disable=hidden,
        )
        self._task: TaskID | None = None
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
        if self._output.as_json:
            self._output.json(
                {
                    "ok": error is None,
                    "error": None if error is None else f"{type(error).__name__}: {error}",
                    "steps": self._steps,
                    "recall": self._recall,
                }
            )

    def open(self, setting: Setting) -> None:
        """Say what is going to be played."""
        if self._output.as_json:
            return
        turns = sum(each.size for each in setting.conversations)
        sessions = sum(len(each.sessions) for each in setting.conversations)
        self._output.say(
            f"memkit demo: {counted(len(setting.conversations), 'conversation')}, "
            f"{counted(sessions, 'session')}, {counted(turns, 'turn')}\n",
            "bold",
        )

    def show(self, event: StoryEvent) -> None:
        """Show what happened."""
        match event:
            case Step():
                self._steps.append(event)
                self._show_step(event)
            case Advance():
                self._show_advance(event)
            case Recall():
                self._recall = event
                self._show_recall(event)
            case _:
                assert_never(event)

    def _show_step(self, step: Step) -> None:
        if self._output.as_json:
            return
        fancy = "utf" in self._output.out.encoding.lower()
        passed, failed = ("✓", "✗") if fancy else ("ok", "FAILED")
        mark, style = (passed, "green") if step.ok else (failed, "bold red")
        line = Text.assemble(
            (f"{mark} {step.number}  ", style), (step.title.ljust(_TITLE), "bold"), step.result
        )
        self._output.out.print(line, soft_wrap=True)
        for each in step.lines:
            self._output.say(f"{_INDENT}{each}", "dim")

    def _show_advance(self, advance: Advance) -> None:
        if self._task is None:
            self._task = self._bar.add_task(advance.what, total=advance.total)
        self._bar.update(
            self._task,
            description=advance.what.ljust(_TITLE),
            completed=advance.done,
            total=advance.total,
            visible=advance.done < advance.total,
        )

    def _show_recall(self, recall: Recall) -> None:
        if self._output.as_json:
            return
        self._output.say(
            f"\n{_INDENT}Played {counted(recall.sessions, 'session')} with "
            f"{counted(recall.turns, 'turn')}, then asked {counted(recall.asked, 'question')}:"
        )
        if recall.judged:
            self._output.say(
                f"{_INDENT}{recall.answered:,} of {recall.judged:,} "
                f"({recall.answered / recall.judged:.0%}) had evidence among the first ten items; "
                f"{recall.evidence:.1%} of all evidence was there; "
                f"{recall.milliseconds:.1f} ms a question"
            )
        for answer in recall.examples:
            self._output.say(f"{_INDENT}? {answer.question}", "cyan")
            for place, content in answer.recalled.items():
                found = place == answer.place
                line = f"{_INDENT}{place:4}. {_shortened(content)}"
                self._output.say(line, "green" if found else "dim")
            if answer.place is None:
                expected = _shortened(answer.expected)
                self._output.say(f"{_INDENT}      not among the first ten: {expected}", "yellow")
        self._output.say("")

    def close(self) -> None:
        """Say that the story is told."""
        if not self._output.as_json:
            seconds = time.monotonic() - self._started
            self._output.say(f"\n{len(self._steps)} of {STEPS} steps, {seconds:.1f} s", "bold")


def _shortened(text: str) -> str:
    shown = safe(text)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
