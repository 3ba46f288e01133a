// Shows what the service tells, and sends what a person presses. Everything from the service is put in as text.
"use strict";

const HELD_SECONDS = 40; // the service answers a held read after 25
const RETRY_SECONDS = [1, 2, 4, 8];

const ACTIONS = {
  continue: { label: "Continue" },
  land: { label: "Merge", ask: (pull) => `Merge #${pull.number} now, without the queue?` },
  rerun: { label: "Rerun checks" },
  close: { label: "Close", ask: (pull) => `Close #${pull.number} without merging it?` },
};

const byId = (id) => document.getElementById(id);

/** A new element: attributes (a null one is left out), then children; strings become text. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Text of a user: isolated, so that its writing direction does not reach what stands beside it. */
const foreign = (text, attributes = {}) => make("bdi", attributes, text);

const chip = (value) => make("span", { class: "chip", "data-tone": value.tone }, foreign(value.text));

function clock(at) {
  const moment = new Date(at);
  const shown = moment.toLocaleTimeString([], { hour12: false });
  return make("time", { datetime: at, title: moment.toLocaleString() }, shown);
}

/** Runs an action and says what came of it. The button stays enabled for the browser, or it would lose the focus. */
async function act(button, name, fields, question) {
  if (button.getAttribute("aria-disabled") === "true") return;
  if (question && !(await confirmed(question, button.textContent))) return;
  button.setAttribute("aria-disabled", "true");
  try {
    const answer = await fetch(`/ui/${name}`, { method: "POST", body: new URLSearchParams(fields) });
    const body = await answer.json();
    say(answer.ok ? body.done : body.message, answer.ok ? "calm" : "bad");
  } catch {
    say("The service did not answer; look whether it was done before you try again.", "bad");
  }
  button.removeAttribute("aria-disabled");
}

