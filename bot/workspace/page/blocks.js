// Layout blocks.

import { h } from "./dom.js";
import { element } from "./elements.js";
import { plain, textObject } from "./mrkdwn.js";

export function blocks(list, host) {
  return list.map((block) => {
    const draw = DRAW[block.type];
    return h("div", { class: `block block-${block.type}`, "data-testid": "block", "data-block-id": block.block_id },
      draw ? draw(block, host) : h("span", { class: "unsupported" }, `[${block.type}]`));
  });
}

function section(block, host) {
  return [
    h("div", { class: "section-body" },
      block.text ? h("div", { class: "section-text" }, textObject(block.text)) : null,
      block.fields ? h("div", { class: "fields" }, block.fields.map((field) => h("div", { class: "field" }, textObject(field)))) : null),
    block.accessory ? h("div", { class: "accessory" }, element(block.accessory, block, host)) : null,
  ];
}

function context(block) {
  return block.elements.map((one) => h("span", { class: "context-text" }, textObject(one)));
}

function input(block, host) {
  const error = host.errors?.[block.block_id];
  const mended = ({ currentTarget: row }) => {
    delete host.errors[block.block_id];
    row.classList.remove("has-error");
    row.querySelector(".input-error")?.remove();
  };
  return h("div", { class: `input-row ${error ? "has-error" : ""}`, oninput: error ? mended : null },
    h("div", { class: "input-label" }, plain(block.label.text), block.optional ? h("span", { class: "optional" }, " (optional)") : null),
    element(block.element, block, host),
    error ? h("div", { class: "input-error", role: "alert", "data-testid": "input-error" }, error) : null,
    block.hint ? h("div", { class: "input-hint" }, plain(block.hint.text)) : null);
}

function table(block) {
  const settings = block.column_settings ?? [];
  const cell = (tag) => (one, index) => h(tag, {
    class: `align-${settings[index]?.align ?? "left"} ${settings[index]?.is_wrapped ? "is-wrapped" : ""}`,
  }, one.text);
  const [head, ...rows] = block.rows;
  return h("div", { class: "table-scroll" }, h("table", { class: "slack-table", "data-testid": "table" },
    h("thead", {}, h("tr", {}, head.map(cell("th")))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell("td")))))));
}

function container(block, host) {
  return h("details", { open: !block.default_collapsed }, h("summary", {}, plain(block.title.text)),
    blocks(block.child_blocks, host));
}

const DRAW = {
  container,
  section,
  context,
  table,
  input,
  header: (block) => h("h3", {}, plain(block.text.text)),
  divider: () => h("hr"),
  actions: (block, host) => block.elements.map((one) => element(one, block, host)),
};
