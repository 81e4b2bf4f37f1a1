"""The words of a statement that name neither time, action nor data: a closed set, in either language.

Groups are atomic and repetitions possessive: however a text repeats itself, it is read once.
"""

from __future__ import annotations

import re

_FLAGS = re.IGNORECASE | re.ASCII

_MODAL = r"(?:must|shall|should|needs?\s+to|wants?\s+to|would\s+like\s+to|has\s+to|have\s+to|will|is\s+to|are\s+to)"
_SYSTEM = r"(?:(?:the\s+|our\s+|a\s+)?(?:data\s+)?(?:platform|system|pipeline|job|task|service|scheduler)|it)\b"
EN_BEFORE = re.compile(
    r"(?>(?:make\s+sure|ensure)(?:\s+that)?\b"
    r"|(?:please|pls|plz|kindly|hi|hello|hey|also|then|just|automatically|to)\b"
    r"|(?:could|can|would|will)\s+you\b"
    rf"|(?:we|i|you|one|the\s+team|{_SYSTEM})\s+{_MODAL}|{_SYSTEM}|(?:need|want|have)\s+to\b|help\s+(?:us|me)\b"
    r"|(?:set\s+up|schedule|create|run)\s+(?:a|an|the)\b\s*(?:job\b|task\b)?\s*(?:to\b|that\b|which\b)?|be\s+able\s+to\b"
    r"|(?:a|an|the|and)\b|[-&,:.*()\s])*+",
    _FLAGS,
)
"""Before an English action: 'please', 'the platform must', 'we need to'."""
EN_PASSIVE = re.compile(
    rf"(?P<np>.*?)\s*\b(?:is|are|{_MODAL}\s+be|{_MODAL}\s+get|be|being|gets?|to\s+be)\s+(?:(?:automatically|then|also)\s+)?",
    _FLAGS,
)
"""'Customer orders must be' (synced)."""

_ZH_FILLER = (
    r"(?>【[^】]{1,8}】|请|麻烦|帮忙|帮我们|帮我|希望|需要|要求|必须|应该|应当|务必|我们|大家|系统|数据平台|平台|任务|自动|统一"
    r"|将会|能否|能不能|可否|可以|并且|然后|接着|同时|进行|执行|一次|完成|定时|负责|一下|您好|你好"
    r"|[需要应得我都均会想先能各再也还并做来去被由地的]|[-,:.*()、\s])"
)
ZH_BEFORE = re.compile(
    rf"{_ZH_FILLER}*+(?:从(?P<source>[^,]{{1,16}}?))?{_ZH_FILLER}*(?:(?P<mark>将|把|对|给|为|针对)(?P<np>[^,]{{1,24}}?))?{_ZH_FILLER}*"
)
"""Before a Chinese action: 请系统自动, 把用户订单, 从网关."""
ZH_PASSIVE = re.compile(rf"(?P<np>[^,]{{2,24}}?)(?:将由系统|由系统|{_ZH_FILLER})*+")
"""用户订单需自动 (同步)."""

SEPARATOR = re.compile(
    r"\s*(?:[,;、]|并且|并|然后|接着|同时|再|以及|和|\band\s+then\b|\band\s+also\b|\bthen\b|\band\b|&)\s*", _FLAGS
)
"""Between two actions of one statement."""
POLITE_QUESTION = re.compile(
    r"^\s*(?:please\s+|hi,?\s+)?(?:could|can|would|will)\s+you\b|能否|能不能|可否|可以.*吗|好吗|行吗", _FLAGS
)
POLITE_END = re.compile(
    r"(?>[,\s]*(?>thank\s+you|thanks|thx|please|pls|谢谢|多谢|辛苦了|好吗|行吗|可以吗|[吗吧哦啊哈!?~.]))++$", _FLAGS
)
OTHER_VERBS = re.compile(
    r"^(?:(?:please|we\s+(?:need|want)\s+to|must|should|the\s+(?:platform|system)\s+(?:must|should))\s+)*"
    r"(?:delete|drop|remove|train|notify|alert|email|merge|clean|restart|grant|revoke|rename|move|compute|calculate"
    r"|aggregate|build|monitor|migrate|transform|join|backup|back\s+up|rotate)\b"
    r"|^(?:请|需要|每|系统|定时)*(?:删除|清空|训练|通知|告警|合并|清洗|重启|授权|重命名|计算|汇总|聚合|生成|监控|迁移|转换|备份"
    r"|刷新|清理|更新|提醒|上报|部署)",
    _FLAGS,
)
"""Something is to be done, but nothing that a platform action is."""
TIME_LIKE = re.compile(
    r"\bat\s+\d|\d\s*[点时号周秒]|小时|分钟|\d{1,2}:\d{2}|每|[早晚]上|凌晨|工作日"
    r"|\b(?:hours?|minutes?|seconds?|every|daily|weekly|monthly|yearly|hourly|o'?clock|weekdays?|weekends?|mondays?|tuesdays?"
    r"|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|mornings?|afternoons?|evenings?|nights?|noon|midnight)\b",
    _FLAGS,
)
"""Words of time that were not read as such: what they stand in is not understood."""
CONDITION = re.compile(
    r"除|但是?|不|别|勿|如果|直到|否则|\b(?:except|unless|until|but|not|never|only|instead|if|when|otherwise|don't)\b", _FLAGS
)
REMARK = re.compile(
    r"(?:如?失败|出错|重试|确保|保证|避免|方便|用于|供|谢谢|辛苦).*"
    r"|(?:with\s+retries|retry|retries|on\s+failure|to\s+ensure|ensuring|thanks?)\b.*",
    _FLAGS,
)
"""Remarks that change neither what is done nor when."""
RUNS = re.compile(r"(?:runs?|happens|starts?|job|task|任务|作业|操作|工作)", _FLAGS)
"""What may follow an action that is a noun: 'the orders sync runs'."""
