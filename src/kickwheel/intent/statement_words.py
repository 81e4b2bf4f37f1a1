"""The words of a statement that name neither time, action nor data: a closed set, in either language.

Groups are atomic and repetitions possessive: however a text repeats itself, it is read once.
"""

from __future__ import annotations

import re

_FLAGS = re.IGNORECASE | re.ASCII

_MODAL = (
    r"(?:must|shall|should|could(?!n)|ought\s+to|needs?\s+to|wants?\s+to|(?:would|'d)\s+like\s+to|has\s+to|have\s+to|will|is\s+to|are\s+to"
    r"|(?:is|are)\s+(?:required|expected|supposed|scheduled)\s+to)"
)
_SYSTEM = r"(?:(?:the\s+|our\s+|a\s+)?(?:data\s+)?(?:platform|system|pipeline|job|task|service|scheduler)|it)\b"
_TEAM = (
    r"(?:the\s+|our\s+)?(?:[a-z&]+\s+){0,2}?"
    r"(?:team|department|desk|group|office|analysts|ops|operations|finance|hr|marketing|logistics|sales|support)"
)
_NO_ONE = r"(?!(?:no|nobody|none|neither|never|not|few|hardly)\b)"
EN_BEFORE = re.compile(
    r"(?>(?:make\s+sure|ensure|see\s+to\s+it|it\s+is\s+(?:required|requested|necessary|essential|important|mandatory))(?:\s+that)?\b"
    r"|(?:hi|hello|hey|dear)\s+(?:all|team|everyone|everybody|folks|colleagues|both|there)\b"
    r"|arrange\s+for\b|let's\b|let\s+us\b"
    r"|(?:please|pls|plz|kindly|hi|hello|hey|also|then|so|therefore|hence|thus|just|automatically|additionally|finally|first|to)\b"
    r"|(?:could|can|would|will)\s+(?:you|someone|somebody|anyone|anybody)\b|(?:could|can|may)\s+(?:we|i)\b(?=\s+(?:have|get)\b)|be\s+so\s+kind\s+as\s+to\b"
    r"|(?:we|i)\s*(?:(?:'d|would)\s+like|want|need)\s+(?:you|it|the\s+(?:platform|system|team))\s+to\b"
    rf"|(?:we|i|you|one|{_NO_ONE}{_TEAM}|{_SYSTEM})\s*{_MODAL}|{_SYSTEM}|(?:need|want|have)\s+to\b|help\s+(?:us|me)\b"
    r"|(?:run|perform|carry\s+out|execute|launch|trigger)\s*$"
    r"|(?:set\s+up|schedule|create|run|perform|do|carry\s+out|execute|launch|trigger|start)\s+(?:a|an|the)\b\s*(?:(?:recurring|scheduled|full|regular)\b\s*)?"
    r"(?:job\b|task\b)?\s*(?:to\b|that\b|which\b)?|be\s+able\s+to\b"
    r"|(?:task|action|todo|requirement|req)\s*:|(?:a|an|the|and)\b|[-&,:.*()|\s])*+",
    _FLAGS,
)
"""Before an English action: 'please', 'the platform must', 'we need to'."""
EN_PASSIVE = re.compile(
    rf"(?P<np>.*?)\s*\b(?:(?:is|are|{_MODAL}\s+(?:(?:both|all|also)\s+)?be|{_MODAL}\s+get|be|being|gets?|to\s+be)\s+(?:(?:automatically|then|also|both|all)\s+)?)+",
    _FLAGS,
)
"""'Customer orders must be' (synced)."""

EN_CAUSATIVE = re.compile(
    rf"(?:(?:{_NO_ONE}[\w&'-]+\s+){{1,4}}?(?:needs?|wants?|requires?|would\s+like|expects?)|(?:i|we)'d\s+like|have|get)"
    r"\s+(?:to\s+(?:have|get|see)\s+)?(?P<np>.+?)(?:\s+to\s+be)?(?:\s+automatically)?",
    _FLAGS,
)
"""'Finance wants the invoices' (archived)."""

