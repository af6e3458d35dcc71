// Starts the page: who, where, and what is shown; redraws what a change touches.

import { listen, post, read } from "./api.js";
import { blocks } from "./blocks.js";
import { closedComposer, composer } from "./composer.js";
import { fill, h, icon } from "./dom.js";
import { addToWire, openDrawer } from "./drawer.js";
import { drawList, emptyLine } from "./messages.js";
import { plain } from "./mrkdwn.js";
import { drawModals } from "./overlays.js";
import { drawSidebar } from "./sidebar.js";
import { channelNamed, state } from "./state.js";

const byId = (id) => document.getElementById(id);
let stop = null;

// Reads again when a change was told while the answer was on its way, so that nothing told is overwritten.
async function fresh(path, query) {
  for (;;) {
    const answer = await read(path, { as: state.me, ...query });
    if (answer.version >= state.version) return answer;
  }
}

async function become(person) {
  state.me = person;
  state.clicks.clear();
  state.thread = null;
  state.overview = await read("/_page/overview", { as: person });
  stop?.();
  stop = listen(person, catchUp, changed);
}

async function catchUp() {
  state.overview = await read("/_page/overview", { as: state.me });
  document.body.dataset.live = "on";
  state.views = (await fresh("/_page/modals")).views;
  const { kind, channel } = state.place;
  const here = kind === "channel" ? channelNamed(channel) : null;
  const firstOfMine = state.overview.channels.find((one) => one.is_member && !one.is_im);
  const pointed = path && !path.done;
  await go(kind === "channel" ? { kind, channel: (here?.is_member ? here : firstOfMine).id } : state.place);
  drawModals();
  if (pointed) pointOut(`${path[2]}.${path[3]}`);
  if (path) path.done = true;
}

async function go(place) {
  document.body.classList.remove("side-open");
  if (place.person) return become(place.person);
  state.place = place;
  const direct = state.overview.channels.find((one) => one.is_im);
  const channel = place.kind === "channel" ? place.channel : direct?.id;
  const query = new URLSearchParams({ as: state.me, ...(place.kind === "home" ? { home: "1" } : { channel: channelNamed(channel)?.name }) });
  history.replaceState(null, "", `/?${query}`);
  if (place.kind === "home") {
    await post("/_page/look", { person: state.me, channel: null });
    state.home = (await fresh("/_page/home")).view;
  }
  state.messages = new Map();
  if (channel) {
    const { messages } = await fresh("/_page/messages", { channel, all: "1" });
    state.messages = new Map();
    messages.forEach((message) => state.messages.set(message.ts, message));
    await seen(channel);
  }
  if (state.thread && !state.messages.has(state.thread)) state.thread = null;
  draw(true);
}

async function seen(channel) {
  await post("/_page/look", { person: state.me, channel });
  const known = channelNamed(channel);
  if (known) known.unread = 0;
}

function draw(toEnd = false) {
  drawSidebar(go);
  drawHead();
  if (state.place.kind === "home") drawHome();
  else drawChannel(toEnd);
  drawThread();
}

function drawHead() {
  const channel = state.place.kind === "channel" ? channelNamed(state.place.channel) : null;
  const title = channel ? [channel.is_im ? null : icon("hash"), channel.is_im ? state.overview.app.display_name : channel.name] : [state.overview.app.display_name];
  document.title = `${channel ? `#${channel.name}` : state.overview.app.display_name} – ${state.overview.team.name}`;
  fill(byId("head"),
    h("button", { type: "button", class: "plain-button only-phone", "aria-label": "Channels", onclick: () => document.body.classList.toggle("side-open") }, icon("menu")),
    h("h1", { "data-testid": "place" }, title),
    channel?.topic ? h("span", { class: "topic" }, channel.topic) : null,
    h("span", { class: "head-space" }),
    channel ? h("span", { class: "member-count", title: "Members" }, icon("people"), String(channel.member_count)) : null,
    h("button", { type: "button", class: "plain-button", "aria-label": "Wire", title: "What passes between Slack and the app", "data-testid": "wire-toggle", onclick: openDrawer }, icon("wire")));
}

