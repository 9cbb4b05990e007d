"""The life line: one picture of what became of the graph, from a history and what was found in it."""

from __future__ import annotations

from afterward.model.diagnosis import Diagnosis
from afterward.model.history import History
from afterward.model.reuse import find_reuse
from afterward.model.saved import SavedRun
from afterward.render.lifeline.broken import broken_story
from afterward.render.lifeline.draw import as_svg
from afterward.render.lifeline.quiet import plain_story, quiet_story
from afterward.render.lifeline.rows import rows_story
from afterward.render.lifeline.silent import cut_story, silent_story
from afterward.render.lifeline.sound import sound_story
from afterward.render.lifeline.story import Story
from afterward.render.source import SourceTexts


def story_of(history: History, found: Diagnosis, sources: SourceTexts) -> Story:
    """The story of one finding. Where the record holds little, the finding's own labels are drawn."""
    for late in history.broken_passes():
        reuse = find_reuse(history, late)
        if reuse is not None:
            return broken_story(history, found, reuse, sources)
        if late.error == "no_grad":
            return cut_story(history, late, sources)
    drawn = (
        rows_story(history, found, sources)
        or silent_story(history, found, sources)
        or quiet_story(history, found, sources)
    )
    return drawn or plain_story(found, sources)


def sound_picture(run: SavedRun) -> Story | None:
    """The story of a run in which nothing went wrong."""
    stories = (sound_story(chapter.history, SourceTexts(run.sources)) for chapter in run.chapters)
    return next((story for story in stories if story is not None), None)


def picture(run: SavedRun, finding: int = 0, *, name: str = "life") -> str | None:
    """The life line of one finding, or of a run without any, as an SVG file of its own, light or dark as its reader is.

    Several of them within one document need a `name` each.
    """
    if not run.report.findings:
        sound = sound_picture(run)
        return as_svg(sound, name=name) if sound is not None else None
    history = run.history_of(finding)
    if history is None:
        return None
    return as_svg(story_of(history, run.report.findings[finding], SourceTexts(run.sources)), name=name)
