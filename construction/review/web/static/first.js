// Step one: the reviewer's own answer, committed once and for all after a second look.
import { by, facts, say } from "./page.js";

const SECOND_LOOK = 400;

export const countdown = (field, counter) => {
  const show = () => {
    const left = facts.longest - field.value.length;
    say(counter, left < 500 ? `${left} characters left` : "");
  };
  field.addEventListener("input", show);
  show();
};

export class FirstStep {
  constructor(draft, { changed, commit, watched }) {
    this.watched = watched;
    this.form = by("first");
    this.open = by("open-answer");
    this.inputs = [...this.form.querySelectorAll(".choice input")];
    this.fill(facts.answer ?? draft.answer);
    if (this.open) countdown(this.open, by("answer-count"));
    this.form.addEventListener("input", () => {
      this.close();
      changed();
      this.show();
    });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
    by("confirm-no")?.addEventListener("click", () => this.close(true));
    by("confirm-yes")?.addEventListener("click", () => commit(this.answer()));
    this.show();
  }

  fill(answer) {
    if (answer === undefined || answer === null) return;
    if (this.open) this.open.value = answer;
    else for (const input of this.inputs) input.checked = answer.includes(input.value);
  }

  answer() {
    if (this.open) return this.open.value.trim();
    const chosen = this.inputs.filter((input) => input.checked).map((input) => input.value);
    return facts.format === "single" ? (chosen[0] ?? "") : chosen;
  }

  get isReady() {
    return this.answer().length > 0;
  }

  read() {
    return { answer: this.open ? this.open.value : [this.answer()].flat().filter(Boolean) };
  }

  show() {
    by("commit")?.setAttribute("aria-disabled", String(!this.isReady));
    say(by("commit-todo"), this.isReady ? "" : this.open ? "Write an answer first." : "Choose an option first.");
  }

  // The second look follows after a moment, so that a double click or a held key cannot commit.
  ask() {
    if (!this.isReady) return (this.open ?? this.inputs[0])?.focus();
    const chosen = this.inputs.filter((input) => input.checked).map((input) => input.parentElement.querySelector(".text").textContent);
    by("confirm-answer").textContent = this.open ? this.answer() : chosen.map((text, n) => `${[this.answer()].flat()[n]} ${text}`).join("; ");
    const watched = this.watched();
    by("confirm-watched").hidden = watched >= facts.enough;
    by("confirm-watched").textContent = `You have watched ${Math.floor(100 * watched)}% of the clip.`;
    by("act").hidden = true;
    by("confirm").hidden = false;
    const yes = by("confirm-yes");
    yes.disabled = true;
    setTimeout(() => {
      yes.disabled = false;
      if (!by("confirm").hidden) yes.focus();
    }, SECOND_LOOK);
  }

  close(back = false) {
    if (!by("confirm") || by("confirm").hidden) return;
    by("confirm").hidden = true;
    by("act").hidden = false;
    if (back) by("commit").focus();
  }

  choose(index) {
    const input = this.inputs[index];
    if (!input || input.matches(":disabled")) return;
    input.click();
    input.focus();
  }

  enter() {
    if (by("confirm").hidden) this.ask();
    else by("confirm-yes").click();
  }
}
