// What this page knows: who is looking, at what, and the messages and views it has been shown.

export const state = {
  me: new URLSearchParams(location.search).get("as") ?? "ana",
  version: 0,
  overview: null,
  place: { kind: "channel", channel: null },
  messages: new Map(),
  thread: null,
  views: [],
  home: null,
  values: new Map(),
  clicks: new Map(),
  wire: [],
};

export function names() {
  const found = new Map([["USLACKBOT", "Slackbot"]]);
  if (!state.overview) return found;
  for (const person of state.overview.people) found.set(person.id, person.display_name);
  for (const channel of state.overview.channels) found.set(channel.id, channel.name);
  for (const group of state.overview.groups) found.set(group.id, group.handle);
  found.set(state.overview.app.user_id, state.overview.app.display_name);
  return found;
}

export function author(id) {
  const { people, app } = state.overview;
  if (id === app.user_id) return { name: app.display_name, color: app.color, initials: null, isApp: true };
  const person = people.find((one) => one.id === id);
  if (person) return { name: person.display_name, color: person.color, initials: person.initials, isApp: false };
  const name = !id || id === "USLACKBOT" ? "Slackbot" : id;
  return { name, color: "#616061", initials: name[0].toUpperCase(), isApp: true };
}

export function channelNamed(ref) {
  return state.overview.channels.find((channel) => channel.id === ref || channel.name === ref);
}

export function valuesOf(container) {
  if (!state.values.has(container)) state.values.set(container, {});
  return state.values.get(container);
}

export function remember(container, blockId, actionId, raw) {
  const values = valuesOf(container);
  values[blockId] = { ...values[blockId], [actionId]: raw };
}
