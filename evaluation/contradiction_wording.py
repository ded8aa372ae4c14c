"""The wording that `evaluation.contradictions` knows, English and Chinese, in lower case.

A statement is a template whose slots stand for the alternatives of `_SLOTS`; a guard is a list of
words of which none may occur beside a statement.
"""

import re


def _any(*alternatives: str) -> str:
    return f"(?:{'|'.join(alternatives)})"


_SLOTS = {
    # A whole explanation: one claim of several is a part of it.
    "claims": r"(?:(?:the|its|their|these|those|all|both|of|given|model's) )*"
    r"(?:claims|rationales?|explanations?|inferences|reasoning)",
    "claim": r"(?:claim|inference|rationale|explanation)",
    "cues": r"(?:the )?(?:(?:reference|cited|given) )?(?:cues?|evidence|transcript)",
    "very": r"(?:(?:very|well|fully|entirely|completely|wholly|totally|directly|clearly|strongly"
    r"|firmly|flatly|plainly|simply|mutually|internally|all) )*",
    "fully": r"(?:well|fully|entirely|completely|wholly|directly|clearly|strongly|firmly)",
    "no": r"no (?:(?:direct|clear|real|actual|such) )?",
    "is": r"(?:is|are|was|were)",
    "support": r"(?:supports?|bears? out|backs?|confirms?)",
    "supported": r"(?:supported|grounded|borne out|backed)",
    "conflict": r"(?:contradicts?|conflicts? with|refutes?|disproves?)",
    "other": r"(?:each other|itself|themselves)",
    "answer": r"(?:its answer|the (?:given |final |chosen |model's )?answer(?: given)?)",
    "lead": r"(?:supports?|leads? (?:directly )?to|justif(?:y|ies))",
    "coherent": r"(?:coherent|consistent|logical|sound)",
    "论断": r"(?:理由|解释|论断|主张|推断|推理|论点)",
    "线索": r"(?:参考)?(?:线索|证据)",
    "全部": r"(?:所有|全部|这些|该|其|模型)*的?",
    "完全": r"(?:完全|充分|全面|有力|强有力)(?:的|地)?",
    "都": r"(?:都|均|完全|明显|直接|全部)*",
    "无": r"(?:没有|缺乏|毫无|得不到|未得到|没有得到)(?:任何)?",
    "矛盾": r"(?:相)?(?:矛盾|冲突|相悖|不符)",
    "与": r"(?:与|和|跟)",
    "答案": r"(?:最终|所给|所选|给出)?的?答案",
}
_END = (
    rf"(?: (?:by|in|against|with) {_SLOTS['cues']}(?: \d+)?(?: at [\d.:]+ ?s)?)?(?: at all)?"
    r"(?=[.;!]| and\b|$)"
)
_END_ZH = r"(?=[。.;,!]|$)"
_SLOT = re.compile(r"\{(\S+?)\}")


def _statements(*templates: str) -> re.Pattern[str]:
    """Return what finds one of the templates where it ends a clause, and so leaves nothing open."""
    filled = (_SLOT.sub(lambda slot: _SLOTS[slot[1]], template) for template in templates)
    return re.compile(
        _any(*(rf"\b(?:{one}){_END}" if one.isascii() else one + _END_ZH for one in filled))
    )


def _guard(english: str, chinese: str) -> re.Pattern[str]:
    """Return what finds one of the words; a star stands for any ending."""
    words = (re.escape(word).replace(r"\*", r"[\w']*") for word in english.split())
    return re.compile(_any(rf"(?<![\w']){_any(*words)}(?![\w'])", *chinese.split()))


UNSUPPORTED = _statements(
    "nothing (?:in {claims} )?(?:{is}|can be) (?:{supported}|checked|verified)",
    "(?:none of {claims}|no {claim}) {is} {supported}",
    "there(?:'s| {is}) {no}(?:evidence|support|basis) (?:at all )?(?:for|to support) {claims}",
    "(?:{no}|none of the )(?:evidence|cues?) {support} {claims}",
    "{claims} {is} {very}(?:unsupported|ungrounded|without (?:any )?(?:evidence|support))",
    "{claims} (?:has|have|finds?) no (?:evidence|support|basis)",
    "{claims} lacks? all (?:evidence|support)",
    "{cues} (?:do|does) not {support} (?:any of )?{claims}",
    "{论断}{都}{无}{线索}?的?(?:支持|支撑|依据)",
    "{无}{线索}(?:能够|能|可以)?(?:支持|支撑|佐证|证明){全部}{论断}",
    "{线索}{都}(?:不能|不|没有|并不|无法)(?:支持|支撑|佐证){全部}{论断}",
)
"""That nothing in the explanation has evidence."""