_ZH_FILLER = (
    r"(?>【[^】]{1,8}】|烦请|务请|恳请|劳烦|麻烦|拜托|劳驾|辛苦|帮忙|给我们?|替我们?|帮我们?|帮|请|希望|期望|需要|要求|必须|必需|应该|应当|务必|我们|大家"
    r"|系统|数据平台|平台|程序|定时任务|任务|自动|统一|增量|全量|批量|(?:需求|任务|功能|事项)\s*(?::|$|(?=\s))|将会|能否|能不能|可否|可以|能够|并且|然后|接着|同时|另外|此外|进行|执行|一次|完成|定时|负责"
    r"|各位(?:同事|同学|老师)?好?|大家好|一下|您好|你好|分别|(?:设置|新建|创建|配置|安排|建立)(?:[一1]个)?"
    r"|[需须要应得我都均会想先能各再也还并做来去被由地的]|[-,:.*()|、\s])"
)
_ZH_TEAM = (
    r"(?:[^,的不没未]{1,12}?(?=\s*(?:希望|期望|要求|申请|请求|建议|提出))|[^,的不没未]{1,6}?(?:部门|部|组|团队|同学|同事|人员|中心|处|科|室|局|司|院|办|方|侧|经理|主管|老师)(?:们)?"
    r"(?=\s*(?:希望|期望|需要|要求|想|需|要)))"
)
_ZH_MEANS = r"(?:(?:从|利用|通过|基于|结合|使用|用(?![户于途量工]))[^,]{1,16}?)"
_ZH_OBJECT = r"(?:(?:将|把|对|给|为|针对)(?P<np>[^,]{1,24}?))"
ZH_BEFORE = re.compile(
    rf"{_ZH_FILLER}*+{_ZH_TEAM}?{_ZH_FILLER}*+{_ZH_MEANS}?{_ZH_FILLER}*{_ZH_OBJECT}?{_ZH_FILLER}*{_ZH_MEANS}?{_ZH_FILLER}*"
)
"""Before a Chinese action: 请系统自动, 把用户订单, 从网关, 用汇率."""
ZH_PASSIVE = re.compile(
    rf"(?P<np>[^,]{{2,24}}?)(?:将由系统|由系统|{_ZH_FILLER})*+(?:(?:用(?![户于途量工])|利用|通过|基于|结合|从)[^,的不没未]{{2,16}}?(?:来|进行|做)?)??{_ZH_FILLER}*+"
)
ZH_AGAINST = re.compile(r"(?P<np>[^,]{2,24}?)(?:需要|必须|应该|[要需应须])[跟与同和][^,的不没未、]{2,16}?(?:进行|做)?")
"""工资单要跟考勤记录 (核对): what the data is held against."""
"""用户订单需自动 (同步)."""
WITH_PLACE = re.compile(r"(?P<np>.{2,60}?)\s*(?:\b(?:to|into)\b|[(,|至到])\s*(?P<place>.{2,40})", _FLAGS)
"""Before an action that stands last: 'orders to the lake: sync', 'orders (data lake): sync'."""
PRONOUN = re.compile(r"(?:it|them|these|those|其|它们?|二者|两者)", _FLAGS)
"""What was named before."""
STORY = re.compile(
    r"^作为[^,]{1,12}?,?\s*(?=我)"
    r"|^as\s+(?:(?:an?|the)\s+)?(?:[a-z&'-]+\s+){1,6}?,?\s*(?=(?:i|we)\s*(?:want|need|would\s+like|'d\s+like|require)\b)"
    r"|^as\s+(?:(?:an?|the)\s+)?(?:[a-z&'-]+\s+){0,5}[a-z&'-]+,\s*(?=(?:i|we)\s*(?:want|need|would\s+like|'d\s+like|require)\b)",
    _FLAGS,
)
"""'As a sales manager, I want …': who asks changes nothing."""
GREETING = re.compile(
    r"^\s*(?:(?:hi|hello|hey|dear|good\s+(?:morning|afternoon|evening|day))(?:\s+[\w'&-]+){0,3}?\s*[,!]\s*"
    r"|(?:尊敬的)?[^,的不没未]{0,8}?(?:[你您]?好|早上好|下午好)\s*[,!]\s*)+",
    _FLAGS,
)
"""'Dear IT, …', 各位领导好，…."""
FROM_NOW_ON = re.compile(
    r"^\s*(?:from\s+now\s+on|going\s+forward|henceforth|from\s+today\s+on)\b\s*,?\s*|\s*,?\s*\b(?:from\s+now\s+on|going\s+forward|henceforth)\s*$"
    r"|^\s*(?:从现在起|从现在开始|从今往后|今后|往后)\s*,?\s*",
    _FLAGS,
)
"""A schedule begins when it is deployed: this says no more."""
ASKED_PASSIVELY = re.compile(
    r"^\s*(?:could|can|might)\s+(?P<np>(?!(?:you|we|i|it|someone|somebody|anyone|anybody)\b)[^,?]{2,50}?)\s+(?P<be>be|get)\s+",
    _FLAGS,
)
"""'Could the orders be (synced)?'"""
_ANYONE = r"(?:(?!(?:no|nobody|none|neither|never|not|few|hardly)\b)[\w&'-]+\s+){1,5}?"
PREFACE = re.compile(
    r"^\s*(?>(?:hi|hello|hey|dear|good\s+(?:morning|afternoon|day))(?:\s+(?!please\b|could\b|can\b)[\w'-]+){0,3}?\s*,\s*)?+"
    r"(?:(?:would|is|will)\s+it\s+be\s+possible\s+(?:for\s+(?:you|us|the\s+\w+|someone)\s+)?(?:to\b|that\b)"
    r"|is\s+it\s+possible\s+(?:for\s+(?:you|us|the\s+\w+|someone)\s+)?(?:to\b|that\b)"
    r"|(?:would|do)\s+you\s+(?:be\s+(?:so\s+kind\s+as\s+to|able\s+to|willing\s+to)|please)\b"
    r"|(?:i|we)\s*(?:was|were|'m|am|are)\s+(?:just\s+)?wondering\s+(?:if|whether)\s+(?=(?:you|we|someone|it|the|\w+\s+could)\b)"
    rf"|(?:it|that|{_ANYONE})\s*(?:would|'d|will)\s+(?:all\s+)?(?:be\s+(?:(?:very|most|really|extremely|so)\s+)?"
    r"(?:grateful|glad|happy|pleased|delighted|thankful|great|nice|good|lovely|helpful|useful|ideal|appreciated)\s+(?:if|to\s+(?:have|see|get))\b"
    r"|(?:(?:really|very\s+much|greatly)\s+)?appreciate\s+it\s+if\b)"
    rf"|{_ANYONE}(?:requires?|requests?|asks?|asked|demands?|insists?|wants?|expects?|suggests?|proposes?|decided|agreed)\s+that\b"
    rf"|{_ANYONE}(?:requires?|requests?|asks?|asked|needs?|wants?|expects?|obliges?)\s+(?:you|us|it|them)\s+to\b"
    rf"|(?:we|i|you|{_ANYONE})\s*(?:were|are|was|have\s+been|has\s+been|'ve\s+been)\s+(?:asked|required|requested|obliged|told|instructed)"
    rf"\s+(?:by\s+{_ANYONE})?to\b|as\s+(?:discussed|agreed|requested|required|mentioned)(?:\s+(?:in|on|with|by|at)\s+[^,\d]{{1,30}})?,"
    r"|(?:what|all)\s+(?:we|i)\s+need\s+is\s+(?:for\b)?|the\s+(?:idea|plan|goal|aim|intention)\s+is\s+to\b)"
    r"\s*(?:please\s+)?(?:(?:we|you)\s+(?!(?:to|have|had|do|did|will|must|shall|should|could|can|would|need|want)\b))?",
    _FLAGS,
)
"""Who asks, and how politely: 'would it be possible to', 'the regulator requires that', 'we would be grateful if'."""
WERE = re.compile(r"\bw(?:as|ere)\b", _FLAGS)
MOVES = re.compile(
    r"(?:更新|刷新|搬|推|传|写|落|灌|存|装载|加载|载)(?=[到至入进])|(?:更新|刷新|装载|加载)(?=[^,]{1,16}[到至入进])|\b(?:push|transfer|refresh|write|update|store|save)(?:e?s|e?d|ing)?\b(?=.*\b(?:in)?to\b)",
    _FLAGS,
)
"""Words that move data where it is said whereto, and may mean anything else where it is not."""
ARROW = re.compile(r"\s*(?:-{1,2}>|=>|→|⇒|➜|⟶)\s*")
"""Between data and where they go, in tables and notes."""
BULLET = re.compile(
    r"^\s*(?:[-*•·●]\s+(?![\d*/,-]+\s+[\d*])|\(?\d{1,2}[.)、](?=\s|[^\d\s])\s*|\(\d{1,2}\)\s*"
    r"|\([一二三四五六七八九十]{1,3}\)\s*|[一二三四五六七八九十]{1,3}、\s*|\[[ xX]\]\s*)+"
)
"""What a list puts before its items."""
LABELLED = re.compile(
    r"^\|?\s*(?:[A-Z]{2,6}[-_ ]?\d{1,5}|\d{1,3})\s*[:|]\s*(?=\D)"
    r"|^\s*(?:[A-Za-z-]+\s+){0,3}?(?i:step|item|task|requirement|req|job|story|ticket|point|rule|section|no\.?)\s*#?\d{1,4}(?:\.\d{1,3})*\s*[:.)-]\s*(?=[^\d\s])"
    r"|^\s*(?:步骤|任务|需求|条目|事项|要求|工单|第)\s*[\d一二三四五六七八九十]{1,4}\s*[步条项点]?\s*[:、.]\s*(?=\D)"
)
"""The number of a requirement or of a table's row: 'REQ-014:', 'step 4:', '需求3：', '| 7 |'."""
ONCE = re.compile("[一1][回趟](?![事来收])")
STORE_WORDS = frozenset({"入湖", "入仓"})
STORE = re.compile(r"[入落进上](?P<store>湖|仓(?!库|位|储))(?P<rest>[^,;。|]*)")
"""订单入湖, 入湖订单: moving data and whereto in one word."""
REASON = re.compile(
    r"\s*(?:为了|为(?=[^,]{1,16}(?:需要|起见|目的|要求|规定)|满足|便于|配合|支持|支撑|应对|防止|避免|提高|提升|降低|减少|加快|确保|保证|保障|方便|实现|落实|响应|做好)|因为?|由于|鉴于|考虑到|出于|(?:根据|按照?|依据|应)(?=[^,]{1,20}(?:需求|要求|规定|规范|制度|安排|计划|约定)))[^,]{2,40},\s*"
    r"|\s*(?:as|since|because|given(?:\s+that)?|(?:in\s+order\s+)?to\s+(?:be\s+able\s+to\s+)?(?=[a-z]+\s)"
    r"|due\s+to|so\s+that|per\s+(?:our|the)\b|for\s+(?=(?:[\w-]+\s+){0,3}(?:purposes?|reasons?|reporting|analysis|analytics|compliance|planning)\s*,))"
    r"[^,\d]{2,80},\s*",
    _FLAGS,
)
"""A leading clause that says why."""

