// The wire: the latest calls and deliveries with their errors, and buttons that make Slack misbehave.

import { post, read } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { state } from "./state.js";

const SHOWN = 120;
const FAULTS = [
  ["Double-click next", "double-click", {}, "The next click arrives as two clicks"],
  ["Deliver next twice", "double-delivery", {}, "The next delivery arrives in two envelopes"],
  ["Hold next delivery", "hold-delivery", {}, "The next delivery waits until it is let through: others overtake it"],
  ["Let held through", "let-through", {}, "What was held is delivered now"],
  ["Redeliver last", "redeliver", {}, "The newest delivery arrives again"],
  ["Drop sockets", "drop-sockets", {}, "Every connection is reset"],
  ["Refresh sockets", "disconnect", { reason: "refresh_requested" }, "Slack asks for a new connection"],
  ["429 × 3", "ratelimited", { times: 3, seconds: 2 }, "The next three calls are rate limited"],
  ["Hold reply 4 s", "hold", { seconds: 4 }, "The next call is done at once and answered late"],
  ["Lose a reply", "error-after-effect", {}, "The next call is done and answered with an error"],
  ["All well again", "disarm", {}, "No fault is armed any more"],
];

export async function openDrawer() {
  const drawer = document.getElementById("drawer");
  drawer.hidden = !drawer.hidden;
  if (drawer.hidden) return;
  state.wire = (await read("/_control/wire")).entries;
  fill(drawer,
    h("header", { class: "pane-head" }, h("h2", {}, "Wire"),
      h("a", { class: "plain-link", href: "/_control/wire.jsonl", target: "_blank" }, "JSONL"),
      h("button", { type: "button", class: "plain-button", "aria-label": "Close the wire", onclick: openDrawer }, icon("close"))),
    h("div", { class: "faults" }, FAULTS.map(([label, name, body, title]) => h("button", {
      type: "button", class: "button fault", title, "data-testid": `fault-${name}`, onclick: () => post(`/_control/faults/${name}`, body),
    }, label))),
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
    const found = (await read("/_control/wire")).entries.find((one) => one.seq === entry.seq);
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
