// Where a person types: Enter sends, `/` offers the registered commands, `@` offers people and groups.

import { post } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { state } from "./state.js";

export function composer(channel, thread) {
  const label = thread ? "Reply…" : `Message ${channel.is_im ? state.overview.app.display_name : `#${channel.name}`}`;
  const offers = h("div", { class: "offers", role: "listbox", hidden: true, "data-testid": "offers" });
  const box = h("textarea", {
    rows: 1, placeholder: label, "aria-label": label, "data-testid": thread ? "thread-composer" : "composer",
    oninput: () => { grow(box); offer(box, offers); },
    onkeydown: (event) => keyed(event, box, offers, send),
  });
  const send = async () => {
    const text = box.value.trim();
    if (!text) return;
    box.value = "";
    grow(box);
    fill(offers).hidden = true;
    const answer = await post("/_page/say", { person: state.me, channel: channel.id, text, thread_ts: thread ?? null });
    if (answer.outcome === "refused" && answer.message && !box.value) box.value = text;
  };
  return h("form", { class: "composer", onsubmit: (event) => { event.preventDefault(); send(); } }, offers,
    h("div", { class: "composer-box" }, box,
      h("button", { type: "submit", class: "send", "aria-label": "Send", title: "Send (Enter)" }, icon("send"))));
}

export function closedComposer(text) {
  return h("div", { class: "composer closed" }, h("div", { class: "composer-box" }, text));
}

function grow(box) {
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight, 180)}px`;
}

function offer(box, offers) {
  const text = box.value.slice(0, box.selectionStart);
  const command = text.match(/^\/\S*$/);
  const name = text.match(/(?:^|\s)@([\w.-]*)$/);
  const typed = text.match(/^(\/\S+)\s/);
  if (command) return show(offers, commandOffers(box, command[0]));
  if (name) return show(offers, nameOffers(box, name[1]));
  const known = typed && state.overview.app.commands.find((one) => one.command === typed[1]);
  return show(offers, known ? [hint(known)] : []);
}

function show(offers, nodes) {
  fill(offers, nodes).hidden = nodes.length === 0;
  const first = offers.querySelector("button");
  first?.classList.add("is-chosen");
}

function commandOffers(box, typed) {
  return state.overview.app.commands.filter((one) => one.command.startsWith(typed)).map((one) => row(box, `${one.command} `, typed.length, [
    h("img", { class: "avatar tiny", src: "/page/icon.svg", alt: "" }),
    h("span", { class: "offer-main" }, h("strong", {}, one.command), " ", h("span", { class: "offer-hint" }, one.usage_hint)),
    h("span", { class: "offer-more" }, one.description)]));
}

function nameOffers(box, typed) {
  const { people, groups } = state.overview;
  const all = [
    ...people.map((one) => ({ name: one.name, more: one.display_name })),
    ...groups.map((one) => ({ name: one.handle, more: one.name })),
  ];
  return all.filter((one) => one.name.startsWith(typed.toLowerCase())).slice(0, 7).map((one) => row(box, `@${one.name} `, typed.length + 1, [
    h("span", { class: "offer-main" }, h("strong", {}, `@${one.name}`)), h("span", { class: "offer-more" }, one.more)]));
}

function hint(command) {
  return h("div", { class: "offer hint" }, h("strong", {}, command.command), " ", h("span", { class: "offer-hint" }, command.usage_hint));
}

function row(box, text, length, children) {
  return h("button", {
    type: "button", class: "offer", role: "option",
    onclick: () => {
      const end = box.selectionStart;
      box.setRangeText(text, end - length, end, "end");
      box.focus();
      box.dispatchEvent(new Event("input"));
    },
  }, children);
}

function keyed(event, box, offers, send) {
  const rows = [...offers.querySelectorAll("button")];
  const at = rows.findIndex((one) => one.classList.contains("is-chosen"));
  const exact = rows.length === 1 && rows[0].textContent.startsWith(`${box.value} `);
  if (rows.length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    const next = (at + (event.key === "ArrowDown" ? 1 : rows.length - 1)) % rows.length;
    rows.forEach((one, index) => one.classList.toggle("is-chosen", index === next));
  } else if (rows.length && (event.key === "Tab" || (event.key === "Enter" && !exact))) {
    event.preventDefault();
    rows[Math.max(at, 0)].click();
  } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    send();
  } else if (event.key === "Escape") {
    fill(offers).hidden = true;
  }
}
