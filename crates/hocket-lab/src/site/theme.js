"use strict";
// Remembers the colours that were chosen; the page is complete without it.
(() => {
  const remember = (value) => { try { localStorage.setItem("hocket-theme", value); } catch { /* files may have no storage */ } };
  const recall = () => { try { return localStorage.getItem("hocket-theme"); } catch { return null; } };
  const chosen = document.getElementById("theme-" + recall());
  if (chosen) chosen.checked = true;
  for (const input of document.querySelectorAll("input[name=theme]")) {
    input.addEventListener("change", () => remember(input.id.slice("theme-".length)));
  }
  document.documentElement.dataset.enhanced = "yes";
})();
