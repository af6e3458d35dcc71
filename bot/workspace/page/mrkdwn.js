// Slack's mrkdwn as DOM nodes. Entities are decoded exactly once, and only the three that Slack knows.

import { h } from "./dom.js";
import { emoji } from "./emoji.js";
import { names, state } from "./state.js";

const PATTERNS = [
  ["code", /`([^`\n]+)`/],
  ["mark", /<([^<>|\n]+)(?:\|([^<>\n]*))?>/],
  ["bold", /(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])/],
  ["italic", /(?<![\w_])_(?=\S)([^_\n]+?)(?<=\S)_(?![\w_])/],
  ["strike", /(?<![\w~])~(?=\S)([^~\n]+?)(?<=\S)~(?![\w~])/],
  ["emoji", /:([a-z0-9_+-]+):/],
  ["url", /https?:\/\/[^\s<>|*`]+[^\s<>|*`.,;:!?)\]]/],
];
const STYLE = { bold: "strong", italic: "em", strike: "s" };

export function unescape(text) {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

export function mrkdwn(text) {
  return text.split("```").flatMap((part, index) => {
    if (index % 2) return [h("pre", { class: "code-block" }, unescape(part.replace(/^\n|\n$/g, "")))];
    return lines(part);
  });
}

export function plain(text, withEmoji = true) {
  if (!withEmoji) return [unescape(text)];
  return text.split(/(:[a-z0-9_+-]+:)/).map((part) => emojiOr(part, unescape(part)));
}

export function textObject(object) {
  return object.type === "mrkdwn" ? mrkdwn(object.text) : plain(object.text);
}

function lines(text) {
  const nodes = [];
  let quote = null;
  text.split("\n").forEach((line, index, all) => {
    const quoted = line.match(/^(?:&gt;|>)\s?(.*)$/);
    if (quoted) {
      if (!quote) nodes.push((quote = h("blockquote", {})));
      else quote.append(h("br"));
      quote.append(...inline(quoted[1]));
      return;
    }
    const afterQuote = quote !== null;
    quote = null;
    if (index > 0 && !afterQuote) nodes.push(h("br"));
    if (!(afterQuote && line === "" && index === all.length - 1)) nodes.push(...inline(line));
  });
  return nodes;
}

export function inline(text) {
  let best = null;
  for (const [kind, pattern] of PATTERNS) {
    const found = pattern.exec(text);
    if (found && (best === null || found.index < best.found.index)) best = { kind, found };
  }
  if (best === null) return text ? [unescape(text)] : [];
  const { kind, found } = best;
  const before = text.slice(0, found.index);
  const after = text.slice(found.index + found[0].length);
  return [before ? unescape(before) : null, node(kind, found), ...inline(after)].filter((part) => part !== null);
}

function node(kind, found) {
  if (kind === "code") return h("code", {}, unescape(found[1]));
  if (kind === "mark") return mark(found[1], found[2]);
  if (kind === "emoji") return emojiOr(found[0], found[0]);
  if (kind === "url") return link(unescape(found[0]), unescape(found[0]));
  return h(STYLE[kind], {}, ...inline(found[1]));
}

function emojiOr(part, otherwise) {
  const found = /^:([a-z0-9_+-]+):$/.exec(part);
  const symbol = found && emoji(found[1]);
  return symbol ? h("span", { class: "emoji", role: "img", "aria-label": found[1], title: part }, symbol) : otherwise;
}

function mark(target, label) {
  if (target.startsWith("@")) return ping(`@${names().get(target.slice(1)) ?? label ?? target.slice(1)}`, target.slice(1));
  if (target.startsWith("#")) return h("a", { class: "ping" }, `#${names().get(target.slice(1)) ?? label ?? target.slice(1)}`);
  if (target.startsWith("!subteam^")) {
    const id = target.slice("!subteam^".length);
    return ping(`@${names().get(id) ?? (label ?? id).replace(/^@/, "")}`, id);
  }
  if (target.startsWith("!date^")) return dateOf(target, label);
  if (target.startsWith("!")) return ping(`@${target.slice(1)}`, "everyone");
  return link(unescape(target), unescape(label || target.replace(/^mailto:/, "")));
}

export function ping(text, target) {
  const { me, groups } = state.overview;
  const mine = target === me || target === "everyone" || groups.some((one) => one.id === target && one.members.includes(me));
  return h("span", { class: `ping ${mine ? "mine" : ""}`, "data-testid": "ping", "data-target": target }, text);
}

export function link(url, label) {
  if (!/^(https?:|mailto:)/i.test(url)) return label;
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, label);
}

// The forms of date that the bot writes: a time, with seconds or without, and a day as people say it.
function dateOf(target, fallback) {
  const [, stamp, format] = target.split("^");
  const at = new Date(Number(stamp) * 1000);
  const say = (options) => at.toLocaleString("en-GB", options);
  const parts = {
    time: say({ hour: "2-digit", minute: "2-digit" }),
    time_secs: say({ hour: "2-digit", minute: "2-digit", second: "2-digit" }),
    date_short_pretty: dayOf(at) ?? say({ day: "numeric", month: "short", year: "numeric" }),
  };
  return h("time", { title: fallback ?? "" }, format.replace(/\{(\w+)\}/g, (whole, name) => parts[name] ?? whole));
}

function dayOf(at) {
  const day = (days) => new Date(Date.now() + days * 86400000).toDateString();
  return { [day(-1)]: "yesterday", [day(0)]: "today", [day(1)]: "tomorrow" }[at.toDateString()];
}