function drawChannel(toEnd) {
  const pane = byId("pane");
  const channel = channelNamed(state.place.channel);
  const key = `${state.me}/${channel.id}/${channel.is_member}/${channel.is_archived}`;
  if (pane.dataset.key !== key) {
    pane.dataset.key = key;
    fill(pane, h("ol", { class: "messages", "data-testid": "messages", "aria-label": "Messages" }), foot(channel));
  }
  const list = pane.querySelector(".messages");
  const shown = inOrder().filter((message) => !isReply(message));
  if (shown.length) list.querySelector(".empty")?.remove();
  drawList(list, shown, { redraw: draw, openThread, toEnd });
  if (!shown.length) fill(list, emptyLine(`This is the very beginning of #${channel.name}.`));
}

function foot(channel, thread = null) {
  if (channel.is_archived) return closedComposer("This channel is archived.");
  if (!channel.is_member) return closedComposer(`You are looking at #${channel.name} without being in it.`);
  return composer(channel, thread);
}

function drawHome() {
  const pane = byId("pane");
  pane.dataset.key = "home";
  const { home, me } = state;
  const host = { key: `home ${me}`, rerender: drawHome, where: () => ({ view_id: state.home.id }) };
  const body = home ? blocks(home.blocks, host) : h("p", { class: "empty" }, `${state.overview.app.display_name} has not shown a Home yet.`);
  const direct = state.overview.channels.find((one) => one.is_im);
  fill(pane, h("div", { class: "tabs", role: "tablist" },
    h("button", { type: "button", role: "tab", class: "tab", "aria-selected": "true" }, "Home"),
    direct ? h("button", { type: "button", role: "tab", class: "tab", "aria-selected": "false", onclick: () => go({ kind: "channel", channel: direct.id }) }, "Messages") : null),
  h("div", { class: "home", "data-testid": "home" }, h("div", { class: "home-body" }, body)));
}

function openThread(message) {
  state.thread = message.ts;
  drawThread(true);
}

function drawThread(toEnd = false) {
  const side = byId("thread");
  side.hidden = !state.thread;
  document.body.classList.toggle("thread-open", Boolean(state.thread));
  if (!state.thread) return;
  const channel = channelNamed(state.messages.get(state.thread).channel);
  if (side.dataset.key !== `${state.me}/${state.thread}`) {
    side.dataset.key = `${state.me}/${state.thread}`;
    fill(side, h("header", { class: "pane-head" }, h("h2", {}, "Thread", h("small", {}, plain(`#${channel.name}`))),
      h("button", { type: "button", class: "plain-button", "aria-label": "Close thread", onclick: () => { state.thread = null; drawThread(); } }, icon("close"))),
    h("ol", { class: "messages", "data-testid": "thread-messages", "aria-label": "Replies" }), foot(channel, state.thread));
  }
  const shown = inOrder().filter((message) => message.ts === state.thread || message.thread_ts === state.thread);
  drawList(side.querySelector(".messages"), shown, { redraw: draw, openThread, inThread: true, toEnd });
}

const inOrder = () => [...state.messages.values()].sort((a, b) => (a.ts < b.ts ? -1 : 1));
const isReply = (message) => message.thread_ts && message.thread_ts !== message.ts;

async function changed(change) {
  state.version = change.version;
  const here = state.place.kind === "channel" ? state.place.channel : null;
  if (change.kind === "wire") return addToWire(change.entry);
  if (change.kind === "modals") {
    state.views = change.views;
    return drawModals();
  }
  if (change.kind === "home") {
    state.home = change.view;
    return state.place.kind === "home" ? drawHome() : null;
  }
  if (change.kind === "message" && change.channel === here) {
    state.messages.set(change.message.ts, change.message);
    if (change.message.rev === 1 && document.hasFocus()) await seen(here);
    return draw();
  }
  if (change.kind === "gone" && change.channel === here) {
    state.messages.delete(change.ts);
    if (state.thread === change.ts) state.thread = null;
    return draw();
  }
  state.overview = await read("/_page/overview", { as: state.me });
  return draw();
}

function pointOut(ts) {
  const message = state.messages.get(ts);
  if (message && isReply(message)) openThread({ ts: message.thread_ts });
  const node = document.querySelector(`[data-ts="${CSS.escape(ts)}"]`);
  node?.classList.add("pointed-out");
  node?.scrollIntoView({ block: "center" });
}

const asked = new URLSearchParams(location.search);
const path = location.pathname.match(/^\/archives\/(\w+)\/p(\d+)(\d{6})$/);
state.place = asked.get("home") ? { kind: "home" } : { kind: "channel", channel: path?.[1] ?? asked.get("channel") ?? "orders-oncall" };
await become(state.me);
