// A word about the last act, carried over to the next page.
import { at, by, facts } from "./page.js";

const NAME = "psychemme:flash";
const PAST = { answer: "committed", verdict: "saved", skip: "noted", withdrawal: "noted" };

export const leave = (act, data) => {
  const text = `Your ${act.what} on item ${act.number} was ${PAST[act.what]} at ${at(data.committed_at)}.`;
  const back = `/items/${act.place.split("/").map(encodeURIComponent).join("/")}`;
  try {
    sessionStorage.setItem(NAME, JSON.stringify({ text, back, place: act.place, number: act.number }));
  } catch {
    // Only a courtesy.
  }
};

export const find = () => {
  let left = null;
  try {
    left = JSON.parse(sessionStorage.getItem(NAME));
    sessionStorage.removeItem(NAME);
  } catch {
    return;
  }
  const box = by("flash");
  if (!left || !box) return;
  box.hidden = false;
  box.textContent = left.text;
  if (left.place === facts.place) return by("now")?.focus();
  box.append(" ", Object.assign(document.createElement("a"), { href: left.back, textContent: `Back to item ${left.number}` }));
};
