// Messages of a channel or thread: drawn once, redrawn in place when one of them changes.

import { post } from "./api.js";
import { blocks } from "./blocks.js";
import { fill, h, icon } from "./dom.js";
import { mrkdwn } from "./mrkdwn.js";
import { author, state } from "./state.js";

const GROUP_S = 300;

export function avatar(id, size = "") {
  const who = author(id);
  if (who.initials) return h("span", { class: `avatar ${size}`, color: who.color, "aria-hidden": "true" }, who.initials);
  return h("img", { class: `avatar ${size}`, src: "/page/icon.svg", alt: "" });
}

export function clock(ts) {
  return new Date(Number(ts) * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

export function drawList(list, messages, options) {
  const old = new Map([...list.children].map((node) => [node.dataset.key, node]));
  const nodes = [];
  let before = null;
  for (const message of messages) {
    const day = new Date(Number(message.ts) * 1000).toDateString();
    if (!options.inThread && day !== before?.day) nodes.push(keep(old, `day ${day}`, day, () => dayLine(day)));
    const joined = !(options.inThread && before?.first) && before && before.user === message.user && before.day === day && Number(message.ts) - before.ts < GROUP_S
      && !message.ephemeral_to && !before.private;
    const key = `${message.channel}/${message.ts}`;
    nodes.push(keep(old, key, stampOf(message, joined), () => draw(message, joined, options)));
    before = { user: message.user, day, ts: Number(message.ts), private: message.ephemeral_to !== null, first: before === null };
    if (options.inThread && before.first && messages.length > 1) {
      nodes.push(keep(old, "count", String(messages.length), () => countLine(messages.length - 1)));
    }
  }
  const following = list.scrollHeight - list.scrollTop - list.clientHeight < 120;
  nodes.forEach((node, index) => {
    if (list.children[index] !== node) list.insertBefore(node, list.children[index] ?? null);
  });
  while (list.children.length > nodes.length) list.lastChild.remove();
  if (following || options.toEnd) list.scrollTop = list.scrollHeight;
}

function keep(old, key, stamp, make) {
  const found = old.get(key);
  if (found && found.dataset.stamp === stamp) return found;
  const node = make();
  node.dataset.key = key;
  node.dataset.stamp = stamp;
  return node;
}

function stampOf(message, joined) {
  const clicks = [...state.clicks].filter(([key]) => key.startsWith(`${message.ts}/`));
  return JSON.stringify([message.rev, message.reply_count, message.latest_reply, joined, clicks]);
}

function dayLine(day) {
  const today = day === new Date().toDateString();
  const label = today ? "Today" : new Date(day).toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long" });
  return h("li", { class: "day", role: "separator" }, h("span", {}, label));
}

function countLine(count) {
  return h("li", { class: "reply-count", role: "separator" }, h("span", {}, `${count} ${count === 1 ? "reply" : "replies"}`));
}

function draw(message, joined, options) {
  const who = author(message.user);
  const host = {
    key: message.ts,
    where: () => ({ channel: message.channel, ts: message.ts, rev: message.rev }),
    rerender: options.redraw,
  };
  return h("li", {
    class: `message ${joined ? "joined" : ""} ${message.ephemeral_to ? "ephemeral" : ""}`,
    "data-testid": "message", "data-ts": message.ts, "data-rev": String(message.rev),
  },
  h("div", { class: "gutter" }, joined ? h("time", { class: "small-time" }, clock(message.ts)) : avatar(message.user)),
  h("div", { class: "body" },
    message.ephemeral_to ? h("div", { class: "only-you", "data-testid": "only-you" }, icon("eye"), "Only visible to you") : null,
    joined ? null : h("div", { class: "byline" },
      h("span", { class: "author" }, who.name), who.isApp ? h("span", { class: "badge" }, "APP") : null,
      h("time", { class: "time", title: new Date(Number(message.ts) * 1000).toISOString() }, clock(message.ts))),
    h("div", { class: "content" }, content(message, host)),
    !options.inThread && message.reply_count ? threadLine(message, options) : null),
  message.ephemeral_to ? null : toolbar(message, options));
}

function content(message, host) {
  const parts = message.blocks.length ? blocks(message.blocks, host) : [h("div", { class: "text" }, mrkdwn(message.text))];
  for (const attachment of message.attachments) {
    parts.push(h("div", { class: "attachment" }, attachment.blocks ? blocks(attachment.blocks, host) : mrkdwn(attachment.text ?? attachment.fallback ?? "")));
  }
  for (const file of message.files) {
    if (file.mimetype === "image/png") {
      parts.push(h("a", { class: "image", href: file.url_private, download: file.name, title: file.title },
        h("img", { src: file.url_private, alt: file.alt_txt || file.title, width: file.original_w, height: file.original_h })));
      continue;
    }
    parts.push(h("a", { class: "file", href: file.url_private, download: file.name }, icon("file"),
      h("span", {}, h("strong", {}, file.title), h("small", {}, `${file.name} · ${file.size.toLocaleString("en")} bytes`))));
  }
  if (message.edited_ts) parts.push(h("span", { class: "edited" }, "(edited)"));
  return parts;
}

function threadLine(message, options) {
  const count = message.reply_count;
  return h("button", { type: "button", class: "thread-line", "data-testid": "replies", onclick: () => options.openThread(message) },
    message.reply_users.slice(0, 4).map((user) => avatar(user, "tiny")),
    h("span", { class: "thread-count" }, `${count} ${count === 1 ? "reply" : "replies"}`),
    h("span", { class: "thread-when" }, `Last reply at ${clock(message.latest_reply)}`));
}

function toolbar(message, options) {
  return h("div", { class: "toolbar" },
    state.overview.app.shortcuts.map((shortcut) => h("button", {
      type: "button", class: "shortcut", title: `${shortcut.name} (${state.overview.app.display_name})`,
      onclick: () => post("/_page/shortcut", { person: state.me, callback_id: shortcut.callback_id, channel: message.channel, ts: message.ts }),
    }, shortcut.name)),
    options.inThread ? null : h("button", { type: "button", title: "Reply in thread", "aria-label": "Reply in thread", onclick: () => options.openThread(message) }, icon("reply")));
}

export function emptyLine(text) {
  return fill(h("li", { class: "empty" }), text);
}
