// Step two: three verdicts on the item, with reasons and a comment.
import { countdown } from "./first.js";
import { by, facts, say } from "./page.js";

const named = (id) => id.replaceAll("_", " ");

export class SecondStep {
  constructor(draft, { changed, save, isWatched }) {
    this.isWatched = isWatched;
    this.form = by("second");
    this.comment = by("comment");
    this.groups = [...this.form.querySelectorAll(".verdict")];
    const stands = facts.vote && draft.revision !== facts.vote.revision;
    if (stands || draft.verdicts) this.fill(stands ? facts.vote : draft);
    countdown(this.comment, by("comment-count"));
    this.form.addEventListener("input", () => {
      this.show();
      changed();
    });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.missing().length) this.firstGap().focus();
      else save(this.ballot());
    });
    this.show();
  }

  fill({ verdicts = {}, reasons = {}, comment = "" }) {
    for (const group of this.groups) {
      const id = group.dataset.verdict;
      for (const input of group.querySelectorAll("input")) {
        input.checked = input.type === "radio" ? verdicts[id] === input.value : (reasons[id] ?? []).includes(input.value);
      }
    }
    this.comment.value = comment;
  }

  verdictOf(group) {
    return group.querySelector("input[type=radio]:checked")?.value;
  }

  reasonsOf(group) {
    if (this.verdictOf(group) !== "reject") return [];
    return [...group.querySelectorAll("input[type=checkbox]:checked")].map((input) => input.value);
  }

  ballot() {
    const verdicts = {};
    const reasons = {};
    for (const group of this.groups) {
      const id = group.dataset.verdict;
      if (this.verdictOf(group)) verdicts[id] = this.verdictOf(group);
      if (this.reasonsOf(group).length) reasons[id] = this.reasonsOf(group);
    }
    return { verdicts, reasons, comment: this.comment.value.trim() };
  }

  read() {
    return { ...this.ballot(), comment: this.comment.value, revision: facts.vote?.revision ?? 0 };
  }

  get isUnchanged() {
    if (!facts.vote) return false;
    const sorted = ({ verdicts, reasons, comment }) => {
      const given = (id) => [id, verdicts[id], [...(reasons[id] ?? [])].sort()];
      return JSON.stringify([this.groups.map((group) => given(group.dataset.verdict)), comment]);
    };
    return sorted(this.ballot()) === sorted(facts.vote);
  }

  get needsComment() {
    const { verdicts, reasons } = this.ballot();
    const approved = this.groups.every((group) => verdicts[group.dataset.verdict] === "approve");
    if (facts.differs && approved) return "Your own answer differs from the reference: write why you approve it.";
    if (Object.values(reasons).some((ids) => ids.includes(facts.other))) return "Write in the comment what else is wrong.";
    return "";
  }

  // What the server would refuse, said before it is sent.
  missing() {
    const open = this.groups.filter((group) => !this.verdictOf(group));
    const bare = this.groups.filter((group) => this.verdictOf(group) === "reject" && !this.reasonsOf(group).length);
    const names = (groups) => groups.map((group) => named(group.dataset.verdict)).join(", ");
    return [
      !this.isWatched() && "Watch the rest of the clip.",
      open.length && `Give your verdict on ${names(open)}.`,
      bare.length && `Say why you reject ${names(bare)}.`,
      !this.comment.value.trim() && this.needsComment,
      this.isUnchanged && "Nothing has changed since you saved.",
    ].filter(Boolean);
  }

  firstGap() {
    const gap = this.groups.find((group) => !this.verdictOf(group)) ?? this.groups.find((group) => this.verdictOf(group) === "reject" && !this.reasonsOf(group).length);
    if (gap) return gap.querySelector(this.verdictOf(gap) ? "input[type=checkbox]" : "input");
    return this.needsComment && !this.comment.value.trim() ? this.comment : this.isWatched() ? by("save") : by("play");
  }

  show() {
    for (const group of this.groups) {
      const verdict = this.verdictOf(group);
      group.querySelector(".reasons").hidden = verdict !== "reject";
      group.dataset.given = verdict ?? "";
    }
    say(by("comment-need"), this.needsComment ? "needed" : "optional");
    this.comment.required = Boolean(this.needsComment);
    const save = by("save");
    if (!save) return;
    const missing = this.missing();
    save.setAttribute("aria-disabled", String(missing.length > 0));
    say(by("todo"), missing.join(" "));
  }

  enter() {
    if (this.isUnchanged && facts.ahead) location.assign(facts.ahead);
    else this.form.requestSubmit();
  }
}
