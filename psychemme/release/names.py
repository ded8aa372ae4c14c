"""What capabilities and subcategories are called, by a release's profile."""

from dataclasses import dataclass

from psychemme.vocabulary import Capability
from psychology_kb.load import CapabilityCard, load_profile, profiles


@dataclass(frozen=True)
class Names:
    """The names of one profile; codes stand in for those of a profile that is not at hand."""

    profile: str

    def capability(self, code: Capability) -> str:
        """Return the name of a capability."""
        card = self._card(code)
        return card.name if card else code.name.capitalize()

    def subcategory(self, capability: Capability, code: str) -> str:
        """Return the name of a subcategory of `capability`."""
        card = self._card(capability)
        known = {one.id: one.name for one in card.subcategories} if card else {}
        return known.get(code, code.replace("_", " "))

    def _card(self, code: Capability) -> CapabilityCard | None:
        if self.profile not in profiles():
            return None
        cards = load_profile(self.profile).capabilities
        return next((card for card in cards if card.code == code), None)
