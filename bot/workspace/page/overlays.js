// Modals and confirmation dialogs.

import { post } from "./api.js";
import { blocks } from "./blocks.js";
import { fill, h, icon, toast } from "./dom.js";
import { plain, textObject } from "./mrkdwn.js";
import { state, valuesOf } from "./state.js";

const errors = new Map();
let sending = null;
let drawn = null;

export function drawModals() {
  const layer = document.getElementById("overlays");
  const view = state.views.at(-1);
  const old = layer.querySelector("[data-testid=modal]");
  if (!view) {
    old?.remove();
    drawn = null;
    return;
  }
  const focused = document.activeElement?.dataset?.actionId;
  const scrolled = old?.querySelector(".modal-body")?.scrollTop ?? 0;
  const node = modal(view);
  if (old) old.replaceWith(node);
  else layer.prepend(node);
  const fresh = drawn !== view.id;
  drawn = view.id;
  node.querySelector(".modal-body").scrollTop = fresh ? 0 : scrolled;
  const again = !fresh && focused && node.querySelector(`[data-action-id="${CSS.escape(focused)}"]`);
  (again || node.querySelector(".has-error input, .has-error textarea, .has-error select") || node.querySelector("input, textarea, select, .primary, .button"))?.focus();
}

function modal(view) {
  const host = {
    key: view.id, errors: errors.get(view.id), rerender: drawModals,
    where: () => ({ view_id: view.id }),
  };
  const busy = sending === view.id;
  const close = () => post("/_page/close", { person: state.me, view_id: view.id });
  return h("div", { class: "shade", "data-testid": "modal" },
    h("form", {
      class: "modal", role: "dialog", "aria-modal": "true", "aria-label": view.title.text, novalidate: true,
      onsubmit: (event) => { event.preventDefault(); submit(view); },
      onkeydown: (event) => { if (event.key === "Escape") close(); },
    },
    h("header", { class: "modal-head" }, h("h2", {}, plain(view.title.text)),
      h("button", { type: "button", class: "plain-button", "aria-label": "Close", onclick: close }, icon("close"))),
    h("div", { class: "modal-body" }, blocks(view.blocks, host)),
    h("footer", { class: "modal-foot" },
      h("button", { type: "button", class: "button", "data-testid": "modal-close", onclick: close }, plain(view.close?.text ?? "Cancel")),
      view.submit ? h("button", { type: "submit", class: "button primary", disabled: busy, "data-testid": "modal-submit" },
        plain(view.submit.text), busy ? h("span", { class: "spinner" }) : null) : null)));
}

async function submit(view) {
  sending = view.id;
  errors.delete(view.id);
  drawModals();
  const answer = await post("/_page/submit", { person: state.me, view_id: view.id, values: valuesOf(view.id) });
  sending = null;
  if (Object.keys(answer.errors ?? {}).length) {
    errors.set(view.id, answer.errors);
    document.activeElement?.blur(); // the field that is wrong is gone to, wherever it lies
  } else if (answer.outcome !== "acked") toast("We had some trouble connecting. Try again?");
  drawModals();
}

export function confirmFirst(dialog) {
  return new Promise((resolve) => {
    const answer = (yes) => { node.remove(); resolve(yes); };
    const style = dialog.style === "danger" ? "danger" : "primary";
    const yes = h("button", { type: "button", class: `button ${style}`, "data-testid": "confirm-yes", onclick: () => answer(true) }, plain(dialog.confirm.text));
    const node = h("div", { class: "shade shade-top", "data-testid": "confirm" },
      h("div", {
        class: "modal confirm", role: "alertdialog", "aria-modal": "true", "aria-label": dialog.title.text,
        onkeydown: (event) => { if (event.key === "Escape") answer(false); },
      },
      h("header", { class: "modal-head" }, h("h2", {}, plain(dialog.title.text))),
      h("div", { class: "modal-body" }, textObject(dialog.text)),
      h("footer", { class: "modal-foot" },
        h("button", { type: "button", class: "button", "data-testid": "confirm-no", onclick: () => answer(false) }, plain(dialog.deny.text)), yes)));
    document.getElementById("overlays").append(node);
    yes.focus();
  });
}

export function popMenu(anchor, items) {
  document.querySelector(".floating")?.remove();
  const menu = h("div", { class: "menu floating", role: "menu" });
  const away = (event) => {
    if (event.type === "keydown" ? event.key === "Escape" : !menu.contains(event.target)) done();
  };
  const done = () => {
    menu.remove();
    document.removeEventListener("pointerdown", away, true);
    document.removeEventListener("keydown", away, true);
  };
  fill(menu, items(done));
  const box = anchor.getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(box.left, innerWidth - 288))}px`;
  menu.style.top = `${box.bottom + 6}px`;
  document.body.append(menu);
  document.addEventListener("pointerdown", away, true);
  document.addEventListener("keydown", away, true);
  menu.querySelector("button")?.focus();
}
