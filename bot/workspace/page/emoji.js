// The emoji that a bot for streaming tables uses, by Slack's short names.

import { drawing } from "./emoji_drawings.js";

const EMOJI = {
  warning: "⚠️", white_check_mark: "✅", heavy_check_mark: "✔️", x: "❌", ocean: "🌊", mag: "🔍",
  hourglass_flowing_sand: "⏳", hourglass: "⌛", rotating_light: "🚨", lock: "🔒", unlock: "🔓", no_entry: "⛔",
  eyes: "👀", tada: "🎉", thumbsup: "👍", "+1": "👍", thumbsdown: "👎", "-1": "👎", memo: "📝", bell: "🔔",
  clock1: "🕐", stopwatch: "⏱️", alarm_clock: "⏰", bar_chart: "📊", chart_with_upwards_trend: "📈",
  clipboard: "📋", link: "🔗", package: "📦", arrows_counterclockwise: "🔄", rewind: "⏪", leftwards_arrow_with_hook: "↩️",
  arrow_right: "➡️", arrow_up: "⬆️", arrow_down: "⬇️", octagonal_sign: "🛑", question: "❓", grey_question: "❔",
  exclamation: "❗", information_source: "ℹ️", bulb: "💡", fire: "🔥", wrench: "🔧", hammer_and_wrench: "🛠️",
  gear: "⚙️", shield: "🛡️", book: "📖", books: "📚", pushpin: "📌", speech_balloon: "💬", mega: "📣",
  large_green_circle: "🟢", large_yellow_circle: "🟡", large_orange_circle: "🟠", red_circle: "🔴",
  large_blue_circle: "🔵", white_circle: "⚪", black_circle: "⚫", ballot_box_with_check: "☑️", zap: "⚡",
  label: "🏷️", microscope: "🔬", test_tube: "🧪", broom: "🧹", wave: "👋", raised_hands: "🙌", pray: "🙏",
  heart: "❤️", droplet: "💧", diving_mask: "🤿", anchor: "⚓", ship: "🚢", compass: "🧭", lifebuoy: "🛟",
  ring_buoy: "🛟", checkered_flag: "🏁", construction: "🚧", snowflake: "❄️", ghost: "👻", robot_face: "🤖",
  spiral_calendar_pad: "🗓️", inbox_tray: "📥", outbox_tray: "📤", file_folder: "📁", mute: "🔇", sos: "🆘",
  repeat: "🔁", fast_forward: "⏩", double_vertical_bar: "⏸️", arrow_forward: "▶️", balance_scale: "⚖️",
  scales: "⚖️", key: "🔑", bust_in_silhouette: "👤", busts_in_silhouette: "👥", sleeping: "😴", thinking_face: "🤔",
};

export function emoji(name) {
  return drawing(name) ?? EMOJI[name] ?? null;
}
