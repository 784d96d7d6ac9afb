"use strict";
(() => {
  const held = JSON.parse(document.getElementById("held").textContent);
  const clock = JSON.parse(document.getElementById("clock").textContent);
  const views = {};
  const specs = { ...held.figures, ...clock.figures };

  // Columns of numbers travel as comma separated text. Vega would read it by a compiled function,
  // which the page's policy forbids, so it is read here.
  function read(text) {
    const [head, ...lines] = text.split("\n").map((line) => line.split(","));
    const number = (cell) => (cell === "" ? null : Number(cell));
    return lines.map((cells) => Object.fromEntries(head.map((name, k) => [name, number(cells[k])])));
  }
  function unpacked(spec, datasets) {
    if (Array.isArray(spec)) return spec.map((part) => unpacked(part, datasets));
    if (spec === null || typeof spec !== "object") return spec;
    if (Object.hasOwn(datasets, spec.name)) return { values: datasets[spec.name] };
    return Object.fromEntries(Object.entries(spec).map(([key, part]) => [key, unpacked(part, datasets)]));
  }
  for (const [key, { datasets = {}, ...spec }] of Object.entries(specs)) {
    const rows = Object.entries(datasets).map(([name, one]) => [name, typeof one === "string" ? read(one) : one]);
    specs[key] = unpacked(spec, Object.fromEntries(rows));
  }

  // ------------------------------------------------------------------ what differs by run
  const mean = (values) => values.reduce((sum, x) => sum + x, 0) / values.length;
  const seconds = (x) => (x < 0.0995 ? x.toPrecision(2) : x.toFixed(x < 10 ? 2 : 1));
  for (const cell of document.querySelectorAll("[data-clock]")) {
    let value = clock;
    for (const part of cell.dataset.clock.split(".")) value = value == null ? value : value[part];
    if (Array.isArray(value)) value = mean(value);
    if (typeof value === "number") cell.textContent = seconds(value);
    else if (typeof value === "string") cell.textContent = value;
  }

  // ------------------------------------------------------------------ numbers as words
  const finite = (x) => typeof x === "number" && Number.isFinite(x);
  const short = (x, digits = 4) => (finite(x) ? String(Number(x.toPrecision(digits))) : "–");
  // As the page's own numbers: one decimal place, more towards 0 and 100; ends of intervals outward.
  function share(x, side = 0) {
    if (!finite(x)) return "–";
    const value = 100 * x;
    if (value === 0 || value === 100) return `${value} %`;
    const end = Math.min(Math.abs(value), Math.abs(100 - value));
    const places = end >= 1 ? 1 : Math.min(1 - Math.floor(Math.log10(end)), 4);
    const scale = 10 ** places;
    // A part of the last place is forgiven: 100 x is not exact.
    const cut = side > 0 ? Math.ceil(value * scale - 1e-9) : side < 0 ? Math.floor(value * scale + 1e-9) : null;
    return `${(cut === null ? value : cut / scale).toFixed(places)} %`;
  }
  function outward(x, digits, side) {
    if (!finite(x) || x === 0) return short(x, digits);
    const scale = 10 ** (digits - 1 - Math.floor(Math.log10(Math.abs(x))));
    return short((side > 0 ? Math.ceil(x * scale - 1e-9) : Math.floor(x * scale + 1e-9)) / scale, digits);
  }

  // ------------------------------------------------------------------ figures
  const tip = document.getElementById("tip");
  const showTip = (handler, event, item, value) => {
    if (value == null || value === "") {
      tip.hidden = true;
      return;
    }
    const list = document.createElement("dl");
    const pairs = typeof value === "object" ? Object.entries(value) : [["", value]];
    for (const [name, text] of pairs) {
      const dt = document.createElement("dt");
      const dd = document.createElement("dd");
      dt.textContent = name;
      dd.textContent = typeof text === "object" ? JSON.stringify(text) : String(text);
      list.append(dt, dd);
    }
    tip.replaceChildren(list);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const right = event.clientX + 14 + box.width > window.innerWidth;
    const below = event.clientY + 14 + box.height > window.innerHeight;
    tip.style.left = `${Math.max(4, right ? event.clientX - box.width - 14 : event.clientX + 14)}px`;
    tip.style.top = `${Math.max(4, below ? event.clientY - box.height - 14 : event.clientY + 14)}px`;
  };

  async function draw(place) {
    const key = place.dataset.figure;
    const spec = { ...specs[key], config: held.config };
    // The interpreter walks expressions instead of compiling them: the page forbids eval.
    const result = await window.vegaEmbed(place, spec, {
      mode: "vega-lite",
      renderer: "svg",
      actions: false,
      ast: true,
      defaultStyle: false,
      tooltip: showTip,
    });
    views[key] = result.view;
    // The place has the picture's words; its marks have none that would help without eyes.
    place.querySelector("svg").setAttribute("aria-hidden", "true");
    place.classList.add("ready");
    if (decisions && result.view.getState().signals.threshold !== undefined) {
      result.view.addEventListener("click", (event, item) => {
        if (item && item.datum && finite(item.datum.t)) move(rowOf(item.datum.t));
      });
      result.view.signal("threshold", current()).run();
    }
  }

  // ------------------------------------------------------------------ the threshold
  const decisions = held.decisions;
  const columns = decisions ? decisions.table.columns : null;
  const range = document.getElementById("threshold-range");
  const typed = document.getElementById("threshold-number");
  let row = 0;
  const current = () => columns.threshold[row];

  // Thresholds fall from row to row; what lies between two flags what the higher one flags.
  function rowOf(threshold) {
    let found = 0;
    columns.threshold.forEach((t, k) => {
      if (t >= threshold) found = k;
    });
    return found;
  }

  function interval(rate, k, words) {
    return `${words(columns[`${rate}_low`][k], -1)} to ${words(columns[`${rate}_high`][k], 1)}`;
  }

  function speak(k) {
    const { positives, negatives } = decisions.table;
    const [other, positive] = held.classes.map((name) => (name.length > 40 ? `${name.slice(0, 39)}…` : name));
    const tp = columns.tp[k];
    const fp = columns.fp[k];
    const words = document.getElementById("threshold-words");
    words.textContent =
      `At ${short(current())} the model flags ${tp + fp} of ${positives + negatives} rows: it finds ` +
      `${tp} of ${positives} rows of class ${positive} and raises ${fp} false alarms among ${negatives} ` +
      `rows of class ${other}.`;
    for (const tile of document.querySelectorAll("[data-rate]")) {
      const rate = tile.dataset.rate;
      const say = rate === "cost" ? (x, side) => (side ? outward(x, 3, side) : short(x, 3)) : share;
      const value = columns[rate][k];
      tile.querySelector(".value").textContent = finite(value) ? say(value) : "–";
      tile.querySelector(".ends").textContent = finite(value) ? interval(rate, k, say) : "nothing flagged";
    }
  }

  function move(k) {
    row = Math.min(Math.max(k, 0), columns.threshold.length - 1);
    const t = current();
    if (document.activeElement !== range || rowOf(Number(range.value)) !== row) range.value = String(t);
    range.setAttribute("aria-valuetext", short(t));
    if (document.activeElement !== typed) typed.value = short(t, 6);
    speak(row);
    for (const button of document.querySelectorAll("[data-threshold]")) {
      button.setAttribute("aria-pressed", String(rowOf(Number(button.dataset.threshold)) === row));
    }
    for (const [key, view] of Object.entries(views)) {
      if (key in held.figures && view.getState().signals.threshold !== undefined) {
        view.signal("threshold", t).runAsync();
      }
    }
  }

  if (decisions) {
    range.addEventListener("input", () => move(rowOf(Number(range.value))));
    // The scale is that of the score; keys go from one threshold to the next, however near.
    range.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -1, ArrowRight: -1, ArrowDown: 1, ArrowLeft: 1, PageUp: -10, PageDown: 10 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      move(row + step);
      range.value = String(current());
    });
    typed.addEventListener("input", () => {
      if (typed.value !== "" && finite(Number(typed.value))) move(rowOf(Number(typed.value)));
    });
    typed.addEventListener("blur", () => move(row));
    typed.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      move(row + step);
      typed.value = short(current(), 6);
    });
    for (const button of document.querySelectorAll("[data-threshold]")) {
      button.addEventListener("click", () => move(rowOf(Number(button.dataset.threshold))));
    }
    move(rowOf(decisions.start));
  }

  // ------------------------------------------------------------------ data of a figure
  function* encodings(spec) {
    for (const layer of spec.layer || []) yield* encodings(layer);
    for (const channel of Object.values(spec.encoding || {})) {
      yield* Array.isArray(channel) ? channel : [channel];
    }
  }

  function* sources(spec) {
    for (const layer of spec.layer || []) yield* sources(layer);
    if (spec.data && Array.isArray(spec.data.values)) yield spec.data.values;
  }

  function tabled(key) {
    const spec = specs[key];
    const kind = document.querySelector(`#figure-${key} .kind`).textContent;
    const titles = {};
    for (const { field, title } of encodings(spec)) if (field && title) titles[field] = title;
    const found = [];
    const seen = new Set();
    for (const rows of sources(spec)) {
      const print = JSON.stringify(rows);
      if (rows.length < 2 || seen.has(print)) continue;
      seen.add(print);
      found.push(tableOf(rows, titles, `${kind}, data set ${found.length + 1}: ${rows.length} rows`));
    }
    return found;
  }

  function tableOf(rows, titles, words) {
    // Fields without a title only place marks: they mean nothing to a reader.
    const named = Object.keys(rows[0]).filter((name) => titles[name]);
    const names = named.length ? named : Object.keys(rows[0]);
    const table = document.createElement("table");
    table.createCaption().textContent = words;
    const head = table.createTHead().insertRow();
    for (const name of names) {
      const th = document.createElement("th");
      th.scope = "col";
      th.textContent = titles[name] || name;
      head.append(th);
    }
    const body = table.createTBody();
    for (const one of rows) {
      const line = body.insertRow();
      for (const name of names) line.insertCell().textContent = one[name] == null ? "" : String(one[name]);
    }
    const box = document.createElement("div");
    box.className = "scroll";
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", words);
    box.append(table);
    return box;
  }

  for (const details of document.querySelectorAll("details.data")) {
    details.addEventListener(
      "toggle",
      () => {
        if (details.open && details.children.length === 1) details.append(...tabled(details.dataset.of));
      },
    );
  }

  // A figure that was drawn while its section was folded has no width yet.
  for (const details of document.querySelectorAll("details:not(.data)")) {
    details.addEventListener("toggle", () => {
      if (details.open && details.querySelector("[data-figure]")) window.dispatchEvent(new Event("resize"));
    });
  }

  // ------------------------------------------------------------------ where the reader is
  const links = new Map();
  for (const link of document.querySelectorAll("nav a")) links.set(link.hash.slice(1), link);
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links.values()) link.removeAttribute("aria-current");
        const link = links.get(entry.target.id);
        link.setAttribute("aria-current", "true");
        const bar = link.closest("ul");
        bar.scrollLeft = link.offsetLeft - (bar.clientWidth - link.offsetWidth) / 2;
      }
    },
    { rootMargin: "-30% 0px -65% 0px" },
  );
  for (const id of links.keys()) watcher.observe(document.getElementById(id));

  // A box that does not scroll needs no stop of the tab key.
  function stops() {
    for (const box of document.querySelectorAll(".scroll")) {
      box.tabIndex = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1 ? 0 : -1;
    }
  }
  stops();
  window.addEventListener("resize", stops);

  async function drawAll() {
    for (const place of document.querySelectorAll("[data-figure]")) {
      await draw(place);
      await new Promise((done) => setTimeout(done));
    }
  }
  window.fenchelReport = { views, move, rowOf, columns, ready: drawAll() };
})();
