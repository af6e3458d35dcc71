// The wire: the latest calls and deliveries with their errors.

import { read } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { state } from "./state.js";

const SHOWN = 120;

export async function openDrawer() {
  const drawer = document.getElementById("drawer");
  drawer.hidden = !drawer.hidden;
  if (drawer.hidden) return;
  state.wire = (await read("/_page/wire")).entries;
  fill(drawer,
    h("header", { class: "pane-head" }, h("h2", {}, "Wire"),
      h("button", { type: "button", class: "plain-button", "aria-label": "Close the wire", onclick: openDrawer }, icon("close"))),
    h("ol", { class: "wire", "data-testid": "wire" }));
  drawWire();
}

export function addToWire(entry) {
  state.wire.push(entry);
  if (state.wire.length > SHOWN * 2) state.wire.splice(0, SHOWN);
  if (!document.getElementById("drawer").hidden) drawWire();
}

function drawWire() {
  const list = document.querySelector(".wire");
  const have = new Set([...list.children].map((node) => node.dataset.seq));
  for (const entry of state.wire.slice(-SHOWN)) {
    if (!have.has(String(entry.seq))) list.prepend(line(entry));
  }
  while (list.children.length > SHOWN) list.lastChild.remove();
}

function line(entry) {
  const detail = h("pre", { class: "wire-detail", hidden: true });
  const show = async () => {
    detail.hidden = !detail.hidden;
    if (detail.hidden) return;
    const found = (await read("/_page/wire")).entries.find((one) => one.seq === entry.seq);
    detail.textContent = found ? JSON.stringify({ sent: found.sent, answered: found.answered }, null, 2) : "Not kept any more.";
  };
  return h("li", { class: `wire-line kind-${entry.kind} ${entry.ok ? "" : "is-bad"}`, "data-seq": String(entry.seq) },
    h("button", { type: "button", class: "wire-row", onclick: show },
      h("span", { class: "wire-time" }, entry.at.slice(11, 19)),
      h("span", { class: "wire-kind" }, entry.kind),
      h("span", { class: "wire-name" }, entry.name),
      h("span", { class: "wire-took" }, entry.error ?? (entry.took_ms === null ? "" : `${entry.took_ms} ms`))),
    detail);
}
