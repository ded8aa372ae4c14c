"use strict";
(() => {
  const { runs, items } = JSON.parse(document.getElementById("data").textContent);

  const make = (tag, className, ...children) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children.filter((child) => child !== null).map((child) => (child instanceof Node ? child : String(child))));
    return element;
  };

  // Sorting: what is missing stays last in either direction.
  const sortBy = (table, header) => {
    const column = [...header.parentElement.children].indexOf(header);
    const isNumber = header.classList.contains("number");
    const first = isNumber ? "descending" : "ascending";
    const other = isNumber ? "ascending" : "descending";
    const direction = header.getAttribute("aria-sort") === first ? other : first;
    for (const one of header.parentElement.children) one.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", direction);
    const sign = direction === "ascending" ? 1 : -1;
    const valueOf = (row) => row.children[column].dataset.value ?? "";
    const compare = (one, two) => {
      const [a, b] = [valueOf(one), valueOf(two)];
      if (a === "" || b === "") return (a === "") - (b === "");
      return sign * (isNumber ? Number(a) - Number(b) : a.localeCompare(b, "en"));
    };
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort(compare));
  };
  for (const table of document.querySelectorAll(".sortable")) {
    for (const button of table.querySelectorAll("thead button")) {
      button.addEventListener("click", () => sortBy(table, button.closest("th")));
    }
  }

  for (const section of document.querySelectorAll(".views")) {
    const choice = section.querySelector(".choice select");
    if (!choice) continue;
    const show = () => {
      for (const view of section.querySelectorAll("[data-view]")) view.hidden = view.dataset.view !== choice.value;
    };
    choice.addEventListener("change", show);
    show();
  }

  const shownAnswer = (answer) => (Array.isArray(answer) ? answer.join(", ") : answer);
  const fact = (name, value) => [make("dt", "", name), make("dd", "", value)];
  const facts = (pairs) => make("dl", "facts", ...pairs.filter(([, value]) => value !== null && value !== "").flatMap(([name, value]) => fact(name, value)));
  const folded = (title, text) => make("details", "", make("summary", "", title), make("pre", "", text));
  const words = (code) => code.replaceAll("_", " ");

  const optionList = (item) => {
    const right = item.reference ? [item.reference.answer].flat() : [];
    return make("ul", "options", ...item.options.map(([id, text]) =>
      make("li", right.includes(id) ? "right" : "", make("b", "code", id), make("span", "", text), right.includes(id) ? make("span", "mark", "reference") : null)));
  };

  const referencePart = ({ answer, cues, key_points: points }) =>
    facts([
      ["Reference", shownAnswer(answer)],
      ...points.map((point) => [point.required ? "Required point" : "Optional point", point.text]),
      ...cues.map((cue) => [`Cue, ${cue.modality}`, `${cue.start.toFixed(1)}–${cue.end.toFixed(1)} s: ${cue.description}`]),
    ]);

  const creditChips = ({ a, c, v }) => [
    make("span", `chip ${a === 1 ? "full" : a ? "half" : a === null ? "" : "bad"}`, `answer credit ${a ?? "unknown"}`),
    make("span", "chip", `explained ${c === null ? "unknown" : c ? "yes" : "no"}`),
    make("span", "chip", `Verified ${v === null ? "unknown" : v.toFixed(2)}`),
  ];

  const judgementPart = (judgement) =>
    facts([
      ["Evidence Support", `${words(judgement.evidence_support)}: ${judgement.evidence_reason}`],
      ["Logical Integrity", `${words(judgement.logical_integrity)}: ${judgement.logic_reason}`],
    ]);

  const responsePart = (response) =>
    make(
      "section",
      "response",
      make("h3", "", make("bdi", "", runs[response.run]),
        make("span", `chip ${response.outcome === "ok" ? "ok" : "bad"}`, words(response.outcome) + (response.reason ? `: ${words(response.reason)}` : "")),
        ...(response.credit ? creditChips(response.credit) : []),
        ...(response.flags ?? []).map((flag) => make("span", "chip half", `judgement against its own words: ${words(flag)}`))),
      facts([["Answer", response.answer === null ? "none" : shownAnswer(response.answer)], ["Read from", response.extractor === "fallback" ? "text, by the fallback extractor" : response.extractor]]),
      response.judgement ? judgementPart(response.judgement) : null,
      response.raw === null ? null : folded("Raw reply", response.raw),
      response.sent === null ? null : folded("What was sent", JSON.stringify(response.sent, null, 1)),
    );

  const fill = (details) => {
    const body = details.querySelector(".body");
    if (body.childElementCount) return;
    const item = items[Number(details.dataset.index)];
    const { window: at } = item;
    body.append(
      item.options.length ? optionList(item) : "",
      item.reference ? referencePart(item.reference) : "",
      facts([
        ["Window", `${at.start.toFixed(1)}–${at.end.toFixed(1)} s of ${at.clip}`],
        ["Source", `${at.source}, episode ${at.episode}`],
        ["Clip SHA-256", at.sha256],
        ["Decision time", item.decision_time === null ? null : `${item.decision_time.toFixed(1)} s from the episode's start`],
        ["Context", item.context],
        ...item.history.map(([before, text]) => [before === null ? "History" : `History, ${before} s before`, text]),
      ]),
      ...item.responses.map(responsePart),
    );
  };
  const all = [...document.querySelectorAll(".item")];
  for (const details of all) details.addEventListener("toggle", () => details.open && fill(details));

  const form = document.querySelector(".filters");
  const hasFailed = items.map((item) => item.responses.some((response) => response.outcome !== "ok"));
  const texts = all.map((details) => details.querySelector("summary").textContent.toLowerCase());
  const filter = () => {
    const wanted = Object.fromEntries(new FormData(form));
    const sought = wanted.text.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    all.forEach((details, index) => {
      const fits =
        ["capability", "format"].every((name) => !wanted[name] || wanted[name] === details.dataset[name]) &&
        (!wanted.state || hasFailed[index]) &&
        sought.every((word) => texts[index].includes(word));
      details.hidden = !fits;
      count += fits;
    });
    form.querySelector(".shown").textContent = `${count} of ${all.length}`;
    document.querySelector("#items .nothing").hidden = count > 0;
  };
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
})();
