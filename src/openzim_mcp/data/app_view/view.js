"use strict";
// Text from archives becomes text nodes only: no part of it is ever parsed as HTML.

const byId = (id) => document.getElementById(id);

function element(tag, content = [], attributes = {}) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...[content].flat());
  return node;
}

// The bridge: JSON-RPC to the host, which passes tools/call and resources/read on to the server.

const host = { capabilities: {}, context: {} };
const waiting = new Map();
let lastId = 0;

function send(message) {
  window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function request(method, params) {
  const id = ++lastId;
  send({ id, method, params });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

const HANDLERS = {
  "ui/notifications/tool-input": (params) => showInput(params.arguments || {}),
  "ui/notifications/tool-result": (params) => showResult(params),
  "ui/notifications/tool-cancelled": () => showStatus("The question was cancelled."),
  "ui/notifications/host-context-changed": (params) => applyContext(params),
  "ui/resource-teardown": () => ({}),
  ping: () => ({}),
};

window.addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== window.parent || !message || message.jsonrpc !== "2.0") return;
  if (message.method) return answerHost(message);
  const call = waiting.get(message.id);
  waiting.delete(message.id);
  if (call) message.error ? call.reject(new Error(String(message.error.message))) : call.resolve(message.result);
});

function answerHost(message) {
  const handle = Object.hasOwn(HANDLERS, message.method) ? HANDLERS[message.method] : null;
  const result = handle ? handle(message.params || {}) : undefined;
  if (message.id === undefined) return;
  if (handle) send({ id: message.id, result: result || {} });
  else send({ id: message.id, error: { code: -32601, message: "Method not found" } });
}

async function connect() {
  const result = await request("ui/initialize", {
    appInfo: { name: "openzim-mcp", version: "1" },
    appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    protocolVersion: "2026-01-26",
  });
  host.capabilities = result.hostCapabilities || {};
  applyContext(result.hostContext || {});
  send({ method: "ui/notifications/initialized", params: {} });
  new ResizeObserver(reportSize).observe(document.documentElement);
}

function reportSize() {
  const { width, height } = document.documentElement.getBoundingClientRect();
  send({ method: "ui/notifications/size-changed", params: { width: Math.ceil(width), height: Math.ceil(height) } });
}

function applyContext(changes) {
  Object.assign(host.context, changes);
  const { theme, styles, displayMode, availableDisplayModes, safeAreaInsets } = host.context;
  const style = document.documentElement.style;
  if (theme === "dark" || theme === "light") style.colorScheme = theme;
  for (const [name, value] of Object.entries((styles && styles.variables) || {})) {
    if (/^--[a-z0-9-]+$/.test(name)) style.setProperty(name, value);
  }
  for (const side of ["top", "right", "bottom", "left"]) {
    if (safeAreaInsets) document.body.style.setProperty(`padding-${side}`, `${Number(safeAreaInsets[side]) || 0}px`);
  }
  document.documentElement.classList.toggle("fullscreen", displayMode === "fullscreen");
  byId("fullscreen").hidden = displayMode === "fullscreen" || !(availableDisplayModes || []).includes("fullscreen");
}

// Markdown as this server writes it: blocks first, then marks inside a line.

