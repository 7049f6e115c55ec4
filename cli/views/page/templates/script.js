"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const filter = byId("filter"), fate = byId("fate"), name = byId("name"), matches = byId("matches"), help = byId("help");
  const events = all(".event");

  /* Opening what is closed around an element, and what it opens itself. */
  const reveal = (element) => {
    for (let each = element; each; each = each.parentElement) {
      if (each instanceof HTMLDetailsElement) each.open = true;
    }
    const own = element.querySelector(":scope > details");
    if (own) own.open = true;
  };
  const goTo = (element, block = "start") => {
    if (element.closest("[hidden]")) clear();
    reveal(element);
    const stop = element.matches("details, .event") ? element.querySelector("summary") : element;
    stop.focus({ preventScroll: true });
    element.scrollIntoView({ block });
  };
  const follow = () => {
    const target = location.hash.length > 1 && byId(location.hash.slice(1));
    if (target) goTo(target);
  };

  /* Filtering. Texts are gathered when a filter is first used. */
  let texts = null;
  const textOf = (event) => {
    const words = `${event.dataset.name} ${event.textContent}`;
    return words.toLowerCase();
  };
  const fits = (event, place, words) =>
    (!fate.value || event.dataset.fate === fate.value) &&
    (!name.value || event.dataset.name === name.value) &&
    words.every((word) => {
      const [key, value] = word.split(":", 2);
      if (value !== undefined && key === "fate") return event.dataset.fate.startsWith(value);
      if (value !== undefined && (key === "role" || key === "kind")) return event.dataset.name.toLowerCase().startsWith(value);
      return texts[place].includes(word);
    });
  const apply = () => {
    texts ??= events.map(textOf);
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    events.forEach((event, place) => {
      const shown = fits(event, place, words);
      count += shown;
      if (event.hidden === shown) event.hidden = !shown;
    });
    for (const group of all(".group")) group.hidden = !group.querySelector(".event:not([hidden])");
    matches.value = count === events.length ? "" : `${count.toLocaleString("en")} of ${events.length.toLocaleString("en")}`;
  };
  const clear = () => {
    filter.value = fate.value = name.value = "";
    apply();
  };
  let pending = 0;
  const applySoon = () => {
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(apply);
  };
  const offer = (select, key) => {
    const counts = new Map();
    for (const event of events) counts.set(event.dataset[key], (counts.get(event.dataset[key]) ?? 0) + 1);
    for (const [value, count] of counts) select.add(new Option(`${value} (${count.toLocaleString("en")})`, value));
  };
  if (filter) {
    offer(fate, "fate");
    offer(name, "name");
    filter.closest("[hidden]").hidden = false;
  }

  /* Moving from stop to stop: replacements and events, or things done again. */
  const isShown = (element) => !element.closest("[hidden]");
  const stops = () => all(".replacement > summary, .event > details > summary").filter(isShown);
  const firstBelow = (list) => {
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle].getBoundingClientRect().top < 60) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const step = (by) => {
    const list = stops();
    const at = list.indexOf(document.activeElement.closest("summary"));
    const next = at >= 0 ? at + by : firstBelow(list) - (by < 0);
    const stop = list[Math.max(0, Math.min(list.length - 1, next))];
    if (!stop) return;
    stop.focus({ preventScroll: true });
    stop.scrollIntoView({ block: "nearest" });
  };
  let redone = -1;
  const stepRedone = (by) => {
    const rows = all(".redone");
    if (!rows.length) return;
    const at = rows.indexOf(document.activeElement.closest(".redone"));
    redone = (Math.max(at >= 0 ? at : redone, by < 0 ? 0 : -1) + by + rows.length) % rows.length;
    goTo(rows[redone], "center");
  };
  const isOnStop = () => document.activeElement.matches(".replacement > summary, .event > details > summary");
  const keys = {
    j: () => step(1), k: () => step(-1), n: () => stepRedone(1), p: () => stepRedone(-1),
    "/": () => { filter.scrollIntoView({ block: "nearest" }); filter.focus(); filter.select(); },
    "?": () => (help.open ? help.close() : help.showModal()),
    ArrowDown: () => isOnStop() && (step(1), true), ArrowUp: () => isOnStop() && (step(-1), true),
    Enter: () => {
      const active = document.activeElement;
      const again = active.matches(".redone") && active.querySelector("a.again-at");
      if (again) again.click();
      return Boolean(again);
    },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select")) {
      if (event.key === "Escape") { clear(); event.target.blur(); }
      return;
    }
    if (help.open && event.key !== "?") return;
    if (Object.hasOwn(keys, event.key) && keys[event.key]() !== false) event.preventDefault();
  });
  document.addEventListener("input", (event) => { if (event.target.closest(".filter")) applySoon(); });
  document.addEventListener("click", (event) => {
    if (event.target.closest("#keys")) help.showModal();
    if (event.target.closest("dialog .close") || event.target === help) help.close();
    const link = event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) follow();
  });
  addEventListener("hashchange", follow);
  follow();

  /* Reading values off a chart; a click leads to the event. */
  const draw = (tag, attributes, parent) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return parent.appendChild(made);
  };
  for (const chart of all(".chart")) {
    const points = chart.dataset.points.split(" ").map((point) => point.split(":").map(Number));
    const { left, right, top, bottom } = Object.fromEntries(Object.entries(chart.dataset).map(([key, value]) => [key, Number(value)]));
    const reading = draw("g", { class: "reading", visibility: "hidden", "pointer-events": "none" }, chart);
    const rule = draw("line", { y1: top, y2: bottom }, reading);
    const text = draw("text", { y: bottom + 20 }, reading);
    const format = chart.matches(".cost-chart") ? (value) => `$${value.toFixed(4)}` : (value) => `${value.toLocaleString("en")} tokens`;
    const at = (event) => {
      const box = chart.getBoundingClientRect();
      const x = ((event.clientX - box.left) * chart.viewBox.baseVal.width) / box.width;
      return Math.max(0, Math.min(points.length - 1, Math.floor(((x - left) / (right - left)) * points.length)));
    };
    chart.addEventListener("pointermove", (event) => {
      const place = at(event);
      const x = left + ((right - left) * (place + 0.5)) / points.length;
      rule.setAttribute("x1", x);
      rule.setAttribute("x2", x);
      text.setAttribute("x", x);
      text.setAttribute("text-anchor", x > (left + right) / 2 ? "end" : "start");
      text.textContent = ` #${points[place][0]}  ${format(points[place][1])} `;
      chart.classList.add("read");
      reading.setAttribute("visibility", "visible");
    });
    chart.addEventListener("pointerleave", () => {
      chart.classList.remove("read");
      reading.setAttribute("visibility", "hidden");
    });
    chart.addEventListener("click", (event) => {
      if (!event.target.closest("a")) location.hash = `e-${points[at(event)][0]}`;
    });
  }
})();
