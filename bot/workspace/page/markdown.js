// The markdown block: standard Markdown, as much of it as Slack shows.

import { h } from "./dom.js";
import { link } from "./mrkdwn.js";

const INLINE = [
  ["code", /`([^`]+)`/],
  ["link", /\[([^\]]+)\]\(([^)\s]+)\)/],
  ["strong", /\*\*(.+?)\*\*/],
  ["s", /~~(.+?)~~/],
  ["em", /(?<![\w*])[*_](?=\S)(.+?)(?<=\S)[*_](?![\w*])/],
];

export function markdown(text) {
  const nodes = [];
  const lines = text.split("\n");
  while (lines.length) nodes.push(block(lines));
  return nodes.filter(Boolean);
}

function block(lines) {
  const line = lines.shift();
  if (!line.trim()) return null;
  if (line.startsWith("```")) return h("pre", { class: "code-block" }, until(lines, (next) => next.startsWith("```")).join("\n"));
  const heading = line.match(/^(#{1,6})\s+(.*)$/);
  if (heading) return h(`h${Math.min(heading[1].length + 2, 6)}`, {}, inline(heading[2]));
  if (/^(-{3,}|\*{3,})$/.test(line.trim())) return h("hr");
  if (line.startsWith(">")) return h("blockquote", {}, inline(line.replace(/^>\s?/, "")));
  if (isRow(line) && lines[0] && /^\|?[\s:|-]+\|?$/.test(lines[0])) return table(line, lines);
  const item = line.match(/^\s*([-*+]|\d+\.)\s+(.*)$/);
  if (item) return list(item, lines);
  return h("p", {}, inline([line, ...whileGoes(lines, (next) => next.trim() && !/^(#|>|```|\s*([-*+]|\d+\.)\s)/.test(next))].join(" ")));
}

function list(first, lines) {
  const pattern = /^\s*([-*+]|\d+\.)\s+(.*)$/;
  const items = [first[2], ...whileGoes(lines, (next) => pattern.test(next)).map((line) => line.match(pattern)[2])];
  return h(/\d/.test(first[1]) ? "ol" : "ul", {}, items.map((text) => h("li", {}, inline(text))));
}

function table(head, lines) {
  lines.shift();
  const rows = whileGoes(lines, isRow).map(cells);
  return h("div", { class: "table-scroll" }, h("table", { class: "slack-table" },
    h("thead", {}, h("tr", {}, cells(head).map((cell) => h("th", {}, inline(cell))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, inline(cell))))))));
}

function inline(text) {
  let best = null;
  for (const [kind, pattern] of INLINE) {
    const found = pattern.exec(text);
    if (found && (best === null || found.index < best.found.index)) best = { kind, found };
  }
  if (best === null) return [text];
  const { kind, found } = best;
  const inner = kind === "code" ? h("code", {}, found[1])
    : kind === "link" ? link(found[2], found[1]) : h(kind, {}, inline(found[1]));
  return [text.slice(0, found.index), inner, ...inline(text.slice(found.index + found[0].length))];
}

const isRow = (line) => line.includes("|");
const cells = (line) => line.replace(/^\s*\||\|\s*$/g, "").split("|").map((cell) => cell.trim());

function until(lines, ends) {
  const taken = [];
  while (lines.length) {
    const line = lines.shift();
    if (ends(line)) break;
    taken.push(line);
  }
  return taken;
}

function whileGoes(lines, goes) {
  const taken = [];
  while (lines.length && goes(lines[0])) taken.push(lines.shift());
  return taken;
}
