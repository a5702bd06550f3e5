"use strict";
// Adds to a page that is complete without it: a remembered theme, a button that copies the command.
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

  for (const pre of document.querySelectorAll("pre[data-copy]")) {
    if (!navigator.clipboard) continue;
    pre.after(button("Copy", (it) => {
      navigator.clipboard.writeText(pre.textContent).then(() => { it.textContent = "Copied"; }, () => { it.textContent = "Not allowed here"; });
    }));
  }
  document.documentElement.dataset.enhanced = "yes";
})();
