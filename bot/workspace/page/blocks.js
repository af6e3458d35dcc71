// Layout blocks.

import { h } from "./dom.js";
import { element } from "./elements.js";
import { emoji } from "./emoji.js";
import { markdown } from "./markdown.js";
import { formatDate, link, ping, plain, textObject } from "./mrkdwn.js";
import { names } from "./state.js";

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
    block.accessory ? h("div", { class: "accessory" }, block.accessory.type === "image" ? image(block.accessory) : element(block.accessory, block, host)) : null,
  ];
}

function context(block) {
  return block.elements.map((one) => (one.type === "image" ? image(one) : h("span", { class: "context-text" }, textObject(one))));
}

function image(one) {
  return h("img", { src: one.image_url, alt: one.alt_text, loading: "lazy", referrerpolicy: "no-referrer" });
}

function imageBlock(block) {
  return h("figure", {}, block.title ? h("figcaption", {}, plain(block.title.text)) : null, image(block));
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
    class: `align-${settings[index]?.align ?? (one.type === "raw_number" ? "right" : "left")} ${settings[index]?.is_wrapped ? "is-wrapped" : ""}`,
  }, cellText(one));
  const [head, ...rows] = block.rows;
  return h("div", { class: "table-scroll" }, h("table", { class: "slack-table", "data-testid": "table" },
    h("thead", {}, h("tr", {}, head.map(cell("th")))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell("td")))))));
}

function cellText(one) {
  if (one.type === "rich_text") return richText(one);
  return one.type === "raw_number" ? String(one.text ?? one.value) : one.text;
}

function richText(block) {
  return block.elements.map((part) => {
    if (part.type === "rich_text_list") {
      const items = part.elements.map((item) => h("li", {}, item.elements.map(richInline)));
      return h(part.style === "ordered" ? "ol" : "ul", { class: `indent-${part.indent ?? 0}`, start: part.offset ? part.offset + 1 : null }, items);
    }
    const tag = { rich_text_preformatted: "pre", rich_text_quote: "blockquote" }[part.type] ?? "div";
    return h(tag, { class: tag === "pre" ? "code-block" : "rich-section" }, part.elements.map(richInline));
  });
}

function richInline(one) {
  const inner = richBare(one);
  const style = one.style ?? {};
  return [["code", "code"], ["strike", "s"], ["italic", "em"], ["bold", "strong"]].reduce(
    (node, [name, tag]) => (style[name] ? h(tag, {}, node) : node), inner);
}

function richBare(one) {
  switch (one.type) {
    case "link": return link(one.url, one.text ?? one.url);
    case "emoji": return emoji(one.name) ?? `:${one.name}:`;
    case "user": return ping(`@${names().get(one.user_id) ?? one.user_id}`, one.user_id);
    case "usergroup": return ping(`@${names().get(one.usergroup_id) ?? one.usergroup_id}`, one.usergroup_id);
    case "channel": return h("a", { class: "ping" }, `#${names().get(one.channel_id) ?? one.channel_id}`);
    case "broadcast": return ping(`@${one.range}`, "everyone");
    case "date": return h("time", {}, formatDate(one.timestamp, one.format) ?? one.fallback ?? "");
    case "color": return h("code", {}, one.value);
    default: return h("span", { class: "rich-run" }, one.text);
  }
}

const DRAW = {
  section,
  context,
  table,
  input,
  header: (block) => h("h3", {}, plain(block.text.text)),
  divider: () => h("hr"),
  image: imageBlock,
  actions: (block, host) => block.elements.map((one) => element(one, block, host)),
  markdown: (block) => markdown(block.text),
  rich_text: richText,
  alert: (block) => h("div", { class: `alert alert-${block.level ?? "default"}`, role: "note" }, textObject(block.text)),
};
