"use strict";
// Everything on the page works without this: it adds suggestions, copy buttons and the related articles.
(() => {
  const input = document.getElementById("ui-question");
  const list = document.getElementById("ui-suggestions");
  const status = document.getElementById("ui-status");
  const archive = document.getElementById("ui-archive");
  const DELAY_MS = 150;
  let rows = [], active = -1, timer = 0, request = null;

  const close = () => {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const select = (number) => {
    active = number;
    [...list.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === active)));
    if (active < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", list.children[active].id);
    list.children[active].scrollIntoView({ block: "nearest" });
  };
  const titleOf = (name) => [...(archive?.options ?? [])].find((option) => option.value === name)?.text ?? "";
  const open = (row) => { location.href = row.url; };
  const show = (suggestions) => {
    rows = suggestions;
    list.replaceChildren(...rows.map((row, i) => {
      const option = document.createElement("li");
      option.id = `ui-option-${i}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      const title = document.createElement("span"), place = document.createElement("span");
      title.textContent = row.title;
      place.textContent = titleOf(row.archive.replace(/\.zim$/, ""));
      place.className = "muted";
      option.append(title, place);
      option.addEventListener("mousedown", (event) => { event.preventDefault(); open(row); });
      return option;
    }));
    active = -1;
    status.textContent = rows.length ? `${rows.length} suggestions` : "";
    if (!rows.length) return close();
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  };
  const suggest = async () => {
    const text = input.value.trim();
    request?.abort();
    if (text.length < 2) return show([]);
    request = new AbortController();
    const query = new URLSearchParams({ q: text, limit: "8" });
    if (archive?.value) query.set("archive", archive.value);
    try {
      const response = await fetch(`/api/v1/suggest?${query}`, { signal: request.signal });
      if (response.ok && document.activeElement === input) show((await response.json()).suggestions);
    } catch { /* a newer request, or no connection: the form still works */ }
  };
  if (input) {
    for (const [name, value] of Object.entries({
      role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id,
    })) input.setAttribute(name, value);
    input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(suggest, DELAY_MS); });
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !list.hidden) { event.preventDefault(); close(); }
      else if (event.key === "Enter" && active >= 0 && !list.hidden) { event.preventDefault(); open(rows[active]); }
      else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        if (list.hidden) { if (rows.length) show(rows); else return; }
        event.preventDefault();
        const step = event.key === "ArrowDown" ? 1 : -1;
        select((active + step + (active < 0 && step < 0 ? 1 : 0) + rows.length) % rows.length);
      }
    });
    document.addEventListener("keydown", (event) => {
      const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
      if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        input.focus();
      }
    });
  }

  for (const button of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard) break;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  // On a small screen, the contents and key facts would stand before the text.
  if (matchMedia("(max-width: 61.99rem)").matches) {
    for (const details of document.querySelectorAll("[data-fold]")) details.open = false;
  }

  const aside = document.querySelector("[data-fragment]");
  if (aside && "IntersectionObserver" in window) {
    const observer = new IntersectionObserver(async ([entry]) => {
      if (!entry.isIntersecting) return;
      observer.disconnect();
      try {
        const response = await fetch(aside.dataset.fragment);
        if (!response.ok) return;
        const page = new DOMParser().parseFromString(await response.text(), "text/html");
        aside.replaceChildren(...page.body.childNodes);
      } catch { /* the link stays */ }
    }, { rootMargin: "300px" });
    observer.observe(aside);
  }
})();
