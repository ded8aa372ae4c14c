"""Whether a model declines: it says, at the start of a sentence and of itself, that it will not.

Doubt is no refusal (`I cannot tell from the frames`), nor is a refusal that someone in the clip
utters and the model quotes.
"""

import re

_SORRY = (
    r"(?:(?:i'm|i am)\s(?:very\s|so\s|really\s)?(?:sorry|afraid)|sorry|unfortunately|i apologi[sz]e"
    r"|my apologies|as an ai(?:\s\w{1,20}){0,3})[,.;:!]?(?:\s(?:but|that|and|as)\b)?[,\s]{0,3}"
)
_UNWILLING = (
    r"i\s?(?:can't|cannot|can not|won't|will not|'m unable to|am unable to|'m not able to"
    r"|am not able to|'m not comfortable|am not comfortable|must decline|have to decline"
    r"|need to decline|decline|refuse|must refuse|am not allowed to|'m not allowed to)"
)
_TASK = (
    r"(?:help|assist|comply|fulfill?|engage|participate|discuss|analy[sz]e|process|respond|proceed"
    r"|do (?:this|that)|continue (?:with|this)|complete (?:this|that|the|your)"
    r"|answer (?:this|that|the|your|such|any)"
    r"|(?:provide|give|offer|produce|return) (?:(?:you|an|any|the|with|a) ){0,2}"
    r"(?:answer|answers|response|assistance|help))"
)
_REFUSAL = re.compile(
    rf"(?:\A|[\n.!?。！;]\s{{0,3}}|\A\W{{1,8}})(?:{_SORRY})?"
    rf"(?:{_UNWILLING}\s(?:\w{{1,12}}\s){{0,2}}?{_TASK}"
    r"|i\s(?:must |have to |need to )?(?:decline|refuse)\b)",
    re.IGNORECASE,
)
_REFUSAL_ZH = re.compile(
    r"(?:抱歉|对不起|作为一?个?(?:AI|人工智能)|我)[,，。\s]{0,3}(?:但)?我?(?:无法|不能|拒绝|不会)"
    r"(?:为您|为你|向您|继续)?(?:帮助|协助|回答|提供|处理|满足|完成|分析)"
)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "\u00a0": " ", "\t": " ", "\r": " "})


def refuses(text: str) -> bool:
    """Return whether the model declines the task anywhere in `text`."""
    text = text.translate(_QUOTES)
    return bool(_REFUSAL.search(text) or _REFUSAL_ZH.search(text))


def is_refusal(answer: str) -> bool:
    """Return whether an open answer is itself a refusal: one that begins so."""
    return bool(_REFUSAL.match(answer.strip().translate(_QUOTES)) or _REFUSAL_ZH.match(answer))