SEPARATOR = re.compile(
    r"\s*(?:[,;、]|并且|并|然后|接着|同时|再|以及|和|\band\s+then\b|\band\s+also\b|\bthen\b|\band\b|&)\s*", _FLAGS
)
"""Between two actions of one statement."""
POLITE_QUESTION = re.compile(
    r"^\s*(?:could|can|might)\s+[^,?]{2,50}?\s+(?:be|get)\s+\w+(?:ed|sent)\b|^\s*(?:please\s+|hi,?\s+)?(?:(?:could|can|would|will)\s+(?:you|someone|somebody|anyone|anybody)\b|(?:could|can|may)\s+(?:we|i)\s+(?:have|get)\b)|能否|能不能|可否|可以.*吗|好吗|行吗",
    _FLAGS,
)
POLITE_END = re.compile(
    r"(?>[,\s]*(?>thank\s+you|thanks|thx|please|pls|谢谢|多谢|辛苦了|好吗|行吗|可以吗|[吗吧哦啊哈!?~.]))++$", _FLAGS
)
DESCRIBES = re.compile(r"\b(?:(?:is|are)\b(?!\s+(?:to\b|\w+ed\b))|was|were|had|has\s+been|have\s+been)\b", _FLAGS)
"""A sentence about how things are or were."""
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
NO_NAME = re.compile(
    r"或|还是|已经|已?(?:取消|暂停|停止|停用|下线|失败|成功)|尚未|从未|曾|正在|[了吗呢太很]|是(?!否)"
    r"|\b(?:or|nor|either|is|are|was|were|be|been|has|had|does|did|will|would|fail(?:s|ed|ing)?|br(?:eaks?|oken?)|stop(?:s|ped)?|cancel\w*|paus\w*"
    r"|work(?:s|ed)|crash\w*|too|very|because|than|without|who|what|why|how)\b",
    _FLAGS,
)
"""Words that are no part of what something is called: a phrase with one of them says something else."""
TAKEN_BACK = re.compile(
    r"取消|暂停|暂缓|停止|停一停|停用|终止|作废|撤销|先不|\b(?:cancel\w*|abort\w*|suspend\w*|paus\w+|halt\w*|stop\w*|scrapped|obsolete)\b",
    _FLAGS,
)
"""The task is named, and called off."""
DENIED_ZH = re.compile(r"(?<![能可是])[不否]|[勿未没无停免]|(?<![分级特区类性个识])别(?!名)")
"""Before a Chinese action, outside of the data's name: the task is not wanted."""
DENIED_EN = re.compile(
    r"n't\b|\b(?:not|no|never|rarely|seldom|hardly|scarcely|without|cannot|neither|nor|refus\w+|oppos\w+)\b", _FLAGS
)
"""Before an English action: the task is not wanted."""
CALENDAR = re.compile(
    r"\b(?:days?|daytime|nighttime|weeks?|months?|quarters?|years?|seasons?|summer|winter|spring|autumn|h[12]|q[1-4]|peak"
    r"|(?:in|on|at|during|per|each|every|by|after|before)\s+(?:(?:the|each|every|a)\s+)?(?:[a-z]+\s+)?shifts?"
    r"|christmas|easter|ramadan|(?:jan|febr)uary|march|april|june|july|august|(?:septem|octo|novem|decem)ber|now)\b"
    r"|\b\d{1,4}(?:[/.]\d{1,2})+\b|\b\d{1,2}(?:st|nd|rd|th)\b",
    _FLAGS,
)
"""Words of the calendar that were not read as times, behind a preposition: they may bound the task."""
REMARK = re.compile(
    r"(?:如?失败|出错|重试|确保|保证|避免|方便|便于|用于|以便|以供|供|谢谢|辛苦).*|(?:请)?(?:自动|准时|定时)?(?:执行|运行|触发|进行|完成|启动|跑|做)(?:[一1][次遍回趟])?(?:即可|就行|就好|就可以)?"
    r"|(?:to\s+be\s+)?(?:runs?|run|executed?|scheduled|performed|automatically)(?:\s+automatically)?"
    r"|(?:with\s+retries|retry|retries|on\s+failure|to\s+ensure|ensuring|thanks?)\b.*",
    _FLAGS,
)
"""Remarks that change neither what is done nor when."""
ASPECT = re.compile(
    r"的?(?:完整性|准确性|一致性|唯一性|及时性|有效性|合法性|正确性|数据质量|质量)"
    r"|\b(?:the\s+)?(?:data\s+)?(?:completeness|accuracy|consistency|quality|integrity|uniqueness|correctness|validity)\s+of\b"
    r"|(?<=\w)\s+(?:completeness|accuracy|consistency|quality|integrity|uniqueness|correctness|validity)\b",
    _FLAGS,
)
"""What of the data is validated: it changes nothing about which data that is."""
LIMITS = re.compile(
    r"至少|最多|不超过|以内|或|之前|之后|\b(?:before|after|until|till)\b"
    r"|\b(?:(?:where|if|when|as\s+soon\s+as)\s+possible|in\s+case|by\s+hand|provided|providing|as\s+long\s+as|depending|subject\s+to)\b"
    r"|\b(?:at\s+(?:least|most|the\s+latest|the\s+earliest)|least|most|latest|earliest|only|or|up\s+to)\b"
    r"|\bfor\s+(?:\w+\s+)?(?:\d+|an?|one|two|three|four|five|six|seven|ten|twelve|several|some)\s+(?:hours?|days?|weeks?|months?|years?|quarters?|times)\b",
    _FLAGS,
)
"""What bounds a time or leaves a choice: no schedule says it."""
RUNS = re.compile(
    r"(?:(?:job|task)\s*)?(?:must|should|will|shall|is\s+to|needs\s+to)?\s*(?:be\s+)?(?:is\s+)?(?:runs?|happens?|starts?|takes?\s+place|executed?|scheduled|performed)"
    r"|job|task|(?:任务|作业|操作|工作)\s*(?:需要?|应)?(?:执行|运行|启动|触发|进行)?(?:[一1]次)?|(?:需要?|应)?(?:执行|运行|启动|触发|进行)(?:[一1]次)?",
    _FLAGS,
)
"""What may follow an action that is a noun: 'the orders sync runs'."""
