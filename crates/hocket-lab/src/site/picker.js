"use strict";
// Shows two records beside each other. It divides, and never judges: verdicts come with the page.
(() => {
  const { records, pairs } = JSON.parse(document.getElementById("data").textContent);
  const [form, first, second] = [".pick", "#first", "#second"].map((name) => document.querySelector(name));
  const [said, figures] = ["said", "figures"].map((id) => document.getElementById(id));
  if (!form) return;

  const element = (name, text, more = {}) => {
    const it = document.createElement(name);
    if (text !== undefined) it.textContent = text;
    for (const [key, value] of Object.entries(more)) it.setAttribute(key, value);
    return it;
  };
  const link = (record) => element("a", record.name, { href: record.page });

  for (const select of [first, second]) {
    records.forEach((record, at) => select.append(element("option", record.name, { value: at })));
  }

  // The place in the list that the address names, such as #3,0.
  const chosen = () => {
    const words = location.hash.slice(1).split(",").map(Number);
    const fits = words.length === 2 && words.every((at) => Number.isInteger(at) && at >= 0 && at < records.length);
    return fits ? words : null;
  };

  // The latest two that were judged, else the two latest that have a figure in common, else the two latest.
  const usual = () => {
    const [judged] = pairs.filter((pair) => pair.verdicts).sort((one, other) => one.now - other.now);
    if (judged) return [judged.before, judged.now];
    for (let now = 0; now < records.length; now++) {
      const names = new Set(records[now].figures.map((figure) => figure[0]));
      for (let before = now + 1; before < records.length; before++) {
        if (records[before].figures.some((figure) => names.has(figure[0]))) return [before, now];
      }
    }
    return [1, 0];
  };

  const verdictOf = (a, b) => pairs.find((pair) => pair.before === a && pair.now === b);

  const tell = (a, b, common) => {
    const [one, other] = [records[a], records[b]];
    const pair = verdictOf(a, b);
    const [head, small] = said.querySelectorAll("p");
    head.replaceChildren(link(one), " and ", link(other));
    const words = [];
    if (a === b) words.push("This is one record twice.");
    if (one.machine !== other.machine) words.push(`Two machines: ${one.machine}, and ${other.machine}.`);
    if (one.program !== other.program) words.push(`Two programs: hocket ${one.program}, and hocket ${other.program}.`);
    if (common === 0) words.push("They have no figure of the same name.");
    small.replaceChildren(words.join(" ") + " ");
    if (pair?.verdicts) {
      small.append("The verdicts are those of ", element("a", "what changed", { href: pair.page }), ".");
    } else if (pair) {
      small.append(`There is no verdict: ${pair.why}.`);
    } else if (a !== b) {
      small.append("There is no verdict: Hocket judges each record against the one before it of the same session, settings and machine. A ratio alone does not show a difference.");
    }
    said.hidden = false;
  };

  const table = (a, b) => {
    const [one, other] = [records[a], records[b]];
    const verdicts = verdictOf(a, b)?.verdicts ?? {};
    const others = new Map(other.figures.map((figure) => [figure[0], figure]));
    const rows = one.figures.filter((figure) => others.has(figure[0]));
    const heads = ["figure", "first", "second", "second ÷ first", "verdict"];
    const made = element("table", undefined, { class: "beside" });
    const line = element("tr");
    heads.forEach((head) => line.append(element("th", head, { scope: "col" })));
    const top = element("thead");
    top.append(line);
    const body = element("tbody");
    for (const [name, text, value] of rows) {
      const [, otherText, otherValue] = others.get(name);
      const divides = typeof value === "number" && typeof otherValue === "number" && value !== 0;
      const ratio = divides ? (otherValue / value).toPrecision(3) : "–";
      const row = element("tr");
      row.append(element("th", name, { scope: "row" }));
      [text, otherText, ratio, verdicts[name] ?? "–"].forEach((cell, at) => row.append(element("td", cell, { "data-label": heads[at + 1] })));
      body.append(row);
    }
    made.append(top, body);
    if (rows.length === 0) {
      figures.replaceChildren();
    } else {
      const box = element("div", undefined, { class: "scroll", tabindex: "0", role: "group", "aria-label": "Figures of both records" });
      box.append(made);
      figures.replaceChildren(box);
    }
    const left = one.left_out + other.left_out;
    if (left > 0) figures.append(element("p", `${left} figures are on the pages of the records only.`, { class: "note" }));
    return rows.length;
  };

  const show = () => {
    const [a, b] = [Number(first.value), Number(second.value)];
    tell(a, b, table(a, b));
  };
  const choose = ([a, b]) => {
    [first.value, second.value] = [a, b];
    show();
  };

  for (const select of [first, second]) {
    select.addEventListener("change", () => {
      history.replaceState(null, "", `#${first.value},${second.value}`);
      show();
    });
  }
  addEventListener("hashchange", () => { const both = chosen(); if (both) choose(both); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  choose(chosen() ?? usual());
})();
