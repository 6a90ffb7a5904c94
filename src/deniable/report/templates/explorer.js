"use strict";

// This page shows what a questionnaire would tell, at any budget and number of contributors.
//
// deniable.planning.explore computed all variances before, and they are the JSON below. For every stop of the epsilon
// slider the JSON has the variance of each question's answer times the number of contributors. This page divides, takes
// roots and draws. It interpolates nothing and sends nothing.

const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const PER_DECADE = 20;
const FEWEST = 100;
const MOST = 2 ** 53;

const at = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

const state = {
  stop: data.start,
  contributors: data.contributors,
  share: 0.3,
  target: data.target,
};

// ---------------------------------------------------------------- numbers

/** The variance of an estimated share, times the number of contributors. It is a quadratic of the share. */
function shareVariance([absent, half, present], share) {
  const curved = 4 * (half - (absent + present) / 2);
  return absent + share * (present - absent) + curved * share * (1 - share);
}

/** Half the width of the interval of the answers that make it widest, in the question's unit. */
function widest(law) {
  return data.z * Math.sqrt(law.variance / state.contributors);
}

/** Contributors who make the widest interval a share `target` of the range. */
function needed(law, span) {
  const wanted = (state.target / 100) * span * (1 + data.precision);
  return Math.max(1, Math.ceil((law.variance * data.z ** 2) / wanted ** 2));
}

/** The value that the report would show, and the ends of its interval within the range. */
function reported(question, law) {
  const { low, high } = question;
  let value = (low + high) / 2;
  let half = widest(law);
  if (law.shares.length > 0) {
    value = low + state.share * (high - low);
    half = data.z * (high - low) * Math.sqrt(shareVariance(law.shares, state.share) / state.contributors);
  }
  return { value, half, from: Math.max(low, value - half), to: Math.min(high, value + half) };
}

/** A number as text. The larger its uncertainty is, the fewer digits it has. */
function digits(value, uncertainty = value) {
  return value.toFixed(uncertainty >= 100 ? 0 : uncertainty >= 0.95 ? 1 : uncertainty >= 0.095 ? 2 : 4);
}

function plusMinus(value) {
  return `±\u00a0${digits(value)}`;
}

function percent(fraction) {
  return `${(100 * fraction).toFixed(1)}%`;
}

// ---------------------------------------------------------------- the page's parts

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function shape(name, className, parent) {
  const made = document.createElementNS(SVG, name);
  made.setAttribute("class", className);
  parent.append(made);
  return made;
}

/** A cell of a question's row. Its label is shown on narrow screens only. */
function cell(row, kind, label) {
  const made = element("div", `cell ${kind}`);
  made.setAttribute("role", "cell");
  if (label) made.append(element("span", "label", label));
  const text = element("span", "text");
  const small = element("small");
  made.append(text, small);
  row.append(made);
  return { text, small };
}

function questionRow(question) {
  const row = element("div", "row");
  row.setAttribute("role", "row");
  const name = element("div", "cell name");
  name.setAttribute("role", "rowheader");
  const answers = question.ask === "mean" ? `its mean, ${question.unit}` : `${question.categories} answers`;
  name.append(element("span", "text", question.name), element("small", "", answers));
  const drawn = element("div", "cell drawn");
  drawn.setAttribute("role", "cell");
  const svg = shape("svg", "", drawn);
  svg.setAttribute("viewBox", "0 0 100 20");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  const marks = ["track", "band", "tick"].map((kind) => shape("rect", kind, svg));
  place(marks[0], 0, 100, 8, 4);
  row.append(name, drawn);
  at("questions").append(row);
  return {
    svg,
    band: marks[1],
    tick: marks[2],
    interval: cell(row, "number", "the report would say"),
    guess: cell(row, "number", "best guess about one answer"),
    needed: cell(row, "number", "people needed"),
  };
}

function place(rect, x, width, y, height) {
  for (const [name, value] of Object.entries({ x, y, width, height })) rect.setAttribute(name, String(value));
}

function heading() {
  const row = element("div", "row head");
  row.setAttribute("role", "row");
  const names = ["question", "drawn on its range", "the report would say", "best guess about one answer", "people needed"];
  names.forEach((name, i) => {
    const made = element("div", i < 2 ? "cell" : "cell number", name);
    made.setAttribute("role", "columnheader");
    row.append(made);
  });
  at("questions").append(row);
}

// ---------------------------------------------------------------- showing

function showQuestion(question, law, parts) {
  const { value, half, from, to } = reported(question, law);
  const { low, high } = question;
  const scaled = (number) => (100 * (number - low)) / (high - low);
  place(parts.band, scaled(from), scaled(to) - scaled(from), 3, 14);
  place(parts.tick, scaled(value) - 0.4, 0.8, 0, 20);
  const unit = question.ask === "mean" ? "" : "%";
  const range = `${digits(from, half)} to ${digits(to, half)}${unit}`;
  parts.interval.text.textContent = `${digits(value, half)}${unit} ${plusMinus(half)}`;
  parts.interval.small.textContent = `${range}; at most ${plusMinus(widest(law))}`;
  parts.svg.setAttribute("aria-label", `interval from ${range}`);
  parts.guess.text.textContent = law.after === null ? "not known" : `${percent(law.before)} → ${percent(law.after)}`;
  parts.guess.small.textContent = law.exact ? "" : "with ideal hash functions";
  parts.needed.text.textContent = whole.format(needed(law, high - low));
  parts.needed.small.textContent = `for ±\u00a0${state.target}${question.ask === "mean" ? "% of the scale" : " points"}`;
}

