// The left side: the workspace, who you are, channels with unread counts, the app.

import { h, icon } from "./dom.js";
import { fill } from "./dom.js";
import { avatar } from "./messages.js";
import { popMenu } from "./overlays.js";
import { author, state } from "./state.js";

export function drawSidebar(go) {
  const { team, channels, app, me } = state.overview;
  const at = state.place;
  const direct = channels.find((channel) => channel.is_im);
  fill(document.getElementById("sidebar"),
    h("div", { class: "team" }, h("span", { class: "team-mark", "aria-hidden": "true" }, team.name[0]), h("span", { class: "team-name" }, team.name)),
    h("button", { type: "button", class: "switcher", "data-testid": "person-switcher", "aria-haspopup": "menu", onclick: (event) => popMenu(event.currentTarget, (done) => people(done, go)) },
      avatar(me, "small"), h("span", { class: "switcher-name" }, "You are ", h("strong", {}, author(me).name.split(" ")[0])), icon("caret")),
    h("div", { class: "side-scroll" },
      h("h2", { class: "side-title" }, "Channels"),
      h("ul", { class: "side-list" }, channels.filter((channel) => !channel.is_im).map((channel) => entry({
        label: channel.name, mark: icon(channel.is_archived ? "lock" : "hash"), unread: channel.unread, muted: !channel.is_member,
        chosen: at.kind === "channel" && at.channel === channel.id, go: () => go({ kind: "channel", channel: channel.id }),
      }))),
      h("h2", { class: "side-title" }, "Apps"),
      h("ul", { class: "side-list" }, entry({
        label: app.display_name, mark: h("img", { class: "avatar tiny", src: "/page/icon.svg", alt: "" }), unread: direct?.unread ?? 0,
        chosen: at.kind === "home", go: () => go({ kind: "home" }), testid: "app-home",
      }))),
    h("div", { class: "side-foot" }, h("span", { class: "live-dot" }), "A Slack workspace on this machine"));
}

function entry({ label, mark, unread, muted, chosen, go, testid }) {
  return h("li", {}, h("button", {
    type: "button", class: `side-item ${chosen ? "chosen" : ""} ${unread ? "unread" : ""} ${muted ? "muted" : ""}`,
    "aria-current": chosen ? "page" : null, "data-testid": testid ?? `channel-${label}`, onclick: go,
  }, mark, h("span", { class: "side-label" }, label), unread ? h("span", { class: "count", "aria-label": `${unread} unread` }, String(unread)) : null));
}

function people(done, go) {
  return [
    h("div", { class: "menu-title" }, "Act as"),
    ...state.overview.people.map((person) => h("button", {
      type: "button", role: "menuitem", class: `menu-item person ${person.id === state.overview.me ? "chosen" : ""}`,
      "data-testid": `be-${person.name}`,
      onclick: () => { done(); go({ person: person.name }); },
    }, avatar(person.id, "small"), h("span", {}, h("strong", {}, person.display_name), h("small", {}, person.title)))),
  ];
}
