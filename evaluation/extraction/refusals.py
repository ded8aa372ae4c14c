"""Whether a model declines: it says, at the start of a sentence and of itself, that it will not.

What it declines is the task: to answer the question, to help with the request. Doubt is no refusal
(`I cannot tell from the frames`), nor is one that someone in the clip utters, or that is about
someone there (`I will not answer her`).
"""

import re

_ENDS = r"(?=\s{0,3}(?:[.!;,。！\n]|\Z))"
_STOPS = r"(?=\s{0,3}(?:[.!;。！\n]|\Z))"
_SORRY = (
    r"(?:(?:i'm|i am)\s(?:very\s|so\s|really\s)?(?:sorry|afraid)|(?:very\s|so\s)?sorry"
    r"|unfortunately|regrettably|i apologi[sz]e|my apologies|apologies|no"
    r"|as an? (?:ai|(?:large )?language model)(?:\s\w{1,20}){0,3})"
    r"[,.;:!]?(?:\s(?:but|that|and|as)\b)?[,\s]{0,3}"
)
_UNABLE = r"(?:un|not )able to|not (?:allowed|permitted|willing|going) to"
_UNWILLING = (
    r"i\s?(?:can't|cannot|can not|won't|will not"
    rf"|(?:'m|am)\s(?:{_UNABLE}|(?:not|un) ?comfortable(?: with)?)"
    r"|(?:'d|would|'ll|will)\s(?:rather|prefer) (?:not|not to)|(?:prefer|choose) not to"
    r"|(?:don't|do not) (?:want|wish|feel comfortable)(?: to)?"
    r"|(?:(?:'d|'ll|would|will)\s)?(?:must|have to|need to)\s(?:decline|refuse)(?: to)?"
    r"|decline|refuse|must refuse)"
)
_DEMAND = r"(?:questions?|requests?|prompts?|quer(?:y|ies)|tasks?)"
_TASK = (
    r"(?:(?:help|assist|comply|fulfill?|engage|participate|discuss|analy[sz]e|process|respond"
    r"|proceed)(?!\w|\s(?:him|her|them|us|myself|but|feeling)\b)"
    r"|(?:help|assist|comply|fulfill|respond|proceed|engag|participat|discuss|analy[sz]|process)ing"
    r"|do(?:ing)? (?:this|that)|continue (?:with|this)|complet(?:e|ing) (?:this|that|the|your)"
    r"|(?<!the\s)(?<!an\s)(?<!any\s)answer(?:ing)?"
    rf"(?:{_STOPS}|\s(?:this|that|it)(?:{_ENDS}|\s(?:because|since|as|for|in)\b)"
    rf"|\s(?:this|that|the|your|such|any|these|those)\s(?:\w{{1,15}}\s){{0,2}}{_DEMAND})"
    r"|(?:provid|giv|offer|produc|return)(?:e|ing)? (?:(?:you|an|any|the|with|a) ){0,2}"
    r"(?:answer|answers|response|assistance|help))"
)
_RULES = (
    r"(?:my|our|openai's|anthropic's|google's)\s(?:\w{1,15}\s){0,2}"
    r"(?:guidelines|polic(?:y|ies)|rules|principles|programming)"
    r"|(?:content|usage|safety|use) polic(?:y|ies)"
)
_AGAINST = (
    rf"(?:(?:this|that|the|your) (?:{_DEMAND}|content|video|topic)|it|this|that"
    r"|answering(?: this| that| it)?)\s"
    r"(?:would\s|may\s|might\s|could\s)?"
    r"(?:violates?|breach(?:es)?|go(?:es)? against|(?:is|be) against|conflicts? with)\s"
    rf"(?:\w{{1,15}}\s){{0,1}}(?:{_RULES})"
)
_START = r"(?:\A|[\n.!?。！;]\s{0,3}|\A\W{1,8})"
_REFUSAL = re.compile(
    rf"{_START}(?:{_SORRY}){{0,2}}"
    rf"(?:{_UNWILLING}\s(?:\w{{1,12}}\s){{0,2}}?{_TASK}"
    r"|i(?:'d|'ll|\swould|\swill)?\s(?:must |have to |need to )?(?:\w{1,12}ly\s)?"
    r"(?:decline|refuse)\b"
    rf"|i(?:'d|\swould) (?:rather|prefer) not(?: to)?{_STOPS}"
    rf"|(?:unable to|cannot|can't)\s(?:help|assist|comply|answer)"
    rf"(?:{_STOPS}|\s(?:with )?(?:this|that|your)(?:{_ENDS}|\s{_DEMAND}))"
    rf"|{_AGAINST})"
    rf"|\A\W{{0,8}}(?:i'm |i am )?(?:very |so )?sorry,?\s(?:but )?(?:no|i (?:can't|cannot|won't))"
    rf"{_STOPS}",
    re.IGNORECASE,
)
_REFUSAL_ZH = re.compile(
    r"(?:\A|[\n。！？!?；;]|\A\W{1,8})\s{0,3}(?:(?:您好|你好)[,，。!！\s]{0,3})?"
    r"(?:(?:很|非常|十分|实在|真的|真)?(?:抱歉|对不起|遗憾)[,，。\s]{0,3})?"
    r"(?:作为一?[个名]?(?:AI|人工智能|大?语言模型)(?:助手|模型|语言模型)?[,，。\s]{0,3})?"
    r"(?:但|恕)?我?"
    r"(?:(?:无法|不能|拒绝|不会|不便|不方便|不愿意?|不想|难以)(?:为您|为你|向您|继续|对此)?"
    r"(?:帮助|协助|回答|提供(?:帮助|协助|答案|回答|服务)|处理|满足|完成|分析)(?![他她它])"
    r"|恕?难从命|(?:这个|该|此|您的|你的)(?:请求|问题|要求|内容)违反了?(?:我的?|我们的?|使用|内容|安全))",
    re.IGNORECASE,
)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "\u00a0": " ", "\t": " ", "\r": " "})


def refuses(text: str) -> bool:
    """Return whether the model declines the task anywhere in `text`."""
    text = text.translate(_QUOTES)
    return bool(_REFUSAL.search(text) or _REFUSAL_ZH.search(text))


def is_refusal(answer: str) -> bool:
    """Return whether an open answer is itself a refusal: one that begins so."""
    answer = answer.strip().translate(_QUOTES)
    return bool(_REFUSAL.match(answer) or _REFUSAL_ZH.match(answer))
