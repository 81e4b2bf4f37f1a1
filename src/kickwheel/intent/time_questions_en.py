"""What English says about time that no schedule can be made of: questions, loose words, and which data is meant."""

from __future__ import annotations

from kickwheel.intent.time_clock_en import NUMBER
from kickwheel.intent.time_tokens import DataPeriod, Entry, Loose, OnRequest, Unclear, entry
from kickwheel.intent.time_words_en import DAY_NAME, MONTH_NAME

EN_QUESTIONS: tuple[Entry, ...] = (
    # what needs a question
    entry(r"\bT\s*\+\s*\d+\b", Unclear("T+n names no clock time: at which time of the day?")),
    entry(
        r"\b(?:once\s+a\s+week|weekly|(?:every|each)\s+week)\b",
        Unclear("On which day of the week, and at which time?", period="week"),
    ),
    entry(
        r"\b(?:once\s+a\s+month|monthly|(?:every|each)\s+month)\b",
        Unclear("On which day of the month, and at which time?", period="month"),
    ),
    entry(
        r"\b(?:quarterly|(?:every|each)\s+quarter|once\s+a\s+quarter)\b",
        Unclear("On which day of the quarter, and at which time?", period="quarter"),
    ),
    entry(
        r"\b(?:yearly|annually|(?:every|each)\s+year|once\s+a\s+year)\b",
        Unclear("On which day of the year, and at which time?", period="year"),
    ),
    entry(
        r"\b(?:(?:at\s+the\s+)?(?:start|beginning)\s+of\s+(?:the|each|every)\s+(?:day|week|month|quarter|year)|mid[\s-]?month)\b",
        Unclear("On which day, and at which time?"),
    ),
    entry(
        rf"\b(?:every|each)\s+(?:{NUMBER}|other|second|third|2nd|3rd)\s+(?:days?|weeks?|months?|quarters?|years?|{DAY_NAME}|weekdays?|nights?)\b|\b(?:bi-?weekly|fortnightly|bi-?monthly|semi-?\w+ly|alternate\s+\w+)\b",
        Unclear("Counted from which day, and at which time?"),
    ),
    entry(
        rf"\b(?:once|twice|{NUMBER}\s+times|several\s+times|a\s+few\s+times)\s+(?:a|an|per|each|every)\s+(?:week|month|year|hour|quarter)\b|\b(?:several|a\s+few|many)\s+times(?:\s+(?:a|per)\s+day)?\b",
        Unclear("At which times exactly?"),
    ),
    entry(
        r"\b(?:(?:by\s+)?(?:end|close)\s+of\s+(?:the\s+)?(?:business|day)|EOD|COB|overnight|dawn|dusk|lunch(?:time)?|off[\s-]?peak(?:\s+hours)?)\b",
        Unclear("At which time of the day?"),
    ),
    entry(
        r"\b(?:except|excluding|but\s+not|unless|other\s+than|apart\s+from)\b[^,;.]*|\b(?:public\s+|bank\s+)?holidays?\b|\btrading\s+days?\b",
        Unclear("Which days exactly? Exceptions and calendars of holidays can't be scheduled yet."),
    ),
    entry(
        rf"\b(?:until|till|starting|beginning|as\s+of|as\s+from|effective)\b[^,;.]*|\bfrom\s+(?:next|{MONTH_NAME})[^,;.]*",
        Unclear("A beginning or an end can't be scheduled yet: is it every time from now on?"),
    ),
    entry(
        rf"\b(?:every|each)\s+(?:{NUMBER}\s+)?(?:seconds?|secs?|(?<=\d)s)\b|\bonce\s+a\s+second\b",
        Unclear("Tasks run on minutes, not on seconds: how many minutes apart?", "invalid_schedule"),
    ),
    entry(
        r"\b(?:real[\s-]?time|continuous(?:ly)?|24/7|24x7|round\s+the\s+clock|immediately|asap|as\s+soon\s+as|constantly|always)\b",
        Unclear("How often, in minutes? Tasks run on a schedule."),
    ),
    entry(
        r"\b(?:soon|shortly|sometimes|occasionally|often|now\s+and\s+then|as\s+needed|when\s+needed|from\s+time\s+to\s+time)\b",
        Unclear("When exactly?"),
    ),
    entry(
        rf"\b(?:today|tomorrow|tonight|(?:this|next|coming)\s+(?:week|month|quarter|year|{DAY_NAME})|on\s+\d{{4}}-\d{{2}}-\d{{2}}|\d{{4}}-\d{{2}}-\d{{2}}|(?:on\s+)?(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{MONTH_NAME}|(?:on\s+)?{MONTH_NAME}\s+\d{{1,2}}(?:st|nd|rd|th)?)",
        Unclear("Once, or again and again?"),
    ),
    entry(
        r"\b(?:whenever|when|(?<!check )(?<!checks )(?<!verify )(?<!see )if)\s+[^,;.]*"
        r"|\bonce\s+(?!(?:a|an|per|every|each|daily)\b)[^,;.]*"
        r"|\bafter\s+(?!\d|noon\b|midnight\b)[^,;.]*|\bevery\s+time\b[^,;.]*",
        Unclear("Tasks run on a schedule, not on an event: at which times?"),
    ),
    entry(
        r"\b(?:local\s+time|user'?s?\s+time\s?zone|my\s+time|our\s+time)\b",
        Unclear("In which time zone, e.g. Europe/Berlin?", reason="ambiguous_zone"),
    ),
    entry(r"\b(?:on|upon|by)\s+(?:request|demand)\b|\bmanually\b|\bad[\s-]?hoc\b", OnRequest()),
    entry(
        rf"\b(?:in|during|throughout)\s+(?:{MONTH_NAME}|Q[1-4]\b|(?:spring|summer|autumn|fall|winter)\b|20\d\d\b)",
        Unclear("Only then, or all the year round?"),
    ),
    entry(
        r"\b(?:from|since)\s+(?=\d{1,2}(?::\d{2})?\s*(?:[ap]\.?m\b\.?)?\s*(?:$|[,;.]|(?:every|each|on|daily|hourly)\b))",
        Unclear("Until when, and how often in between?"),
    ),
    entry(r"\b(?:regularly|periodically|on\s+a\s+schedule|routinely)\b", Loose()),
    # data, not time
    entry(
        rf"\b(?:(?:from\s+|of\s+)?(?:yesterday(?:'s)?|(?:the\s+)?(?:previous|prior|last)\s+(?:day|week|month|quarter|hour|year|{NUMBER}\s+(?:days|weeks|months|hours|minutes))(?:'s|')?))(?!\s+of)|\b(?:older\s+than|over|more\s+than)\s+{NUMBER}\s+(?:days?|weeks?|months?|years?|hours?)(?:\s+old)?",
        DataPeriod(),
    ),
)