const MARKS = /\\([\\`*_{}[\]()#+\-.!~|<>])|`([^`]+)`|\*\*(.+?)\*\*|~~(.+?)~~|\*([^*\s][^*]*?)\*|(zim:\/\/[^\s)]+)/g;

function inline(text) {
  const nodes = [];
  let start = 0;
  for (const match of text.matchAll(MARKS)) {
    nodes.push(text.slice(start, match.index));
    const [whole, escaped, code, strong, struck, emphasis, uri] = match;
    start = match.index + whole.length;
    if (escaped) nodes.push(escaped);
    else if (code) nodes.push(element("code", code));
    else if (strong) nodes.push(element("strong", inline(strong)));
    else if (struck) nodes.push(element("del", inline(struck)));
    else if (emphasis) nodes.push(element("em", inline(emphasis)));
    else if (uri) nodes.push(openButton(uri, "", uri));
  }
  return [...nodes, text.slice(start)].filter((node) => node !== "");
}

const LIST_ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const TABLE_ROW = /^\s*(?:… )?\|.*\|\s*$/; // rows that an excerpt leaves out are "…"
const BLOCKS = [
  [/^\s*(```|~~~)/, takeCode],
  [/^#{1,6}\s/, takeHeading],
  [TABLE_ROW, takeTable],
  [/^>/, takeQuote],
  [/^(\*\*\*|---|___)\s*$/, (lines) => (lines.shift(), element("hr"))],
  [LIST_ITEM, takeList],
];

function blocks(markdown) {
  const lines = markdown.split("\n");
  const nodes = [];
  while (lines.length) {
    if (!lines[0].trim()) lines.shift();
    else nodes.push(kindOf(lines[0])(lines));
  }
  return nodes;
}

function kindOf(line) {
  const row = BLOCKS.find(([pattern]) => pattern.test(line));
  return row ? row[1] : takeParagraph;
}

function takeWhile(lines, accepts) {
  const taken = [lines.shift()];
  while (lines.length && accepts(lines[0])) taken.push(lines.shift());
  return taken;
}

function takeParagraph(lines) {
  const taken = takeWhile(lines, (line) => line.trim() && kindOf(line) === takeParagraph);
  const joined = taken.map((line) => line.trim() + (/( {2}|\\)$/.test(line) ? "\n" : " ")).join("").trim();
  const rows = joined.split("\n").map((row) => inline(row.replace(/\\$/, "")));
  return element("p", rows.flatMap((row, number) => (number ? [element("br"), ...row] : row)), { dir: "auto" });
}

function takeHeading(lines) {
  const [, marks, text] = /^(#{1,6})\s+(.*)$/.exec(lines.shift()) || [null, "##", ""];
  return element(`h${Math.max(2, marks.length)}`, inline(text.replace(/\s+#+$/, "")), { dir: "auto" });
}

function takeCode(lines) {
  const fence = lines.shift().trim().slice(0, 3);
  const taken = [];
  while (lines.length && !lines[0].trim().startsWith(fence)) taken.push(lines.shift());
  lines.shift();
  return element("pre", element("code", taken.join("\n")), { dir: "ltr", tabindex: "0" });
}

function takeQuote(lines) {
  const taken = takeWhile(lines, (line) => line.startsWith(">"));
  return element("blockquote", blocks(taken.map((line) => line.replace(/^>\s?/, "")).join("\n")));
}

function takeTable(lines) {
  const rows = takeWhile(lines, (line) => TABLE_ROW.test(line)).map(cells);
  const isRule = (row) => row.every((cell) => /^:?-+:?$/.test(cell));
  const hasHead = rows.length > 1 && isRule(rows[1]);
  const body = rows.filter((row) => !isRule(row));
  const made = body.map((row, number) => {
    const tag = hasHead && !number ? "th" : "td";
    return element("tr", row.map((cell) => element(tag, inline(cell), { dir: "auto", ...(tag === "th" ? { scope: "col" } : {}) })));
  });
  return element("div", element("table", made), { class: "table", tabindex: "0", role: "group", "aria-label": "Table" });
}

function cells(line) {
  return line.trim().replace(/^… /, "").slice(1, -1).split(/(?<!\\)\|/).map((cell) => cell.trim());
}

function takeList(lines) {
  const first = LIST_ITEM.exec(lines[0]);
  const [indent, isNumbered] = [first[1].length, /\d/.test(first[2])];
  const list = element(isNumbered ? "ol" : "ul", [], isNumbered ? { start: parseInt(first[2], 10) } : {});
  while (lines.length) {
    const item = LIST_ITEM.exec(lines[0]);
    if (!item || item[1].length !== indent || /\d/.test(item[2]) !== isNumbered) break;
    lines.shift();
    const node = element("li", inline(item[3]), { dir: "auto" });
    const inside = [];
    while (lines.length && lines[0].trim() && lines[0].search(/\S/) > indent) inside.push(lines.shift());
    if (inside.length) node.append(...blocks(inside.map((line) => line.slice(Math.min(indent + 2, line.search(/\S/)))).join("\n")));
    list.append(node);
  }
  return list;
}

function direction(text) {
  const letter = /\p{L}/u.exec(text);
  return letter && /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(letter[0]) ? "rtl" : "ltr";
}

// The answer: passages, each above the button that opens its source.

const SOURCE = /^Source: (.+?) — (\S+) — (zim:\/\/\S+)(?: — \S+)?$/;
const CONTINUES = /\n*\[(offset|content_offset)=(\d+) continues[^\]]*\]\s*$/;
const asked = { arguments: {}, next: null };

function showInput(input) {
  asked.arguments = input;
  byId("question").value = typeof input.query === "string" ? input.query : "";
  showStatus("Looking in the archives …");
}

function showStatus(text) {
  byId("status").textContent = text;
}

function textOf(result) {
  return ((result && result.content) || []).filter((block) => block.type === "text").map((block) => block.text).join("\n\n");
}

function errorText(result) {
  try {
    const { message, hint } = JSON.parse(textOf(result));
    return [message, hint].filter(Boolean).join(" ");
  } catch {
    return textOf(result) || "That did not work.";
  }
}

function showResult(result) {
  byId("passages").replaceChildren();
  closeReader(false);
  showStatus("");
  const first = addPassages(result);
  if (result.isError) showStatus(errorText(result));
  return first;
}

function addPassages(result) {
  const { text, offset, name } = splitContinuation(result.isError ? "" : textOf(result));
  asked.next = offset && { [name]: offset };
  byId("next").hidden = !asked.next;
  byId("next").textContent = name === "offset" && SOURCE.test(text.split("\n").at(-1)) ? "Next passage" : "Show more";
  const made = passagesOf(text).map(passageNode);
  const pictures = ((result && result.content) || []).filter((block) => block.type === "image").map(pictureNode);
  byId("passages").append(...made, ...pictures);
  return made[0];
}

function splitContinuation(text) {
  const match = CONTINUES.exec(text);
  return match ? { text: text.slice(0, match.index), name: match[1], offset: Number(match[2]) } : { text, name: "", offset: 0 };
}

function passagesOf(text) {
  const passages = [];
  let lines = [];
  for (const line of text.split("\n")) {
    const source = SOURCE.exec(line);
    if (source) passages.push({ text: lines.join("\n"), place: source[1], archive: source[2], uri: source[3] });
    else lines.push(line);
    if (source) lines = [];
  }
  if (lines.join("").trim()) passages.push({ text: lines.join("\n") });
  return passages;
}

function passageNode({ text, place, archive, uri }) {
  const isMissing = text.startsWith("Not found here:");
  const body = blocks(text);
  const source = uri ? [openButton(place, archive, uri)] : [];
  return element("div", [...body, ...source], {
    role: "group",
    class: isMissing ? "passage unanswered" : "passage",
    dir: direction(text),
    "aria-label": place ? `From ${place}` : "Answer",
    tabindex: "-1",
  });
}

function openButton(place, archive, uri) {
  const label = [element("b", place, { dir: "auto" }), element("span", archive ? `${archive} · read the article` : "")];
  const button = element("button", label, { type: "button", class: "source", title: uri });
  button.addEventListener("click", () => openArticle(uri, place, archive, button));
  return button;
}

function pictureNode(block) {
  const type = /^image\/[a-z0-9.+-]+$/i.test(block.mimeType) ? block.mimeType : "image/png";
  return element("img", [], { src: `data:${type};base64,${block.data}`, alt: "Picture from the archive" });
}

async function callQuery(input) {
  return request("tools/call", { name: "zim_query", arguments: input });
}

async function run(button, message, work) {
  button.disabled = true;
  showStatus(message);
  try {
    const target = await work();
    showStatus(byId("status").textContent === message ? "" : byId("status").textContent);
    if (target) target.focus();
  } catch (error) {
    showStatus(`The host refused: ${error.message}`);
  } finally {
    button.disabled = false;
  }
}

// Hosts do not allow forms to be submitted.
function onSubmit(input, button, action) {
  byId(button).addEventListener("click", action);
  byId(input).addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) action();
  });
}

onSubmit("question", "ask", () => {
  const query = byId("question").value.trim();
  if (!query) return byId("question").focus();
  run(byId("ask"), "Looking in the archives …", async () => {
    asked.arguments = { query };
    return showResult(await callQuery(asked.arguments));
  });
});

byId("next").addEventListener("click", () =>
  run(byId("next"), "Looking for more …", async () => {
    const result = await callQuery({ ...asked.arguments, ...asked.next });
    if (result.isError) return showStatus(errorText(result));
    return addPassages(result);
  }),
);

// The reader: an article as text, its outline, words to find in it.

const reading = { uri: "", next: 0, opener: null, found: [], position: -1 };

async function openArticle(uri, place, archive, opener) {
  await run(opener, "Opening the article …", async () => {
    const { title, text, next } = await readArticle(uri, 0);
    Object.assign(reading, { uri, opener, next, found: [], position: -1 });
    byId("article-title").textContent = title || place.split(" › ")[0];
    byId("article-place").textContent = archive || decodeURI(uri).split("/entry/")[0];
    byId("text").replaceChildren(...blocks(text));
    byId("reader").dir = direction(text);
    byId("rest").hidden = !next;
    byId("picture").hidden = false;
    byId("words").value = "";
    showOutline();
    byId("answer").hidden = true;
    byId("reader").hidden = false;
    byId("text").scrollTop = 0;
    return scrollToSection(place) || byId("article-title");
  });
}

function scrollToSection(place) {
  const section = place.split(" › ").slice(1).join(" › ").split("; ")[0];
  const heading = section && headings().find((node) => node.textContent.trim() === section);
  if (heading) heading.scrollIntoView({ block: "start" });
  return null;
}

async function readArticle(uri, offset) {
  if (host.capabilities.serverResources && !offset) {
    try {
      const result = await request("resources/read", { uri: uri.replace("/entry/", "/text/") });
      return parseArticle(result.contents[0].text);
    } catch {
      // A host may offer resources of other servers only: the tool can read it too.
    }
  }
  const result = await callQuery({ query: `get article ${uri}`, compact: false, content_offset: offset });
  if (result.isError) throw new Error(errorText(result));
  return parseArticle(textOf(result));
}

function parseArticle(markdown) {
  const body = markdown.split("\n").filter((line) => !SOURCE.test(line)).join("\n").trim();
  const { text, offset } = splitContinuation(body);
  const [, title = "", rest = text] = /^# (.+)\n+([^]*)$/.exec(text) || [];
  const marker = /^Title: [^]*?\n## Content\n/.exec(rest);
  return { title, text: (marker ? rest.slice(marker[0].length) : rest).trim(), next: offset };
}

function headings() {
  return [...byId("text").querySelectorAll("h2, h3, h4, h5, h6")];
}

function showOutline() {
  const rows = headings().map((heading) => {
    const button = element("button", heading.textContent, { type: "button", dir: "auto" });
    button.style.paddingInlineStart = `${(Number(heading.tagName[1]) - 2) * 14 + 6}px`;
    button.addEventListener("click", () => {
      heading.tabIndex = -1;
      heading.scrollIntoView({ block: "start" });
      heading.focus({ preventScroll: true });
    });
    return element("li", button);
  });
  byId("outline").querySelector("ul").replaceChildren(...rows);
  byId("outline").hidden = !rows.length;
  byId("outline").open = false;
}

function closeReader(restoreFocus = true) {
  if (byId("reader").hidden) return;
  byId("reader").hidden = true;
  byId("answer").hidden = false;
  showStatus("");
  if (restoreFocus && reading.opener) reading.opener.focus();
}

byId("back").addEventListener("click", () => closeReader());
byId("reader").addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target !== byId("words")) closeReader();
});

byId("rest").addEventListener("click", () =>
  run(byId("rest"), "Reading on …", async () => {
    const { text, next } = await readArticle(reading.uri, reading.next);
    const added = blocks(text);
    byId("text").append(...added);
    reading.next = next;
    byId("rest").hidden = !next;
    showOutline();
    if (added[0]) added[0].tabIndex = -1;
    return added[0];
  }),
);

byId("picture").addEventListener("click", () =>
  run(byId("picture"), "Looking for a picture …", async () => {
    const result = await callQuery({ query: `picture of ${reading.uri}` });
    const image = (result.content || []).find((block) => block.type === "image");
    byId("picture").hidden = true;
    if (!image) return showStatus("This article has no picture here.");
    byId("text").prepend(pictureNode(image));
    byId("text").scrollTop = 0;
    return byId("text");
  }),
);

onSubmit("words", "find", () => {
  const words = byId("words").value.trim();
  if (!reading.found.length || reading.words !== words) findWords(words);
  reading.position = reading.found.length ? (reading.position + 1) % reading.found.length : -1;
  for (const mark of reading.found) mark.removeAttribute("aria-current");
  const current = reading.found[reading.position];
  if (current) current.setAttribute("aria-current", "true");
  if (current) current.scrollIntoView({ block: "center" });
  showStatus(current ? `${reading.position + 1} of ${reading.found.length}` : `“${words}” is not in this text.`);
});

function findWords(words) {
  for (const mark of byId("text").querySelectorAll("mark")) mark.replaceWith(...mark.childNodes);
  byId("text").normalize();
  Object.assign(reading, { words, found: [], position: -1 });
  if (!words) return;
  const walker = document.createTreeWalker(byId("text"), NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  const pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+"), "giu");
  for (const node of nodes) {
    const ranges = [...node.data.matchAll(pattern)].reverse();
    for (const match of ranges) {
      const rest = node.splitText(match.index);
      rest.splitText(match[0].length);
      const mark = element("mark");
      rest.replaceWith(mark);
      mark.append(rest);
    }
  }
  reading.found = [...byId("text").querySelectorAll("mark")];
}

byId("fullscreen").addEventListener("click", async () => {
  const result = await request("ui/request-display-mode", { mode: "fullscreen" });
  applyContext({ displayMode: result.mode });
});

connect();