function confirmed(question, label) {
  const dialog = byId("confirm");
  byId("confirm-question").textContent = question;
  dialog.querySelector(".strong").textContent = label;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

function say(text, tone) {
  const message = byId("message");
  message.hidden = false;
  message.dataset.tone = tone;
  message.textContent = text;
}

/** A table whose rows turn into blocks on a phone; the roles keep it a table for a screen reader there. */
function table(kind, caption, headings, rows) {
  const head = make("tr", { role: "row" });
  for (const heading of headings) {
    head.append(make("th", { scope: "col", role: "columnheader" }, heading));
  }
  const body = make("tbody", { role: "rowgroup" });
  for (const cells of rows) {
    const row = make("tr", { role: "row" });
    cells.forEach((cell, place) => {
      const children = [cell].flat();
      const attributes = place === 0
        ? { scope: "row", role: "rowheader" }
        : { role: "cell", "data-label": headings[place], class: headings[place] === "Actions" ? "actions" : null };
      row.append(make(place === 0 ? "th" : "td", attributes, ...(children.length ? [make("div", { class: "lines" }, ...children)] : [])));
    });
    body.append(row);
  }
  return make("table", { role: "table", class: kind, "aria-label": caption },
    make("thead", { role: "rowgroup" }, head), body);
}

function pullCells(pull, stack) {
  const name = [
    make("span", { class: "title" },
      make("span", { class: "number" }, `#${pull.number} `), foreign(pull.title)),
    make("span", { class: "branch" }, foreign(pull.branch), " → ", foreign(pull.base)),
    pull.head === null ? null : make("span", { class: "about" },
      pull.land ? "lands the unit, " : "", "at ", make("code", {}, pull.head), " by ", foreign(pull.author)),
    pull.blockers.length === 0 ? null : make("ul", { class: "blockers", "aria-label": "Held up by" },
      ...pull.blockers.map((text) => make("li", {}, foreign(text)))),
  ];
  const buttons = pull.actions.map((action) => {
    const { label, ask } = ACTIONS[action];
    const fields = action === "close" || action === "rerun"
      ? { repository: pull.repository, number: pull.number }
      : { stack_id: stack.id, number: pull.number };
    const button = make("button",
      { type: "button", "data-key": `${action} ${pull.repository} ${pull.number}`, "aria-label": `${label} #${pull.number}` }, label);
    button.addEventListener("click", () => act(button, action, fields, ask && ask(pull)));
    return button;
  });
  return [
    name,
    [chip(pull.state)],
    [chip(pull.checks)],
    [chip(pull.review), pull.seam ? chip(pull.seam) : null],
    pull.agents.map((text) => chip({ text, tone: "busy" })),
    buttons.length ? [make("span", {}, ...buttons)] : [],
  ];
}

const PULL_HEADINGS = ["Pull request", "State", "Checks", "Review", "At work", "Actions"];

function stackCard(stack) {
  const title = `stack-${stack.id}`;
  const arm = make("button", {
    type: "button",
    "data-key": `auto-land ${stack.id}`,
    "aria-pressed": String(stack.autoLand),
  }, `Auto land ${stack.autoLand ? "on" : "off"}`);
  arm.addEventListener("click", () =>
    act(arm, "auto-land", { stack_id: stack.id, armed: String(!stack.autoLand) }));
  const archive = make("button", { type: "button", "data-key": `archive ${stack.id}` }, "Archive");
  archive.addEventListener("click", () => act(archive, "archive", { stack_id: stack.id },
    "Archive this stack? Its pull requests stay open, and no agent acts for it any more."));
  return make("article", { class: "card", "aria-labelledby": title },
    make("header", {},
      make("div", {},
        make("h3", { id: title }, foreign(stack.repository), " onto ", foreign(stack.trunk)),
        make("p", { class: "about" }, "of ", foreign(stack.owner ?? "nobody"),
          stack.unit === null ? "" : `, unit ${stack.unit.branch} (${stack.unit.state})`)),
      make("div", {}, stack.over ? null : arm, stack.over ? null : archive, chip(stack.state))),
    stack.notes.length === 0 ? null : make("ul", { class: "notes", "aria-label": "What the stack waits for" },
      ...stack.notes.map((text) => make("li", {}, foreign(text)))),
    table("pulls", "Layers, the one that lands first on top", PULL_HEADINGS,
      stack.layers.map((layer) => pullCells(layer, stack))));
}

function pullsCard([repository, pulls]) {
  return make("article", { class: "card" },
    make("h3", {}, foreign(repository)),
    table("pulls", `Open pull requests of ${repository} in no stack`, PULL_HEADINGS,
      pulls.map((pull) => pullCells(pull, null))));
}

const QUEUE_TONES = { landed: "good", bounced: "bad", running: "busy", waiting: "busy", queued: "busy" };

function queueCard(entries) {
  return make("div", { class: "card" }, table("queue", "Merge queue", ["Pull request", "State", "Since"],
    entries.map((entry) => [
      [make("span", {}, `#${entry.number}`, " ", foreign(entry.repository, { class: "about" }))],
      [chip({ text: entry.place === null ? entry.state : `${entry.state}, place ${entry.place}`, tone: QUEUE_TONES[entry.state] ?? "calm" }),
        entry.detail && entry.state !== "landed" ? foreign(entry.detail, { class: "about" }) : null],
      [clock(entry.at)],
    ])));
}

/** Fills a list with one element for each item, and makes anew only those whose data changed. */
function fill(section, items, key, build) {
  const list = section.querySelector(".list");
  const present = new Map([...list.children].map((element) => [element.dataset.item, element]));
  const focus = document.activeElement?.dataset?.key;
  items.forEach((item, place) => {
    const text = JSON.stringify(item);
    let element = present.get(key(item));
    if (element === undefined || element.shown !== text) {
      const fresh = build(item);
      fresh.dataset.item = key(item);
      fresh.shown = text;
      element?.remove();
      element = fresh;
    }
    present.delete(key(item));
    if (list.children[place] !== element) list.insertBefore(element, list.children[place] ?? null);
  });
  for (const gone of present.values()) gone.remove();
  const none = section.querySelector(".none");
  if (none) none.hidden = items.length > 0;
  if (focus && document.activeElement?.dataset?.key !== focus) {
    [...list.querySelectorAll("[data-key]")].find((element) => element.dataset.key === focus)?.focus();
  }
}

let lastEvent = null;

/** Puts new events on top of those that are there, so that only they are read out. */
function addEvents(events) {
  const list = byId("events").querySelector("ol");
  byId("events").querySelector(".none").hidden = events.length > 0;
  const first = lastEvent === null;
  for (const event of [...events].reverse()) {
    if (lastEvent !== null && event.number <= lastEvent) continue;
    list.prepend(make("li", { class: first ? null : "new", "data-number": String(event.number) },
      clock(event.at), foreign(event.text),
      event.repository === null ? null : make("span", { class: "about" }, " in ", foreign(event.repository))));
    lastEvent = event.number;
  }
  lastEvent ??= 0;
  while (list.children.length > 60) list.lastChild.remove();
}

function showLogins(logins) {
  const section = byId("logins");
  section.hidden = logins.length === 0;
  section.querySelector("ul").replaceChildren(...logins.map((login) => make("li", {},
    make("a", { href: `/device?user_code=${encodeURIComponent(login.code)}` }, "Look at ", make("code", {}, login.code)),
    " ", make("span", { class: "about" }, "asked at ", clock(login.at)))));
}

function show(state) {
  byId("scenario").textContent = state.title ?? "";
  showLogins(state.logins);
  fill(byId("stacks"), state.stacks, (stack) => stack.id, stackCard);
  const groups = new Map();
  for (const pull of state.pulls) groups.set(pull.repository, [...(groups.get(pull.repository) ?? []), pull]);
  byId("pulls").hidden = groups.size === 0;
  fill(byId("pulls"), [...groups], ([repository]) => repository, pullsCard);
  fill(byId("queue"), state.queue.length ? [state.queue] : [], () => "queue", queueCard);
  addEvents(state.events);
}

function connection(text, tone) {
  const element = byId("connection");
  if (element.textContent === text) return;
  element.textContent = text;
  element.dataset.tone = tone;
}

const seconds = (count) => new Promise((resolve) => setTimeout(resolve, count * 1000));

const visible = () => document.visibilityState === "visible" || new Promise((resolve) => {
  document.addEventListener("visibilitychange", () => resolve(), { once: true });
});

async function follow() {
  let seen = "";
  let failures = 0;
  for (;;) {
    await visible();
    try {
      const answer = await fetch(`/ui/state?seen=${encodeURIComponent(seen)}`,
        { signal: AbortSignal.timeout(HELD_SECONDS * 1000) });
      if (answer.status === 403) {
        connection("Of an earlier run", "bad");
        say("The service was started again. Open the link that it printed, or run: mergestorm-local ui", "bad");
        return;
      }
      if (!answer.ok) throw new Error(String(answer.status));
      const state = await answer.json();
      seen = state.seen;
      failures = 0;
      show(state);
      connection("Live", "good");
    } catch {
      connection("Not connected; trying again", "warn");
      await seconds(RETRY_SECONDS[Math.min(failures, RETRY_SECONDS.length - 1)]);
      failures += 1;
    }
  }
}

follow();