function showVerdict(stop) {
  let worst = 0;
  let name = "";
  for (const question of data.questions) {
    const relative = widest(stop.laws[question.law]) / (question.high - question.low);
    if (relative > worst) {
      worst = relative;
      name = question.name;
    }
  }
  const points = digits(100 * worst);
  const [kind, words] =
    worst > data.useless
      ? ["bad", "This survey cannot work: an answer may be off by"]
      : worst > data.useful
        ? ["fair", "Rough answers only: one may be off by"]
        : ["good", "Every answer is within"];
  at("verdict-card").className = `card ${kind}`;
  const which = data.questions.length > 1 ? ` The least certain is “${name}”.` : "";
  at("verdict").textContent = `${words} ±\u00a0${points} points of 100.${which}`;
}

function showMechanisms(stop) {
  const rows = stop.mechanisms.map((mechanism) => {
    const row = element("tr", mechanism.chosen ? "chosen" : "");
    const known = mechanism.variance !== null;
    const error = known ? plusMinus(100 * data.z * Math.sqrt(mechanism.variance / state.contributors)) : "-";
    const name = element("th", "", mechanism.name);
    name.setAttribute("scope", "row");
    const remark = mechanism.chosen ? "what a collection takes" : mechanism.reason;
    row.append(
      name,
      element("td", "", error),
      element("td", "", known ? mechanism.bits.toFixed(1) : "-"),
      element("td", "", mechanism.influence === null ? "-" : mechanism.influence.toFixed(1)),
      element("td", "", remark),
    );
    return row;
  });
  at("mechanism-rows").replaceChildren(...rows);
}

function show() {
  const stop = data.stops[state.stop];
  at("epsilon").value = String(state.stop);
  at("epsilon").setAttribute("aria-valuetext", `epsilon ${stop.epsilon}`);
  at("epsilon-value").textContent = stop.epsilon;
  at("contributors").value = String(Math.round(PER_DECADE * Math.log10(state.contributors / FEWEST)));
  at("contributors").setAttribute("aria-valuetext", whole.format(state.contributors));
  at("share-value").textContent = `${Math.round(100 * state.share)}%`;
  at("share").setAttribute("aria-valuetext", at("share-value").textContent);
  at("promise").textContent = `${stop.promise[0].toUpperCase()}${stop.promise.slice(1)}.`;
  at("how").textContent = `${stop.mechanism}; a report has ${stop.bits.toFixed(1)} bits.`;
  const any = data.questions.some((question) => question.ask !== "mean");
  at("questions-note").textContent = any
    ? `If ${at("share-value").textContent} gave an answer, the report would show it so, with a ${100 * data.confidence}% interval.`
    : `With a ${100 * data.confidence}% interval, drawn in the middle of the scale.`;
  showVerdict(stop);
  data.questions.forEach((question, i) => showQuestion(question, stop.laws[question.law], rows[i]));
  if (at("mechanisms").open) showMechanisms(stop);
}

// ---------------------------------------------------------------- controls

/** The number in an input, or null if it is not a number within the limits. */
function typed(input, least, most) {
  const value = Number(input.value.replaceAll(/[,\s]/g, ""));
  const fine = input.value.trim() !== "" && value >= least && value <= most;
  input.setAttribute("aria-invalid", String(!fine));
  return fine ? value : null;
}

/** A number of contributors on the slider, rounded to two digits: 100, 110, 130, ... */
function rounded(value) {
  const unit = 10 ** (Math.floor(Math.log10(value) + 1e-9) - 1);
  return Math.round(value / unit) * unit;
}

function setContributors(value) {
  state.contributors = value;
  at("contributors-number").value = whole.format(value);
  at("contributors-number").setAttribute("aria-invalid", "false");
}

function listen() {
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  at("epsilon").addEventListener("input", (event) => {
    state.stop = Number(event.target.value);
    show();
  });
  at("contributors").addEventListener("input", (event) => {
    setContributors(rounded(FEWEST * 10 ** (Number(event.target.value) / PER_DECADE)));
    show();
  });
  at("contributors-number").addEventListener("input", (event) => {
    const value = typed(event.target, 1, MOST);
    if (value === null) return;
    state.contributors = Math.round(value);
    show();
  });
  at("share").addEventListener("input", (event) => {
    state.share = Number(event.target.value) / 100;
    show();
  });
  at("target").addEventListener("input", (event) => {
    const value = typed(event.target, 1e-6, 100);
    if (value === null) return;
    state.target = value;
    show();
  });
  at("mechanisms").addEventListener("toggle", show);
}

heading();
const rows = data.questions.map(questionRow);
at("epsilon").max = String(data.stops.length - 1);
at("target").value = String(state.target);
setContributors(state.contributors);
listen();
show();
