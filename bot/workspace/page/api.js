// Talks to the workspace: reads and acts as the person who is chosen, and listens to what changes.

import { toast } from "./dom.js";

export async function read(path, query = {}) {
  const response = await fetch(`${path}?${new URLSearchParams(query)}`);
  if (!response.ok) throw new Error((await response.json()).message);
  return response.json();
}

export async function post(path, body) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) {
    toast(answer.message ?? "The workspace refused this.");
    return { outcome: "refused", message: answer.message };
  }
  return answer;
}

export function listen(person, onOpen, onChange) {
  let socket = null;
  let stopped = false;
  const connect = () => {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    socket = new WebSocket(`${scheme}://${location.host}/_page/live?as=${encodeURIComponent(person)}`);
    socket.onopen = onOpen;
    socket.onmessage = (event) => onChange(JSON.parse(event.data));
    socket.onclose = () => {
      document.body.dataset.live = "off";
      if (!stopped) setTimeout(connect, 800);
    };
  };
  connect();
  return () => {
    stopped = true;
    socket.close();
  };
}