CONFLICTING = _statements(
    "{cues} {very}{conflict} {claims}",
    "{claims} {is} {very}(?:contradicted|refuted|disproved) by {cues}",
    "{claims} {very}{conflict} {cues}",
    "{论断}{都}{与}{线索}{都}{矛盾}",
    "{线索}{都}{与}{全部}{论断}{都}{矛盾}",
)
"""That the cues conflict with the explanation."""

SUPPORTED = _statements(
    "{claims} {is} (?:all )?{fully} {supported}",
    "(?:all {claims}|(?:every|each) {claim}) {is} {supported}",
    "the {claim} is {fully} {supported}",
    "{cues} {fully} {support} (?:{claims}|the {claim})",
    "{论断}{都}(?:得到|受到|获得|有)了?{线索}?的?{完全}支持",
    "{线索}{都}{完全}支持了?{全部}{论断}",
)
"""That the cues fully support the explanation."""

INCOHERENT = _statements(
    "{claims} {very}(?:contradicts?|conflicts? with) (?:{other}|{answer})",
    "{claims} {is} {very}(?:self-contradictory|contradictory|inconsistent|incoherent)",
    "there {is} {no}reasoning (?:at all )?(?:to|that could be) (?:assess|evaluate)d?",
    "{claims} (?:do|does) not {lead} {answer}",
    "{论断}(?:之间)?(?:自相|相互|互相|前后|彼此)(?:矛盾|冲突)",
    "{论断}{都}{与}{答案}{都}{矛盾}",
    "没有(?:任何)?可以?(?:评估|评价)的推理",
)
"""That the rationales conflict with each other or the answer, or hold no reasoning."""

COHERENT = _statements(
    "{claims} {is} {very}{coherent} and {very}{lead} {answer}",
    "{claims} {fully} {lead} {answer}",
    "{论断}{都}(?:逻辑|前后)?(?:连贯|一致|自洽)[,并且而]*(?:支持|得出|导向)了?{答案}",
)
"""That the rationales are coherent and lead to the answer given."""

QUOTED = re.compile(
    _any(r'"[^"]*"', "“[^”]*”", "「[^」]*」", "《[^》]*》", r"(?<!\w)'[^']*'(?!\w)")
)
TURN = re.compile(r"\b(?:but|however|yet|nevertheless|nonetheless)\b|但是?|然而|不过|可是")
SUPPOSED = _guard(
    "although though while whereas if unless would could should might may even",
    "虽然 尽管 即使 如果 假如 若 或许 可能 除非",
)
_FAULT = r"(?:contradict|conflict|inconsisten|incoheren|unsupported|ungrounded|refut)\w*"
DENIED_FAULT = re.compile(
    _any(
        r"\bnot (?:at all )?(?:without|lacking|devoid of) (?:\w+ ){0,2}"
        r"(?:evidence|support|basis)\b",
        rf"\b(?:no|not|nor|without|never|nothing|none|neither|cannot|free of|\w+n't)\b"
        rf"[^.;:,]{{0,60}}?{_FAULT}",
        "(?:没有|并无|毫无|未见|不存在|不含|无|未|不|没)[^。;,、]{0,8}?(?:矛盾|冲突|相悖|不一致|不符)",
        "(?:并非|不是|绝非)(?:完全|毫)?(?:没有|缺乏|无)(?:任何)?(?:证据|依据|线索|支持)",
    )
)
"""Double negatives, and faults that are said not to be there."""

PARTIAL = _guard(
    "minor small slight* some few part parts partly partial* half several first second third last "
    "one others most mostly mainly largely only except apart aside besides detail* "
    "somewhat almost nearly less more always option options distractor* alternative* reject* "
    "correctly rightly accurately deny denies denied wrong says states notes observes admits "
    "acknowledges mentions reports asks whether",
    "部分 有些 一些 个别 某 轻微 稍 略 多数 主要 仅 只 除 其中 第 另 细节 不完全 并不都 "
    "选项 参考答案 正确 干扰项 指出 提到 是否 错误",
)
"""That only a part is meant, or something else than the explanation."""

FAVOURABLE = _guard(
    "well fully strongly adequately sufficiently coherent consistent follows plausible compatible "
    "agree agrees",
    "充分 有力 一致 连贯 合理 自洽 吻合",
)
UNFAVOURABLE = _guard(
    "no not nor never nothing none neither cannot without hardly barely fail* lack* missing absent "
    "insufficient* weak* vague* generic unsupported ungrounded unclear unrelated incorrect* "
    "contradict* conflict* inconsisten* incoheren* irrelevant rather far too opposite contrary "
    "reverse differ* mismatch* overstat* otherwise instead chose picked selected don't doesn't "
    "isn't aren't can't",
    "不 没 无 未 缺 矛盾 冲突 相悖 并非 绝非 弱 模糊 笼统 错 相反",
)
