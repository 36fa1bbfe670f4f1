"use strict";
// This runs before the first paint, so that collapsed rows do not flash.
document.documentElement.classList.add("js");
document.addEventListener("DOMContentLoaded", () => {
  const find = (selector, within = document) => within.querySelector(selector);
  const make = (tag, attributes = {}, ...children) => {
    const it = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) it.setAttribute(name, value);
    it.append(...children);
    return it;
  };
  const grouped = (number) => number.toLocaleString("en-US");
  const scoreText = (score) => {
    if (score > 0 && score < 0.05) return score.toPrecision(2);
    if (score >= 1e6) return score.toExponential(2);
    return score.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  };
  const STEP = 200;
  const KINDS = ["whole", "combination", "value"];
  const list = find("table.list");
  const status = find("#status");
  const search = find("#search");
  const choices = { lead: find("#feature"), kind: find("#kind"), group: find("#group") };
  const openAll = find("#all");
  const more = find("#more");
  const download = find("#download");

  // Records: what the list can show. Those with pictures are part of the page, the others come with its data.
  let records = [...list.tBodies].map((body) => {
    const cells = body.rows[0].cells;
    return {
      id: body.id,
      body,
      values: [Number(cells[0].dataset.value), find("bdi", cells[1]).textContent, Number(cells[2].dataset.value), cells[3].textContent],
      lead: body.dataset.feature,
      kind: body.dataset.kind,
      group: body.dataset.group || "0",
      text: body.rows[0].textContent.toLowerCase(),
      data: null,
    };
  });
  let content = null;
  let chosen = records;
  let limit = records.length;
  let order = null;

  // Opening and closing.
  const opener = (body) => find(".name button", body);
  const isOpen = (body) => body.classList.contains("open");
  const open = (record, yes) => {
    if (yes) fill(record);
    record.body.classList.toggle("open", yes);
    opener(record.body).setAttribute("aria-expanded", String(yes));
  };
  const shown = () => chosen.slice(0, limit);
  const nameOpenAll = () => {
    const those = shown();
    openAll.textContent = those.length && those.every((record) => record.body && isOpen(record.body)) ? "Close all" : "Open all";
  };
  const listen = (record) => {
    open(record, false);
    find(".head", record.body).addEventListener("click", (event) => {
      const selecting = String(getSelection()).length > 0;
      if (event.target.closest("button") || !selecting) open(record, !isOpen(record.body));
      nameOpenAll();
    });
  };
  openAll.addEventListener("click", () => {
    const yes = openAll.textContent === "Open all";
    for (const record of shown()) open(record, yes);
    nameOpenAll();
  });

  // A row that came with the data.
  const build = (record) => {
    const [position, name, , rank, score, rarity, kind, group, lead, sentence] = record.data;
    const flagged = score > content.threshold ? " flagged" : "";
    const words = kind < 0 ? "" : ` · ${find(`#kind option[value="${KINDS[kind]}"]`)?.textContent.replace(/ \([\d,]+\)$/, "") ?? KINDS[kind]}`;
    const button = make("button", { type: "button", "aria-expanded": "false", "aria-controls": `why-${position}` }, make("bdi", {}, name));
    const head = make("tr", { role: "row", class: "head" },
      make("td", { role: "cell", class: "n rank" }, grouped(rank)),
      make("th", { role: "rowheader", scope: "row", class: "name" }, make("h3", {}, button)),
      make("td", { role: "cell", class: `n score${flagged}` }, scoreText(score)),
      make("td", { role: "cell", class: "feature" }, make("bdi", {}, content.behavior[lead])),
      make("td", { role: "cell", class: "sentence" }, make("p", {}, sentence),
        make("p", { class: "muted" }, `${rarity} ordinary rows is as unusual${words}${group ? ` · group ${group}` : ""}`)));
    const panel = make("div", { class: "panel" });
    const why = make("tr", { role: "row", class: "why", id: `why-${position}` }, make("td", { role: "cell", colspan: "5" }, panel));
    record.body = make("tbody", { id: record.id, role: "rowgroup" }, head, why);
    listen(record);
  };
  const bodyOf = (record) => {
    if (!record.body) build(record);
    return record.body;
  };

  // What a panel shows besides its pictures: all behaviors, all columns, and what the reader makes of the row.
  const behaviors = (record) => {
    const body = make("tbody");
    record.data[10].forEach((value, place) => {
      if (!value) return;
      const [text, range, direction, part, off] = value;
      const name = make("th", { scope: "row" }, make("bdi", {}, content.behavior[place]), ` ${text}, ${direction}`);
      if (range) name.append(make("small", {}, `usually ${range}`));
      const bar = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      bar.setAttribute("class", "bar");
      bar.setAttribute("aria-hidden", "true");
      const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      rect.setAttribute("width", String(72 * Math.min(1, (part ?? 0) / content.full)));
      rect.setAttribute("height", "10");
      bar.append(rect);
      body.append(make("tr", off ? { class: "out" } : {}, name, make("td", {}, bar), make("td", { class: "n" }, part === null ? "-" : scoreText(part))));
    });
    return make("table", { class: "lines" }, make("caption", {}, "Partial scores: what each column contributes"), body);
  };
  const allColumns = (record) => {
    const body = make("tbody");
    record.data[11].forEach((text, place) => {
      body.append(make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, content.columns[place])), make("td", {}, make("bdi", {}, text))));
    });
    const table = make("table", { class: "small words" }, make("caption", { class: "unseen" }, `All columns of ${record.data[1]}`), body);
    const details = make("details", { class: "columns" }, make("summary", {}, "All columns of this row"), table);
    if (content.hidden) details.append(make("p", { class: "muted" }, `${grouped(content.hidden)} more are not part of this page.`));
    return details;
  };
  const fill = (record) => {
    if (!record.data || record.filled) return;
    record.filled = true;
    const panel = find(".panel", bodyOf(record));
    const said = find(".sentence p", record.body);
    // A long sentence is cut on a large page, but never in an open row.
    if (said.textContent.endsWith("…")) said.textContent = record.data[9];
    if (!panel.childElementCount) {
      panel.append(make("p", { class: "verdict" }, `Score ${scoreText(record.data[4])}; the threshold is ${scoreText(content.threshold)}.`),
        make("h4", {}, "Expected and actual values"), behaviors(record));
    }
    if (record.data[11].length) panel.append(allColumns(record));
    panel.append(marking({ row: record.data[2] }, `row ${record.data[1]}`));
  };

  // What the reader makes of rows and groups, as a file that paribus reads.
  const marks = new Map();
  const marking = (entry, label) => {
    const key = JSON.stringify(entry);
    const select = make("select", {}, ...["not looked at", "confirmed", "false alarm", "known cause"].map((word) => make("option", { value: word }, word)));
    const note = make("input", { type: "text", autocomplete: "off" });
    const change = () => {
      if (select.selectedIndex) marks.set(key, { ...entry, status: select.value, note: note.value });
      else marks.delete(key);
      download.hidden = marks.size === 0;
      download.textContent = `Download known.csv (${marks.size})`;
    };
    select.addEventListener("change", change);
    note.addEventListener("input", change);
    const field = make("div", { class: "marking", role: "group", "aria-label": `What is known about ${label}` });
    field.append(make("label", {}, "Mark as", select), make("label", {}, "Note", note));
    return field;
  };
  const cell = (text) => {
    // As in the files of paribus: text that a spreadsheet would run gets an apostrophe.
    const safe = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",;|\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  download.addEventListener("click", () => {
    const lines = [...marks.values()].map((mark) => [mark.row ?? "", mark.rule ?? "", mark.status, mark.note].map(cell).join(","));
    const file = new Blob([["row,rule,status,note", ...lines, ""].join("\n")], { type: "text/csv" });
    const link = make("a", { href: URL.createObjectURL(file), download: "known.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  for (const card of document.querySelectorAll(".group")) {
    card.append(marking({ rule: card.dataset.rule }, `group ${card.dataset.group}`));
    find(".show-group", card).addEventListener("click", () => {
      clear();
      choices.group.value = card.dataset.group;
      filter();
      find("#anomalies").scrollIntoView();
      choices.group.focus({ preventScroll: true });
    });
  }

  // Showing, filtering and sorting.
  const show = () => {
    list.replaceChildren(list.tHead, ...shown().map(bodyOf));
    const rest = chosen.length - limit;
    more.hidden = rest <= 0;
    more.textContent = `Show ${grouped(Math.min(STEP, rest))} more of ${grouped(rest)}`;
    find("#nothing").hidden = chosen.length > 0;
    nameOpenAll();
  };
  const first = limit;
  more.addEventListener("click", () => {
    const next = chosen[limit];
    limit += STEP;
    show();
    opener(next.body).focus();
  });
  const sorted = (some) => {
    if (!order) return some;
    const { place, sign, isNumber } = order;
    const compare = new Intl.Collator(undefined, { numeric: true }).compare;
    return [...some].sort(({ values: a }, { values: b }) => sign * (isNumber ? a[place] - b[place] : compare(a[place], b[place])));
  };
  const count = () => {
    const rows = records.length === 1 ? "1 row" : `${grouped(records.length)} rows`;
    return chosen.length === records.length ? rows : `${grouped(chosen.length)} of ${rows}`;
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = Object.entries(choices).filter(([, choice]) => choice && choice.value !== "");
    chosen = sorted(records.filter((record) => words.every((word) => record.text.includes(word))
      && wanted.every(([name, choice]) => record[name] === choice.value)));
    limit = Math.max(first, Math.min(STEP, 50));
    if (chosen.length === records.length) limit = first;
    show();
    status.textContent = count();
  };
  const clear = () => {
    search.value = "";
    for (const choice of Object.values(choices)) if (choice) choice.value = "";
  };
  search.addEventListener("input", filter);
  for (const choice of Object.values(choices)) if (choice) choice.addEventListener("change", filter);
  const headers = [...list.tHead.rows[0].cells];
  headers.forEach((header, place) => {
    const button = find("button", header);
    if (!button) return;
    button.addEventListener("click", () => {
      // Scores are sorted in descending order first, other columns in ascending order.
      const usual = place === 2 ? "descending" : "ascending";
      const other = usual === "ascending" ? "descending" : "ascending";
      const now = header.getAttribute("aria-sort") === usual ? other : usual;
      for (const each of headers) each.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", now);
      order = { place, sign: now === "ascending" ? 1 : -1, isNumber: button.dataset.sort === "number" };
      chosen = sorted(chosen);
      show();
      status.textContent = `Sorted by ${button.textContent}, ${now}`;
    });
  });

  // Tables that are wider than the page get a hint, and can be focused and scrolled by keyboard.
  const watcher = new ResizeObserver((entries) => {
    for (const { target: it } of entries) {
      const wide = it.scrollWidth > it.clientWidth + 1;
      it.classList.toggle("more", wide);
      it.tabIndex = wide ? 0 : -1;
    }
  });
  for (const it of document.querySelectorAll(".scroll")) watcher.observe(it);

  // Links to a row, and clicks on dots of the map.
  const go = (id) => {
    const record = records.find((each) => each.id === id);
    if (!record) return;
    if (!shown().includes(record)) {
      clear();
      filter();
      limit = Math.max(limit, chosen.indexOf(record) + 1);
      show();
    }
    open(record, true);
    nameOpenAll();
    record.body.scrollIntoView();
    opener(record.body).focus({ preventScroll: true });
  };
  const target = () => location.hash.slice(1);
  addEventListener("hashchange", () => go(target()));
  for (const dot of document.querySelectorAll("[data-row]")) {
    dot.addEventListener("click", () => go(`row-${dot.dataset.row}`));
  }
  for (const record of records) listen(record);
  go(target());

  // The data of all flagged rows, which are unpacked after the page is shown.
  const unpack = async () => {
    const packed = find("#data").content.textContent;
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    content = JSON.parse(await new Response(stream).text());
    const known = new Map(records.map((record) => [record.id, record]));
    for (const data of content.rows) {
      const [position, name, , rank, score, , kind, group, lead, sentence, , columns] = data;
      const words = columns.join(" ").toLowerCase();
      const record = known.get(`row-${position}`);
      if (record) {
        record.data = data;
        record.text += ` ${words}`;
        if (record.body && isOpen(record.body)) fill(record);
        continue;
      }
      records.push({
        id: `row-${position}`,
        body: null,
        values: [rank, name, score, content.behavior[lead]],
        lead: String(lead),
        kind: kind < 0 ? "" : KINDS[kind],
        group: String(group),
        text: `${rank} ${name} ${content.behavior[lead]} ${sentence}`.toLowerCase().concat(" ", words),
        data,
      });
    }
    if (search.value || Object.values(choices).some((choice) => choice && choice.value)) filter();
    else {
      chosen = sorted(records);
      show();
      status.textContent = count();
    }
    go(target());
    document.documentElement.dataset.ready = "";
  };
  unpack();

  // Light and dark.
  const root = document.documentElement;
  const theme = find("#theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const nameTheme = () => {
    theme.textContent = isDark() ? "Light colors" : "Dark colors";
  };
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  system.addEventListener("change", nameTheme);
  nameTheme();
});
