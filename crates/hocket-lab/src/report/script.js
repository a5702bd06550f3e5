"use strict";
// Adds to a page that is complete without it: names of units on tap and by keyboard, a magnifier,
// a remembered theme, a button that copies the command.
(() => {
  const remember = (name, value) => { try { localStorage.setItem(name, value); } catch { /* files may have no storage */ } };
  const recall = (name) => { try { return localStorage.getItem(name); } catch { return null; } };

  const chosen = document.getElementById("theme-" + recall("hocket-theme"));
  if (chosen) chosen.checked = true;
  for (const input of document.querySelectorAll("input[name=theme]")) {
    input.addEventListener("change", () => remember("hocket-theme", input.id.slice("theme-".length)));
  }

  const button = (text, onClick) => {
    const it = document.createElement("button");
    it.type = "button";
    it.textContent = text;
    it.addEventListener("click", () => onClick(it));
    return it;
  };

  for (const figure of document.querySelectorAll(".timeline")) {
    const scroll = figure.querySelector(".scroll");
    const readout = figure.querySelector(".readout");
    const spans = [...figure.querySelectorAll("i[title]:not(.tl-asleep)")];
    let at = -1;
    const show = (index) => {
      if (spans[at]) spans[at].classList.remove("on");
      at = Math.max(0, Math.min(spans.length - 1, index));
      spans[at].classList.add("on");
      readout.textContent = spans[at].title;
    };
    scroll.addEventListener("click", (event) => {
      const index = spans.indexOf(event.target.closest("i[title]"));
      if (index >= 0) show(index);
    });
    scroll.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step || !spans.length) return;
      event.preventDefault();
      show(at + step);
      spans[at].scrollIntoView({ block: "nearest", inline: "nearest" });
    });

    const zoom = document.createElement("div");
    zoom.className = "zoom";
    zoom.append("magnify");
    for (const factor of [1, 2, 4, 8]) {
      const it = button(factor + "×", () => {
        figure.style.setProperty("--zoom", factor);
        for (const other of zoom.querySelectorAll("button")) other.setAttribute("aria-pressed", other === it);
      });
      it.setAttribute("aria-pressed", factor === 1);
      zoom.append(it);
    }
    scroll.before(zoom);
  }

  for (const pre of document.querySelectorAll("pre[data-copy]")) {
    if (!navigator.clipboard) continue;
    pre.after(button("Copy", (it) => {
      navigator.clipboard.writeText(pre.textContent).then(() => { it.textContent = "Copied"; }, () => { it.textContent = "Not allowed here"; });
    }));
  }
  document.documentElement.dataset.enhanced = "yes";
})();
