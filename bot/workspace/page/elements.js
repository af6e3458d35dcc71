// Interactive elements. `host` says where they are: { key, where, rerender }; `where` goes into a click.

import { post } from "./api.js";
import { h, icon } from "./dom.js";
import { emoji } from "./emoji.js";
import { plain, textObject } from "./mrkdwn.js";
import { confirmFirst } from "./overlays.js";
import { remember, state, valuesOf } from "./state.js";

export function element(el, block, host) {
  const draw = DRAW[el.type];
  if (!draw) return h("span", { class: "unsupported" }, `[${el.type}]`);
  return draw(el, block, host);
}

async function act(el, block, host) {
  if (el.confirm && !(await confirmFirst(el.confirm))) return;
  const key = `${host.key}/${block.block_id}/${el.action_id}`;
  state.clicks.set(key, "pending");
  host.rerender();
  const at = { ...host.where(), block_id: block.block_id, action_id: el.action_id, values: valuesOf(host.key) };
  const { outcome } = await post("/_page/click", { person: state.me, ...at });
  if (outcome === "acked") state.clicks.delete(key);
  else state.clicks.set(key, outcome);
  host.rerender();
}

function status(el, block, host) {
  const now = state.clicks.get(`${host.key}/${block.block_id}/${el.action_id}`);
  if (now === "pending") return h("span", { class: "spinner", role: "progressbar", "aria-label": "Waiting for the app" });
  if (!now) return null;
  const said = now === "timed-out" ? "This app didn't respond in time." : "This app could not be reached.";
  return h("span", { class: "failed-click", role: "img", "aria-label": said, title: said, "data-testid": "click-failed" }, emoji("warning"));
}

function current(el, block, host, initial) {
  const given = valuesOf(host.key)[block.block_id];
  return given && el.action_id in given ? given[el.action_id] : initial;
}

const labelOf = (el, block) => block.label?.text ?? el.placeholder?.text ?? el.action_id;
const base = (el, block) => ({ "data-testid": "element", "data-action-id": el.action_id, "aria-label": labelOf(el, block) });

function button(el, block, host) {
  const pending = state.clicks.get(`${host.key}/${block.block_id}/${el.action_id}`) === "pending";
  const node = h("button", {
    type: "button", class: `button ${el.style ?? ""} ${pending ? "is-pending" : ""}`, disabled: pending,
    "data-testid": "button", "data-action-id": el.action_id,
    onclick: () => act(el, block, host),
  }, plain(el.text.text), pending ? h("span", { class: "spinner", "aria-hidden": "true" }) : null);
  return h("span", { class: "element" }, node, pending ? null : status(el, block, host));
}

function select(el, block, host, choices, initial) {
  const now = current(el, block, host, initial);
  const node = h("select", {
    ...base(el, block), class: "select",
    onchange: (event) => remember(host.key, block.block_id, el.action_id, event.target.value || null),
  },
  h("option", { value: "", selected: !now }, el.placeholder?.text ?? "Choose"),
  choices.map((choice) => h("option", { value: choice.value, selected: choice.value === now }, choice.label)));
  return h("span", { class: "element select-wrap" }, node, icon("caret"));
}

function staticSelect(el, block, host) {
  const choices = el.options.map((one) => ({ value: one.value, label: plain(one.text.text, false)[0] }));
  return select(el, block, host, choices, el.initial_option?.value);
}

function usersSelect(el, block, host) {
  const choices = state.overview.people.map((person) => ({ value: person.id, label: person.display_name }));
  return select(el, block, host, choices, el.initial_user);
}

function checkboxes(el, block, host) {
  const now = new Set(current(el, block, host, (el.initial_options ?? []).map((one) => one.value)));
  const pick = (value, on) => {
    if (on) now.add(value);
    else now.delete(value);
    remember(host.key, block.block_id, el.action_id, [...now]);
  };
  return h("fieldset", { ...base(el, block), class: "choices" }, el.options.map((one) => h("label", { class: "choice" },
    h("input", { type: "checkbox", value: one.value, checked: now.has(one.value), onchange: (event) => pick(one.value, event.target.checked) }),
    h("span", {}, textObject(one.text), one.description ? h("span", { class: "choice-more" }, textObject(one.description)) : null))));
}

function input(el, block, host, type, initial) {
  const props = {
    ...base(el, block), class: "text-input", placeholder: el.placeholder?.text,
    value: current(el, block, host, initial) ?? "", maxlength: el.max_length,
    oninput: (event) => remember(host.key, block.block_id, el.action_id, event.target.value),
  };
  return el.multiline ? h("textarea", { ...props, rows: 4 }) : h("input", { ...props, type });
}

const DRAW = {
  button,
  checkboxes,
  static_select: staticSelect,
  users_select: usersSelect,
  plain_text_input: (el, block, host) => input(el, block, host, "text", el.initial_value),
  datepicker: (el, block, host) => input(el, block, host, "date", el.initial_date),
};
