"use strict";
// This runs before the first paint, so that collapsed rows do not flash.
document.documentElement.classList.add("js");
document.addEventListener("DOMContentLoaded", () => {
  const find = (selector, within = document) => within.querySelector(selector);
  const list = find("table.list");
  const groups = [...list.tBodies];
  const status = find("#status");
  const search = find("#search");
  const feature = find("#feature");
  const openAll = find("#all");

  // Opening and closing.
  const opener = (group) => find(".name button", group);
  const isOpen = (group) => group.classList.contains("open");
  const open = (group, yes) => {
    group.classList.toggle("open", yes);
    opener(group).setAttribute("aria-expanded", String(yes));
  };
  const shown = () => groups.filter((group) => !group.hidden);
  const nameOpenAll = () => {
    openAll.textContent = shown().length && shown().every(isOpen) ? "Close all" : "Open all";
  };
  for (const group of groups) {
    open(group, false);
    find(".head", group).addEventListener("click", (event) => {
      const selecting = String(getSelection()).length > 0;
      if (event.target.closest("button") || !selecting) open(group, !isOpen(group));
      nameOpenAll();
    });
  }
  openAll.addEventListener("click", () => {
    const yes = openAll.textContent === "Open all";
    for (const group of shown()) open(group, yes);
    nameOpenAll();
  });

  // Filtering.
  const texts = new Map(groups.map((group) => [group, find(".head", group).textContent.toLowerCase()]));
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const place = feature ? feature.value : "";
    for (const group of groups) {
      const matches = words.every((word) => texts.get(group).includes(word));
      group.hidden = !(matches && (place === "" || group.dataset.feature === place));
    }
    const count = shown().length;
    const rows = groups.length === 1 ? "1 row" : `${groups.length} rows`;
    status.textContent = count === groups.length ? rows : `${count} of ${rows}`;
    find("#nothing").hidden = count > 0;
    nameOpenAll();
  };
  search.addEventListener("input", filter);
  if (feature) feature.addEventListener("change", filter);

  // Sorting.
  const headers = [...list.tHead.rows[0].cells];
  headers.forEach((header, place) => {
    const button = find("button", header);
    if (!button) return;
    const isNumber = button.dataset.sort === "number";
    const value = (group) => {
      const cell = group.rows[0].cells[place];
      return isNumber ? Number(cell.dataset.value) : cell.textContent;
    };
    button.addEventListener("click", () => {
      // Scores are sorted in descending order first, other columns in ascending order.
      const first = place === 2 ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = header.getAttribute("aria-sort") === first ? other : first;
      const sign = order === "ascending" ? 1 : -1;
      for (const each of headers) each.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", order);
      groups.sort((one, two) => {
        const [a, b] = [value(one), value(two)];
        return sign * (isNumber ? a - b : a.localeCompare(b, undefined, { numeric: true }));
      });
      list.append(...groups);
      status.textContent = `Sorted by ${button.textContent}, ${order}`;
    });
  });

  // Tables that are wider than the page get a hint, and can be focused and scrolled by keyboard.
  const watcher = new ResizeObserver((entries) => {
    for (const { target: it } of entries) {
      const more = it.scrollWidth > it.clientWidth + 1;
      it.classList.toggle("more", more);
      it.tabIndex = more ? 0 : -1;
    }
  });
  for (const it of document.querySelectorAll(".scroll")) watcher.observe(it);

  // Links to a row, and clicks on dots of the map.
  const go = (group) => {
    if (!group || !groups.includes(group)) return;
    if (group.hidden) {
      search.value = "";
      if (feature) feature.value = "";
      filter();
    }
    open(group, true);
    nameOpenAll();
    group.scrollIntoView();
    opener(group).focus({ preventScroll: true });
  };
  const target = () => document.getElementById(location.hash.slice(1));
  addEventListener("hashchange", () => go(target()));
  go(target());
  for (const dot of document.querySelectorAll("[data-row]")) {
    dot.addEventListener("click", () => go(document.getElementById(`row-${dot.dataset.row}`)));
  }

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
