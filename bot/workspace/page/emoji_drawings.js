// The emoji that matter most, drawn here: they look the same everywhere, with or without an emoji font.
// Each drawing is a list of [element, attributes] in a 24 by 24 box.

const circle = (fill) => [["circle", { cx: 12, cy: 12, r: 9.5, fill }]];
const path = (d, fill) => ["path", { d, fill }];
const line = (d, stroke, width = 2.4) => ["path", { d, stroke, "stroke-width": width, fill: "none", "stroke-linecap": "round", "stroke-linejoin": "round" }];
const rect = (x, y, width, height, fill, rx = 1.5) => ["rect", { x, y, width, height, fill, rx }];
const tile = (fill) => rect(2, 2, 20, 20, fill, 4.5);

const GREEN = "#2bac4c", RED = "#e0394a", AMBER = "#f5b829", BLUE = "#3b8fe0", GREY = "#8b939c", BROWN = "#b0703c", WHITE = "#fff", INK = "#30343a", PAPER = "#eef1f5";

const DRAWINGS = {
  white_check_mark: [tile(GREEN), line("M6.8 12.4l3.6 3.7 7-8", WHITE, 2.8)],
  heavy_check_mark: [line("M4.5 13l5 5L20 6", GREEN, 3.4)],
  ballot_box_with_check: [tile(BLUE), line("M6.8 12.4l3.6 3.7 7-8", WHITE, 2.8)],
  x: [line("M5.5 5.5l13 13M18.5 5.5l-13 13", RED, 3.6)],
  warning: [path("M12 2.6c.8 0 1.5.4 1.9 1.1l8 14.2c.9 1.5-.2 3.5-1.9 3.5H4c-1.7 0-2.8-2-1.9-3.5l8-14.2c.4-.7 1.1-1.1 1.9-1.1z", AMBER), line("M12 8.5v5.5", INK), ["circle", { cx: 12, cy: 17.6, r: 1.5, fill: INK }]],
  rotating_light: [path("M6 18v-5a6 6 0 0 1 12 0v5z", RED), rect(4, 17.5, 16, 4, INK), line("M12 2v2.3M4.2 5.2l1.6 1.6M19.8 5.2l-1.6 1.6", AMBER, 2), line("M9 13a3 3 0 0 1 3-3", "#ffb3bb", 1.8)],
  no_entry: [["circle", { cx: 12, cy: 12, r: 10, fill: RED }], rect(5.5, 10, 13, 4, WHITE)],
  octagonal_sign: [path("M7.8 2h8.4L22 7.8v8.4L16.2 22H7.8L2 16.2V7.8z", RED), line("M8 8l8 8M16 8l-8 8", WHITE)],
  ocean: [tile("#1c8ab3"), line("M4.5 10c2.5-2.6 5-2.6 7.5 0s5 2.6 7.5 0", WHITE, 2.2), line("M4.5 15.5c2.5-2.6 5-2.6 7.5 0s5 2.6 7.5 0", "#bfe7f5", 2.2)],
  droplet: [path("M12 2.5c4 5 6.5 8 6.5 11.7a6.5 6.5 0 0 1-13 0C5.5 10.5 8 7.5 12 2.5z", BLUE)],
  mag: [line("M14.8 14.8l6 6", BROWN, 3.4), ["circle", { cx: 10, cy: 10, r: 6.6, fill: "#cfe8f7", stroke: INK, "stroke-width": 2.2 }]],
  hourglass_flowing_sand: [path("M6 3h12v3.5L13.5 12l4.5 5.5V21H6v-3.5L10.5 12 6 6.5z", "#d9edf7"), path("M8 19.5c1.5-2.5 2.7-3 4-3s2.5.5 4 3zM9 7.5h6l-3 3.7z", AMBER), line("M5 3h14M5 21h14", BROWN, 2.2)],
  stopwatch: [["circle", { cx: 12, cy: 13.5, r: 8, fill: PAPER, stroke: GREY, "stroke-width": 2 }], line("M12 9v4.5l3 2M10 2.5h4M12 2.5V5", INK, 2)],
  alarm_clock: [["circle", { cx: 12, cy: 13, r: 8, fill: PAPER, stroke: RED, "stroke-width": 2.2 }], line("M12 9v4.5l3 2", INK, 2), line("M3.5 6.5l3-3M20.5 6.5l-3-3", RED)],
  lock: [line("M8 11V8a4 4 0 0 1 8 0v3", GREY), rect(5, 10.5, 14, 10.5, AMBER, 2.5), ["circle", { cx: 12, cy: 15.5, r: 1.7, fill: INK }]],
  unlock: [line("M8 11V7a4 4 0 0 1 7.6-1.7", GREY), rect(5, 10.5, 14, 10.5, AMBER, 2.5), ["circle", { cx: 12, cy: 15.5, r: 1.7, fill: INK }]],
  eyes: [["ellipse", { cx: 7, cy: 12, rx: 4.6, ry: 6.6, fill: WHITE, stroke: GREY, "stroke-width": 1.2 }], ["ellipse", { cx: 17, cy: 12, rx: 4.6, ry: 6.6, fill: WHITE, stroke: GREY, "stroke-width": 1.2 }], ["circle", { cx: 5.6, cy: 13, r: 2.4, fill: INK }], ["circle", { cx: 15.6, cy: 13, r: 2.4, fill: INK }]],
  memo: [rect(4, 2.5, 14, 19, PAPER, 2), line("M7 7.5h8M7 11.5h8M7 15.5h4", GREY, 1.6), line("M20.5 9.5l-6 8.5", AMBER, 3)],
  clipboard: [rect(4, 3.5, 16, 18, BROWN, 2), rect(6, 6, 12, 13.5, PAPER, 1), rect(8.5, 2, 7, 4, GREY), line("M8.5 11h7M8.5 15h5", GREY, 1.6)],
  bar_chart: [rect(2.5, 2.5, 19, 19, PAPER, 3), rect(6, 12, 3.2, 7, GREEN, 0.5), rect(10.5, 6, 3.2, 13, BLUE, 0.5), rect(15, 9.5, 3.2, 9.5, RED, 0.5)],
  bell: [path("M12 2.5a6 6 0 0 1 6 6c0 5 2 7 2.5 8.5h-17C4 15.5 6 13.5 6 8.5a6 6 0 0 1 6-6z", AMBER), path("M9.5 18.5h5a2.5 2.5 0 0 1-5 0z", BROWN)],
  mega: [path("M3 9.5l13-6v15l-13-5.5z", RED), rect(17, 8, 4, 6, AMBER, 2), line("M7 15l1.5 5.5", GREY, 2.6)],
  raised_hands: [path("M4 20l-1-9 2-5 2.5 4L10 20zM20 20l1-9-2-5-2.5 4L14 20z", AMBER), line("M9 3l1 2.5M15 3l-1 2.5M12 2v3", BLUE, 1.8)],
  thinking_face: [...circle("#fcc73d"), ["circle", { cx: 8.5, cy: 10, r: 1.4, fill: INK }], ["circle", { cx: 15, cy: 9.4, r: 1.4, fill: INK }], line("M9 16c2-1.5 4-1.7 6-1", INK, 1.8), line("M13.5 5.8c1.2-.6 2.4-.6 3.4 0", INK, 1.5)],
  tada: [path("M3 21l5-13 8 8z", AMBER), line("M14 8c0-2.5 1-4 3-5M16 11c2-1.5 4-1.7 5.5-1", RED, 2), ["circle", { cx: 20, cy: 5.5, r: 1.4, fill: BLUE }], ["circle", { cx: 11, cy: 4.5, r: 1.4, fill: GREEN }]],
  bulb: [path("M12 2a7 7 0 0 1 4 12.7V17H8v-2.3A7 7 0 0 1 12 2z", "#fcd34d"), rect(8.5, 18, 7, 4, GREY)],
  link: [line("M10 14a4 4 0 0 1 0-5.6l3-3a4 4 0 0 1 5.7 5.7l-1.5 1.5M14 10a4 4 0 0 1 0 5.6l-3 3a4 4 0 0 1-5.7-5.7l1.5-1.5", GREY)],
  fast_forward: [tile(BLUE), path("M5 7v10l7-5zM12 7v10l7-5z", WHITE)],
  arrow_forward: [tile(BLUE), path("M8 6.5v11l9-5.5z", WHITE)],
  leftwards_arrow_with_hook: [tile(BLUE), line("M10 7l-4 4 4 4M6 11h8.5a3.2 3.2 0 0 1 0 6.4H12", WHITE, 2.2)],
  grey_question: [line("M8 8.5a4 4 0 1 1 5.5 3.7c-1 .5-1.5 1.2-1.5 2.8", GREY, 3), ["circle", { cx: 12, cy: 19.3, r: 1.9, fill: GREY }]],
  hourglass: [path("M6 3h12v3.5L13.5 12l4.5 5.5V21H6v-3.5L10.5 12 6 6.5z", "#d9edf7"), path("M7 20.5c1-3 3-4 5-4s4 1 5 4z", AMBER)],
  rewind: [tile(BLUE), path("M12 7v10l-7-5zM19 7v10l-7-5z", WHITE)],
  arrows_counterclockwise: [tile(BLUE), line("M6.5 11a5.7 5.7 0 0 1 10-2.8M17.5 13a5.7 5.7 0 0 1-10 2.8M17.8 5v3.5h-3.5M6.2 19v-3.5h3.5", WHITE, 1.9)],
  information_source: [tile(BLUE), line("M12 11v6", WHITE), ["circle", { cx: 12, cy: 7.2, r: 1.5, fill: WHITE }]],
  package: [path("M12 2l9 4.5v11L12 22l-9-4.5v-11z", "#c98f56"), path("M12 11.5l9-5v11L12 22z", BROWN), line("M7.5 4.3l9 4.7", "#f0d9bd", 2)],
  label: [path("M3 4.5h9l9 9-7.5 7.5-10.5-9z", "#f0d9bd"), ["circle", { cx: 7, cy: 8.5, r: 1.6, fill: BROWN }]],
  large_green_circle: circle(GREEN), large_yellow_circle: circle("#f7ce46"), large_orange_circle: circle("#f0883a"),
  red_circle: circle(RED), large_blue_circle: circle(BLUE), white_circle: circle("#dfe3e8"), black_circle: circle(INK),
};

export function drawing(name) {
  const shapes = DRAWINGS[name];
  if (!shapes) return null;
  const make = (tag, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
    return node;
  };
  const svg = make("svg", { viewBox: "0 0 24 24", class: "emoji-drawing", "aria-hidden": "true" });
  svg.append(...shapes.map(([tag, attributes]) => make(tag, attributes)));
  return svg;
}
