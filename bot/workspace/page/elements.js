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
  return draw(el, block, host, block.type === "input" && !block.dispatch_action);
}

async function act(el, block, host, raw) {
  if (el.confirm && !(await confirmFirst(el.confirm))) return;
  const key = `${host.key}/${block.block_id}/${el.action_id}`;
  state.clicks.set(key, "pending");
  host.rerender();
  const at = { ...host.where(), block_id: block.block_id, action_id: el.action_id, raw, values: valuesOf(host.key) };
  const { outcome } = await post("/_page/click", { person: state.me, at });
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

function changed(el, block, host, raw, quiet) {
  remember(host.key, block.block_id, el.action_id, raw);
  if (!quiet) act(el, block, host, raw);
}

function current(el, block, host, initial) {
  const given = valuesOf(host.key)[block.block_id];
  return given && el.action_id in given ? given[el.action_id] : initial;
}

const labelOf = (el, block) => el.accessibility_label ?? block.label?.text ?? el.placeholder?.text ?? el.action_id;
const base = (el, block) => ({ "data-testid": "element", "data-action-id": el.action_id, "aria-label": labelOf(el, block) });

function button(el, block, host) {
  const pending = state.clicks.get(`${host.key}/${block.block_id}/${el.action_id}`) === "pending";
  const node = h("button", {
    type: "button", class: `button ${el.style ?? ""} ${pending ? "is-pending" : ""}`, disabled: pending,
    "data-testid": "button", "data-action-id": el.action_id, "aria-label": el.accessibility_label,
    onclick: () => {
      if (el.url) window.open(el.url, "_blank", "noopener");
      act(el, block, host, null);
    },
  }, plain(el.text.text), pending ? h("span", { class: "spinner", "aria-hidden": "true" }) : null);
  return h("span", { class: "element" }, node, pending ? null : status(el, block, host));
}

function select(el, block, host, quiet, choices, initial) {
  const now = current(el, block, host, initial);
  const node = h("select", {
    ...base(el, block), class: "select",
    onchange: (event) => changed(el, block, host, event.target.value || null, quiet),
  },
  h("option", { value: "", selected: !now }, el.placeholder?.text ?? "Choose"),
  choices.map((choice) => choice.group
    ? h("optgroup", { label: choice.group }, choice.options.map((one) => option(one, now)))
    : option(choice, now)));
  return h("span", { class: "element select-wrap" }, node, icon("caret"), status(el, block, host));
}

const option = (choice, now) => h("option", { value: choice.value, selected: choice.value === now }, choice.label);
const asChoice = (one) => ({ value: one.value, label: plain(one.text.text, false)[0] });

function staticSelect(el, block, host, quiet) {
  const choices = el.option_groups
    ? el.option_groups.map((group) => ({ group: group.label.text, options: group.options.map(asChoice) }))
    : el.options.map(asChoice);
  return select(el, block, host, quiet, choices, el.initial_option?.value);
}

function usersSelect(el, block, host, quiet) {
  const choices = state.overview.people.map((person) => ({ value: person.id, label: person.display_name }));
  return select(el, block, host, quiet, choices, el.initial_user);
}

function channelsSelect(el, block, host, quiet) {
  const choices = state.overview.channels.filter((one) => !one.is_im).map((one) => ({ value: one.id, label: `#${one.name}` }));
  return select(el, block, host, quiet, choices, el.initial_channel ?? el.initial_conversation);
}

function many(el, block, host, quiet, choices, initial, kind = "checkbox") {
  const now = new Set([current(el, block, host, initial) ?? []].flat());
  const name = `${host.key}-${block.block_id}-${el.action_id}`;
  const pick = (value, on) => {
    if (kind === "radio") return changed(el, block, host, value, quiet);
    if (on) now.add(value);
    else now.delete(value);
    return changed(el, block, host, [...now], quiet);
  };
  return h("fieldset", { ...base(el, block), class: `choices ${el.type}` }, choices.map((choice) => h("label", { class: "choice" },
    h("input", { type: kind, name, value: choice.value, checked: now.has(choice.value), onchange: (event) => pick(choice.value, event.target.checked) }),
    h("span", {}, choice.shown, choice.more ? h("span", { class: "choice-more" }, choice.more) : null))), status(el, block, host));
}

const asShown = (one) => ({ value: one.value, shown: textObject(one.text), more: one.description && textObject(one.description) });
const valuesFrom = (options) => (options ?? []).map((one) => one.value);

function multiStatic(el, block, host, quiet) {
  const options = el.options ?? el.option_groups.flatMap((group) => group.options);
  return many(el, block, host, quiet, options.map(asShown), valuesFrom(el.initial_options));
}

function multiUsers(el, block, host, quiet) {
  const choices = state.overview.people.map((person) => ({ value: person.id, shown: person.display_name }));
  return many(el, block, host, quiet, choices, el.initial_users ?? []);
}

function overflow(el, block, host) {
  const menu = h("div", { class: "menu overflow-menu", role: "menu" }, el.options.map((one) => h("button", {
    type: "button", role: "menuitem", class: "menu-item",
    onclick: (event) => {
      event.target.closest("details").open = false;
      if (one.url) window.open(one.url, "_blank", "noopener");
      act(el, block, host, one.value);
    },
  }, plain(one.text.text))));
  return h("span", { class: "element" }, h("details", { class: "overflow" },
    h("summary", { class: "button icon-button", "aria-label": "More actions", "data-action-id": el.action_id }, icon("dots")), menu), status(el, block, host));
}

function input(el, block, host, quiet, type, initial) {
  const props = {
    ...base(el, block), class: "text-input", placeholder: el.placeholder?.text,
    value: current(el, block, host, initial) ?? "", maxlength: el.max_length,
    oninput: (event) => remember(host.key, block.block_id, el.action_id, event.target.value),
    onchange: (event) => changed(el, block, host, event.target.value, quiet),
  };
  return el.multiline ? h("textarea", { ...props, rows: 4 }) : h("input", { ...props, type });
}

const DRAW = {
  button,
  static_select: staticSelect,
  users_select: usersSelect,
  channels_select: channelsSelect,
  conversations_select: channelsSelect,
  multi_static_select: multiStatic,
  multi_users_select: multiUsers,
  checkboxes: (el, block, host, quiet) => many(el, block, host, quiet, el.options.map(asShown), valuesFrom(el.initial_options)),
  radio_buttons: (el, block, host, quiet) => many(el, block, host, quiet, el.options.map(asShown), el.initial_option?.value ?? [], "radio"),
  overflow,
  plain_text_input: (el, block, host, quiet) => input(el, block, host, quiet, "text", el.initial_value),
  number_input: (el, block, host, quiet) => input(el, block, host, quiet, "number", el.initial_value),
  datepicker: (el, block, host, quiet) => input(el, block, host, quiet, "date", el.initial_date),
  timepicker: (el, block, host, quiet) => input(el, block, host, quiet, "time", el.initial_time),
};
