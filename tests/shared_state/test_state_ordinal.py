"""The ordinal of a candidate: earlier picks of its kind, whatever became of them."""

import asyncio

from psychemme.vocabulary import Capability, Format
from state.stores import QuestionStore
from tests.support.states import make_state, target


def test_the_ordinal_counts_earlier_picks_of_the_same_kind(address):
    asked = [
        target("c0", pick=0),
        target("c1", Capability.NEED, pick=1),
        target("c2", form=Format.OPEN, pick=2),
        target("c3", pick=3),
        target("c4", pick=4).model_copy(update={"batch": 1}),
    ]
    make_state(address, *asked)
    with QuestionStore(address) as store:
        briefs = [asyncio.run(store.brief(one.key, 0)) for one in asked]
    assert [brief.ordinal for brief in briefs] == [0, 0, 0, 1, 2]
