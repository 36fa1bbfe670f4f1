"""What is checked in the browser on every page of the report."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Page

PATIENCE = 60  # seconds; a busy machine is slow, and a test that passes waits for nothing


def wait_until(page: Page, condition: str) -> None:
    """Waits for a condition. Playwright's own way may evaluate text in the page, which the page's policy forbids."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    pytest.fail(f"{condition} did not come true within {PATIENCE} seconds")


def busy_seconds(page: Page) -> float:
    """The processor time of the page so far, which other programs on the machine do not change."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    metrics = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    return float(next(each["value"] for each in metrics if each["name"] == "ProcessTime"))


# Texts that overlap, or extend beyond the page or their picture. What scrolls may be out of sight.
COVERED = """() => {
    const found = [];
    const area = (a, b) => Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left))
        * Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));
    const check = (texts) => {
        const boxes = texts.map((it) => [it, it.getBoundingClientRect()]).filter(([, box]) => box.width > 0);
        boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([two, b]) => {
            const covered = area(a, b) / Math.min(a.width * a.height, b.width * b.height);
            if (covered > 0.15) found.push(`${one.textContent} / ${two.textContent}`);
        }));
    };
    for (const svg of document.querySelectorAll("svg")) {
        check([...svg.querySelectorAll("text")]);
        const frame = svg.getBoundingClientRect();
        for (const text of svg.querySelectorAll("text")) {
            const box = text.getBoundingClientRect();
            if (box.left < frame.left - 3 || box.right > frame.right + 3) found.push(`out: ${text.textContent}`);
        }
    }
    for (const row of document.querySelectorAll("tr, .tiles, .controls, .bar-top, .keys, nav, .side")) {
        check([...row.children]);
    }
    for (const it of document.querySelectorAll("p, h1, h2, h3, h4, button, input, select, dd, dt, li, figure")) {
        const box = it.getBoundingClientRect();
        const free = it.closest(".scroll, .skip");
        if (!free && box.width && box.right > innerWidth + 1) found.push(`wide: ${it.textContent}`);
    }
    return found.slice(0, 10);
}"""

# Texts whose contrast with their background is below 4.5.
PALE = """() => {
    const parse = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
        .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (it) => {
        for (; it; it = it.parentElement) {
            const color = parse(getComputedStyle(it).backgroundColor);
            if (color.length < 4 || color[3] > 0) return color;
        }
        return [255, 255, 255];
    };
    const pale = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const it = walker.currentNode.parentElement;
        if (!walker.currentNode.textContent.trim() || it.closest("title")) continue;
        const style = getComputedStyle(it);
        const [a, b] = [light(parse(it.closest("svg") ? style.fill : style.color)), light(behind(it))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) pale.add(`${it.className.baseVal ?? it.className} ${contrast.toFixed(2)}`);
    }
    return [...pale];
}"""
