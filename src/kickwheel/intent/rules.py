"""The rules recogniser: offline, deterministic, Chinese and English.

It maps a statement only if every word of it is explained: words of time, an action, what it acts on, where to, and a
closed set of phrases that change nothing. Anything else is refused with a question: a miss, but never a wrong task.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kickwheel.intent.glossary import Glossary
from kickwheel.intent.normal_text import normalise
from kickwheel.intent.phrases import TIME_MARK, Named, Objects, clean, named_things, read_objects
from kickwheel.intent.ports import Recognised, Refused
from kickwheel.intent.suspicion import looks_injected
from kickwheel.intent.time_reading import TimeReading, read_time, time_tokens
from kickwheel.intent.time_refused import TimeRefused
from kickwheel.intent.time_tokens import DataPeriod, InZone, Token

_MODAL = r"(?:must|shall|should|needs?\s+to|wants?\s+to|would\s+like\s+to|has\s+to|have\s+to|will|is\s+to|are\s+to)"
_SYSTEM = r"(?:(?:the\s+|our\s+|a\s+)?(?:data\s+)?(?:platform|system|pipeline|job|task|service|scheduler)|it)"
_EN_BEFORE = re.compile(
    rf"(?:(?:please|pls|plz|kindly|hi|hello|hey|also|then|just|automatically|to)\b,?\s*|(?:could|can|would|will)\s+you\b\s*"
    rf"|(?:we|i|you|one|the\s+team|{_SYSTEM})\s+{_MODAL}\s*|{_SYSTEM}\s*|(?:need|want|have)\s+to\b\s*|help\s+(?:us|me)\b\s*"
    rf"|(?:set\s+up|schedule|create|run)\s+(?:a|an|the)\s*(?:job|task)?\s*(?:to|that|which)?\s*|be\s+able\s+to\s*|(?:a|an|the|and|&)\b\s*|[-,:.*()\s]+)*",
    re.IGNORECASE | re.ASCII,
)
_EN_PASSIVE = re.compile(
    rf"(?P<np>.*?)\s*\b(?:is|are|{_MODAL}\s+be|{_MODAL}\s+get|be|being|gets?|to\s+be)\s+(?:automatically\s+|then\s+|also\s+)?",
    re.IGNORECASE | re.ASCII,
)
_ZH_FILLER = (
    r"(?:请|麻烦|帮忙|帮我们?|希望|需要|需|要求|要|必须|应该|应当|应|得|务必|我们|我|大家|系统|数据?平台|任务|自动|统一|都|均|会|将会|能否|能不能|可否|可以|想|"
    r"再|也|还|并且|并|然后|接着|同时|进行|做|执行|一次|完成|来|去|被|定时|由|负责|地|的|一下|您好|你好|[-,:.*()、\s])"
)
_ZH_BEFORE = re.compile(
    rf"{_ZH_FILLER}*(?:(?:从|由)(?P<source>[^,]{{1,16}}?))?{_ZH_FILLER}*(?:(?P<mark>将|把|对|给|为|针对)(?P<np>[^,]{{1,24}}?))?{_ZH_FILLER}*"
)
_ZH_PASSIVE = re.compile(rf"(?P<np>[^,]{{2,24}}?)(?:需要|需|要|应该|应当|应|必须|得|会|将会|将|由系统|均|都|被)*{_ZH_FILLER}*")
_SEPARATOR = re.compile(
    r"\s*(?:[,;、]|并且|并|然后|接着|同时|再|以及|和|\band\s+then\b|\band\s+also\b|\bthen\b|\band\b|&)\s*",
    re.IGNORECASE | re.ASCII,
)
_POLITE_QUESTION = re.compile(
    r"^\s*(?:please\s+|hi,?\s+)?(?:could|can|would|will)\s+you\b|能否|能不能|可否|可以.*吗|好吗|行吗", re.IGNORECASE | re.ASCII
)
_POLITE_END = re.compile(
    r"(?:[,\s]*(?:thanks?(?:\s+you)?|thx|please|pls|谢谢|多谢|辛苦了|好吗|行吗|可以吗|吗|吧|哦|啊|哈|[!?~.]))+$",
    re.IGNORECASE | re.ASCII,
)
_OTHER_VERBS = re.compile(
    r"^(?:(?:please|we\s+(?:need|want)\s+to|must|should|the\s+(?:platform|system)\s+(?:must|should))\s+)*"
    r"(?:delete|drop|remove|train|notify|alert|email|merge|clean|restart|grant|revoke|rename|move|compute|calculate|aggregate|build|monitor|migrate|transform|join|backup|back\s+up|rotate)\b"
    r"|^(?:请|需要|每|系统|定时)*(?:删除|清空|训练|通知|告警|合并|清洗|重启|授权|重命名|计算|汇总|聚合|生成|监控|迁移|转换|备份)",
    re.IGNORECASE | re.ASCII,
)
_TIME_LIKE = re.compile(
    r"\bat\s+\d|\d\s*[点时号周]|\d{1,2}:\d{2}|每|[早晚]上|凌晨|工作日|\b(?:every|daily|weekly|monthly|yearly|hourly|o'?clock|weekdays?|weekends?|mondays?|tuesdays?|"
    r"wednesdays?|thursdays?|fridays?|saturdays?|sundays?|mornings?|afternoons?|evenings?|nights?|noon|midnight)\b",
    re.IGNORECASE | re.ASCII,
)
_CONDITION = re.compile(
    r"除|但是?|不|别|勿|如果|直到|否则|\b(?:except|unless|until|but|not|never|only|instead|if|when|otherwise|don't)\b",
    re.IGNORECASE | re.ASCII,
)
_MOVING = {"sync", "archive"}
"""Actions for which 'to …' is where the data ends up; for others it may be a reader."""


@dataclass(frozen=True)
class Clause:
    """One action with the words before and after it; ``start`` and ``end`` are its place in the statement."""

    action: str
    before: str
    after: str
    start: int
    end: int


@dataclass(frozen=True)
class RulesRecogniser:
    """See the module. ``seconds_first``: six-field cron expressions are taken, with the seconds first."""

    glossary: Glossary
    seconds_first: bool = False

    def recognise(self, text: str) -> list[Recognised | Refused]:
        """Triples or refusals of one statement."""
        text = normalise(text)
        if looks_injected(text):
            return [Refused("suspicious", "This reads like an instruction to the machinery: is it a requirement at all?")]
        polite = bool(_POLITE_QUESTION.search(text))
        if text.endswith("?") and not polite:
            return [Refused("not_a_task", "This is a question: which task does it ask for?")]
        text = _POLITE_END.sub("", text)
        tokens = time_tokens(text, self.glossary)
        blanked = _blank(text, tokens)
        clauses = _clauses(blanked, self.glossary)
        if not clauses:
            return [self._no_action(text, blanked, tokens)]
        try:
            times = self._times(text, tokens, clauses)
        except TimeRefused as refused:
            return [Refused(refused.reason, str(refused))]
        outcomes: list[Recognised | Refused] = []
        read = [read_objects(clause.after, self.glossary) for clause in clauses]
        for index, (clause, time) in enumerate(zip(clauses, times, strict=True)):
            following = next((objects for objects in read[index:] if objects.things), read[index])
            objects = read[index] if read[index].things or clean(clause.after) or clean(clause.before) else following
            outcomes += self._triples(clause, objects, time)
        return outcomes

    def _no_action(self, text: str, blanked: str, tokens: Sequence[Token]) -> Refused:
        timed = any(not isinstance(token.meaning, DataPeriod | InZone) for token in tokens)
        if (timed and clean(blanked)) or _OTHER_VERBS.match(text):
            known = ", ".join(self.glossary.action_slugs)
            return Refused("unknown_action", f"What is to be done? Known actions: {known}")
        return Refused("not_a_task", "Which task does this ask for? Say what to do with which data, and when")

    def _times(self, text: str, tokens: Sequence[Token], clauses: Sequence[Clause]) -> list[TimeReading]:
        """The time of each clause: its own, or the one that the statement names for all."""
        own = [[token for token in tokens if clause.start <= token.start < clause.end] for clause in clauses]
        timed = [any(not isinstance(token.meaning, DataPeriod | InZone) for token in found) for found in own]
        if len(clauses) == 1 or sum(timed) <= 1:
            reading = read_time(text, tokens, self.glossary, seconds_first=self.seconds_first)
            return [reading] * len(clauses)
        if not all(timed):
            raise TimeRefused("Which of the tasks runs at which time?")
        zones = [token for token in tokens if isinstance(token.meaning, InZone)]
        return [read_time(text, [*found, *(z for z in zones if z not in found)], self.glossary) for found in own]

    def _triples(self, clause: Clause, objects: Objects, time: TimeReading) -> list[Recognised | Refused]:
        before = self._before(clause.before)
        if isinstance(before, Refused):
            return [before]
        things = objects.things
        if not any(thing.slug for thing in things) and (any(thing.slug for thing in before) or not things):
            things = before
        if not things:
            return [Refused("unknown_target", f"Which data does {clause.action!r} act on?")]
        remark = objects.rest.partition(",")[2]
        unexplained = " ".join([*(thing.phrase for thing in things if not thing.slug), objects.rest])
        if TIME_MARK in unexplained or _TIME_LIKE.search(unexplained) or _CONDITION.search(remark):
            return [
                Refused(
                    "not_a_task", "Part of the statement was not understood: say it as 'sync ORDERS to LAKE every day at 9:00'"
                )
            ]
        return [self._triple(clause.action, thing, objects.destination, time) for thing in things]

    def _before(self, text: str) -> tuple[Named, ...] | Refused:
        """What the words before an action name; a refusal where they say something else."""
        words = clean(text.replace(TIME_MARK, " "))
        words = " ".join(words.split())
        if _EN_BEFORE.fullmatch(words):
            return ()
        matched = _ZH_BEFORE.fullmatch(words)
        if matched:
            return named_things(matched["np"] or "", self.glossary)
        for pattern in (_EN_PASSIVE, _ZH_PASSIVE):
            passive = pattern.fullmatch(f"{words} " if pattern is _EN_PASSIVE else words)
            if passive:
                named = named_things(passive["np"], self.glossary)
                if all(thing.slug for thing in named):
                    return named
        named = named_things(_EN_BEFORE.sub("", words, count=1), self.glossary)
        if named and all(thing.slug for thing in named):
            return named
        return Refused(
            "not_a_task", f"What does {words!r} mean for the task? Say it as 'sync ORDERS to LAKE every day at 9:00'"
        )

    def _triple(self, action: str, thing: Named, destination: Named | None, time: TimeReading) -> Recognised | Refused:
        if not thing.slug:
            if len(thing.phrase) > 40 or _CONDITION.search(thing.phrase):
                return Refused("unknown_target", f"Which data is {thing.phrase!r}?")
            nearest = ", ".join(self.glossary.nearest(thing.phrase)) or "none"
            return Recognised(action, thing.phrase, None, time, f"unknown entity {thing.phrase!r}; nearest known: {nearest}")
        if destination is None or (not destination.slug and action not in _MOVING):
            return Recognised(action, thing.phrase, thing.slug, time)
        if not destination.slug:
            return Recognised(action, thing.phrase, None, time, f"unknown destination {destination.phrase!r}")
        return Recognised(action, thing.phrase, f"{thing.slug}_{destination.slug}", time)


def _blank(text: str, tokens: Sequence[Token]) -> str:
    """The text with words of time, and the small words that tie them to it, marked letter by letter."""
    letters = list(text)
    for token in tokens:
        letters[token.start : token.end] = TIME_MARK * (token.end - token.start)
    blanked = "".join(letters)
    mark = re.escape(TIME_MARK)
    tied = (
        rf"(?:\b(?:at|on|in|by|of|from|between|during|for|within)\s+)?(?:\bthe\s+)?(?={mark})|(?:按照?|以|[在于])\s*(?={mark})"
        rf"|(?<={mark})[\s,、和及与在的到至~-]*(?:\b(?:and|to|at|on|until|till)\b\s*)?(?={mark})|(?<={mark})\s*(?:的|时间|sharp\b|time\b)"
    )
    return re.sub(tied, lambda match: TIME_MARK * len(match.group()), blanked, flags=re.IGNORECASE | re.ASCII)


def _clauses(blanked: str, glossary: Glossary) -> list[Clause]:
    """One clause an action word. An action word that no separator leads to is part of what the one before acts on."""
    clauses: list[Clause] = []
    start, action_end, action = 0, 0, ""
    for match in glossary.action_pattern.finditer(blanked):
        if not action:
            action, action_start, action_end = glossary.action_of(match.group()), match.start(), match.end()
            continue
        between = blanked[action_end : match.start()]
        separators = [sep for sep in _SEPARATOR.finditer(between) if _only_fillers(between[sep.end() :])]
        if not separators:
            continue
        split = action_end + separators[0].start()
        clauses.append(Clause(action, blanked[start:action_start], blanked[action_end:split], start, split))
        start = action_end + separators[0].end()
        action, action_start, action_end = glossary.action_of(match.group()), match.start(), match.end()
    if action:
        clauses.append(Clause(action, blanked[start:action_start], blanked[action_end:], start, len(blanked)))
    return clauses


def _only_fillers(text: str) -> bool:
    words = " ".join(text.replace(TIME_MARK, " ").split())
    return bool(_EN_BEFORE.fullmatch(words) or _ZH_BEFORE.fullmatch(words) or _EN_PASSIVE.fullmatch(f"{words} "))
