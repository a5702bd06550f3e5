"use strict";
// Draws the timelines of the page from the numbers that stand beside each. Times are nanoseconds since the planned start
// of the first block. A view is a part of that time; only what it shows is drawn, and what is thinner than a pixel is
// drawn once. Of two timelines, the chosen blocks begin at the same place, and both move and zoom together.
// Threads of any program have no blocks: the whole time stands for one that is not drawn, and `fills` says the colours.
const timelines = [];
// How much time each strip takes.
const timesOf = (data) => {
  const times = new Map();
  for (const flat of data.spans) {
    for (let i = 0; i < flat.length; i += 4) {
      const what = flat[i + 2], name = data.names[data.blocks[flat[i + 3]][6]][what];
      if (what < 0) continue;
      const strip = stripOf(name ?? "unit " + what);
      times.set(strip, (times.get(strip) ?? 0) + flat[i + 1]);
    }
  }
  return times;
};
// Which strip has which colour, in all timelines: those that take the largest share of the time of one have a colour of their
// own, all others share the last.
const colouringOf = (all) => {
  const shares = new Map(), strips = all[0].strips;
  for (const times of all.map(timesOf)) {
    const whole = [...times.values()].reduce((sum, it) => sum + it, 0) || 1;
    for (const [strip, time] of times) shares.set(strip, (shares.get(strip) ?? 0) + time / whole);
  }
  const rest = strips.length - 1;
  const busiest = [...shares].sort((a, b) => b[1] - a[1]).map(([strip]) => strip);
  const coloured = busiest.slice(0, busiest.length > strips.length ? rest : strips.length);
  return { coloured, others: busiest.length - coloured.length, fill: new Map(coloured.map((strip, index) => [strip, strips[index]])) };
};
const stripOf = (name) => name.split(": ", 1)[0];
const timeline = (stage, data, colouring) => {
  const blocks = data.blocks.map(([number, start, awake, finished, deadline, skipped, names], index) =>
    ({ index, number, start, awake, finished, deadline, skipped, names: data.names[names], list: names, why: data.why[index], way: data.ways[index], late: finished > deadline }));
  if (!blocks.length) return;
  const hasBlocks = !data.fills;

  const ROW = 34, AXIS = 26, LEAST_NS = 500, ABOVE = hasBlocks ? 1 : 0; // rows above the lanes
  const WORDS = { "-1": "barrier", "-2": "wait: nothing was ready", "-3": "help: passes of work that another worker has spread", "-4": "guard: keeps the seat from strangers" };
  // A lane has four columns, ordered by time.
  const lane = (name, seat, flat, naming, isUnit) => {
    const length = flat.length / 4;
    const it = { name, seat, length, start: new Float64Array(length), took: new Float64Array(length), what: new Int32Array(length), block: new Int32Array(length), naming, isUnit };
    for (let i = 0; i < length; i += 1) {
      it.start[i] = flat[4 * i]; it.took[i] = flat[4 * i + 1]; it.what[i] = flat[4 * i + 2]; it.block[i] = flat[4 * i + 3];
    }
    return it;
  };
  // For how long a thread had no CPU in a span, where it was asked.
  const away = (data.away ?? []).map((flat) => new Map(Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]])));
  const unitName = (what, block) => what < 0 ? WORDS[what] : blocks[block].names[what] ?? "unit " + what;
  const lanes = data.threads.map(([name, seat], index) => lane(name, seat, data.spans[index], unitName, true));
  for (const [cpu, names, flat] of data.others) {
    lanes.push(lane("other threads", "CPU " + cpu, flat, (what) => names[what], false));
  }
  for (const [title, cpu, names, flat] of data.beside ?? []) {
    lanes.push(lane(title, "CPU " + cpu, flat, (what) => names[what], false));
  }

  const rest = data.strips.length - 1, { coloured, fill: fillOfStrip } = colouring;
  const fills = hasBlocks ? data.names.map((names) => names.map((name) => fillOfStrip.get(stripOf(name)) ?? data.strips[rest])) : [data.fills];

  const find = (query) => stage.querySelector(query);
  const plot = find(".plot"), canvas = find(".lanes-canvas"), overview = find(".overview");
  const readout = find(".trace .readout"), found = find(".found"), search = find("input[type=search]"), tools = find(".tools");
  const paint = canvas.getContext("2d"), paintOverview = overview.getContext("2d");

  const first = Math.min(0, ...lanes.map((it) => it.length ? it.start[0] : 0));
  const last = Math.max(...blocks.slice(-2).map((block) => block.start + Math.max(block.finished, block.deadline)), ...lanes.map((it) => it.length ? it.start[it.length - 1] + it.took[it.length - 1] : 0));
  const whole = { from: first - (last - first) * 0.01, to: last + (last - first) * 0.01 };
  const view = { ...whole };
  let block = blocks.reduce((worst, it) => it.deadline - it.finished < worst.deadline - worst.finished ? it : worst);
  let chosen = null; // { lane, at }
  let matches = null; // per list of names, which units match

  const us = (ns, places = 1) => (ns / 1e3).toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
  // The others move with this one: their chosen blocks begin where its own does.
  const lead = () => {
    for (const it of timelines) if (it.stage !== stage) it.follow(view.from - block.start, view.to - block.start);
  };
  const show = (from, to) => {
    Object.assign(view, { from, to });
    // For those who look from outside.
    Object.assign(plot.dataset, { from: Math.round(from), to: Math.round(to) });
    schedule();
  };
  const setView = (from, to) => {
    const width = Math.min(Math.max(to - from, LEAST_NS), whole.to - whole.from);
    const begin = Math.min(Math.max((from + to - width) / 2, whole.from), whole.to - width);
    show(begin, begin + width);
    lead();
  };
  const zoom = (factor, around = (view.from + view.to) / 2) =>
    setView(around - (around - view.from) * factor, around + (view.to - around) * factor);
  const pan = (part) => { const by = (view.to - view.from) * part; setView(view.from + by, view.to + by); };

  // --- drawing -----------------------------------------------------------------
  let width = 0, height = 0, pending = false, ink = {};
  const readColours = () => {
    const style = getComputedStyle(document.documentElement);
    ink = Object.fromEntries(["panel", "ink", "muted", "line", "blue", "late", "grey", "on-strip"].map((name) => [name, style.getPropertyValue("--" + name).trim()]));
  };
  const fit = (it, context) => {
    const box = it.getBoundingClientRect(), scale = window.devicePixelRatio || 1;
    const [w, h] = [Math.max(1, Math.round(box.width * scale)), Math.max(1, Math.round(box.height * scale))];
    if (it.width !== w || it.height !== h) { it.width = w; it.height = h; }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    return [box.width, box.height];
  };
  const schedule = () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; draw(); });
  };
  const x = (ns) => (ns - view.from) / (view.to - view.from) * width;
  const ns = (px) => view.from + px / width * (view.to - view.from);
  // The first index whose span does not end before the time.
  const firstAt = (it, time) => {
    let low = 0, high = it.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (it.start[middle] + it.took[middle] < time) low = middle + 1; else high = middle;
    }
    return low;
  };
  const firstBlock = (time) => {
    let low = 0, high = blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (blocks[middle].start + Math.max(blocks[middle].finished, blocks[middle].deadline) < time) low = middle + 1; else high = middle;
    }
    return low;
  };
  const niceStep = (least) => {
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least);
  };
  const drawAxis = () => {
    const step = niceStep((view.to - view.from) * 120 / width);
    // Times of blocks are µs everywhere. What threads do has no blocks.
    const inMs = !hasBlocks && step >= 1e5;
    const places = Math.max(0, -Math.floor(Math.log10(step / (inMs ? 1e6 : 1e3))));
    paint.font = "12px system-ui, sans-serif";
    paint.textBaseline = "middle";
    for (let at = Math.ceil(view.from / step) * step; at < view.to; at += step) {
      paint.fillStyle = ink.line;
      paint.fillRect(x(at), 0, 1, height);
      paint.fillStyle = ink.muted;
      paint.fillText(((at || 0) / (inMs ? 1e6 : 1e3)).toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places }) + (inMs ? " ms" : " µs"), x(at) + 4, AXIS / 2);
    }
  };
  const drawBlocks = () => {
    if (!hasBlocks) return;
    const top = AXIS + 4, tall = ROW - 8;
    let drawn = -1;
    for (let i = firstBlock(view.from); i < blocks.length && blocks[i].start <= view.to; i += 1) {
      const it = blocks[i], from = x(it.start + it.awake), to = x(it.start + it.finished), deadline = x(it.start + it.deadline);
      if (to - drawn < 1 && !it.late) continue;
      drawn = to;
      paint.fillStyle = it.late ? ink.late : ink.blue;
      paint.globalAlpha = it === block ? 1 : 0.6;
      paint.fillRect(from, top, Math.max(1, to - from), tall);
      paint.globalAlpha = 1;
      if (to - from > 60) {
        paint.fillStyle = ink.panel;
        paint.save();
        paint.beginPath(); paint.rect(from, top, to - from, tall); paint.clip();
        paint.fillText("block " + it.number + (it.late ? ", late" : ""), Math.max(from, 0) + 5, top + tall / 2);
        paint.restore();
      }
      if (it.late) {
        // From the deadline to the end, over all lanes.
        paint.fillStyle = ink.late;
        paint.globalAlpha = 0.13;
        paint.fillRect(deadline, AXIS, Math.max(1, to - deadline), height - AXIS);
        paint.globalAlpha = 1;
      }
      if (it.late || (view.to - view.from) / width * 6 < it.deadline) {
        paint.fillStyle = ink.late;
        paint.fillRect(deadline - 1, AXIS, 2, height - AXIS);
      }
    }
  };
  // What is no unit differs by shape: a wait is a line, a barrier has ends, help is half as high, a guard is hatched.
  const drawOther = (what, from, to, top, tall) => {
    paint.fillStyle = ink.grey;
    const wide = Math.max(1, to - from);
    if (what === -2) paint.fillRect(from, top + tall / 2 - 1, wide, 2);
    if (what === -1) { paint.fillRect(from, top + tall / 2 - 1, wide, 2); paint.fillRect(from, top, 1, tall); paint.fillRect(to - 1, top, 1, tall); }
    if (what === -3) { paint.globalAlpha = 0.7; paint.fillRect(from, top + tall / 2, wide, tall / 2); paint.globalAlpha = 1; }
    if (what === -4) { for (let at = Math.max(from, -4); at < Math.min(to, width); at += 4) paint.fillRect(at, top + 3, 1, tall - 6); }
  };
  const drawLane = (it, row) => {
    const top = AXIS + ROW * (row + ABOVE) + 4, tall = ROW - 8;
    let drawn = -1;
    for (let i = firstAt(it, view.from); i < it.length && it.start[i] <= view.to; i += 1) {
      const from = x(it.start[i]), to = x(it.start[i] + it.took[i]), what = it.what[i], of = blocks[it.block[i]];
      const isMatch = matches !== null && it.isUnit && what >= 0 && matches[of.list][what];
      if (to - drawn < 1 && !isMatch) continue;
      drawn = to;
      if (it.isUnit && what < 0) { drawOther(what, from, to, top, tall); continue; }
      const left = Math.max(from, -2), right = Math.min(to, width + 2), wide = Math.max(1, right - left);
      const isDim = matches !== null && it.isUnit && !isMatch;
      paint.globalAlpha = isDim ? 0.25 : 1;
      const fill = it.isUnit ? fills[of.list][what] ?? data.strips[rest] : ink.muted;
      const isReady = fill === "ready";
      paint.fillStyle = isReady ? ink.late : fill;
      paint.fillRect(left, top, wide, tall);
      if (wide > 3) { paint.fillStyle = ink["on-strip"]; paint.globalAlpha *= 0.35; paint.fillRect(right - 1, top, 1, tall); }
      paint.globalAlpha = isDim ? 0.5 : 1;
      if (isMatch) { paint.fillStyle = ink.ink; paint.fillRect(left, top + tall - 3, wide, 3); }
      if (wide > 26) {
        // Dark text on a dim box would be lost on a dark page.
        paint.fillStyle = isDim ? ink.ink : it.isUnit && !isReady ? ink["on-strip"] : ink.panel;
        paint.save();
        paint.beginPath(); paint.rect(left, top, wide - 2, tall); paint.clip();
        paint.fillText(it.naming(what, it.block[i]), Math.max(left, 0) + 4, top + tall / 2);
        paint.restore();
      }
      paint.globalAlpha = 1;
    }
    if (chosen !== null && chosen.lane === row) {
      const from = x(it.start[chosen.at]), to = x(it.start[chosen.at] + it.took[chosen.at]);
      paint.strokeStyle = ink.ink;
      paint.lineWidth = 2;
      paint.strokeRect(from - 1, top - 1, Math.max(3, to - from + 2), tall + 2);
    }
  };
  // What the output of the chosen block waited for: a line below the boxes, from lane to lane.
  const drawWay = () => {
    paint.strokeStyle = ink.ink;
    paint.lineWidth = 2;
    paint.beginPath();
    for (let i = 0; i < block.way.length; i += 4) {
      const y = AXIS + ROW * (block.way[i] + 2) - 2;
      const from = x(block.start + block.way[i + 1]), to = x(block.start + block.way[i + 2]);
      if (i === 0) paint.moveTo(from, y); else paint.lineTo(from, y);
      paint.lineTo(to, y);
    }
    paint.stroke();
  };
  // Without blocks: how much of the CPUs' time the threads took, and where one of them was ready and did not run.
  const COLUMNS = 800;
  const sumColumns = () => {
    const each = block.finished / COLUMNS, ran = new Float64Array(COLUMNS), ready = new Float64Array(COLUMNS);
    for (const it of lanes.slice(0, data.sums)) {
      for (let i = 0; i < it.length; i += 1) {
        const sums = fills[0][it.what[i]] === "ready" ? ready : ran, from = it.start[i], to = from + it.took[i];
        for (let at = Math.max(0, Math.floor(from / each)); at < COLUMNS && at * each < to; at += 1) {
          sums[at] += (Math.min(to, (at + 1) * each) - Math.max(from, at * each)) / each;
        }
      }
    }
    return { ran, ready, most: Math.max(1, ...ran.map((sum, at) => sum + ready[at])) };
  };
  const columns = hasBlocks ? null : sumColumns();
  const drawShares = (wide, tall) => {
    const each = wide / COLUMNS, unit = tall / columns.most;
    for (let at = 0; at < COLUMNS; at += 1) {
      const ran = columns.ran[at] * unit, ready = columns.ready[at] * unit;
      paintOverview.fillStyle = ink.blue;
      paintOverview.fillRect(at * each, tall - ran, Math.max(1, each), ran);
      paintOverview.fillStyle = ink.late;
      paintOverview.fillRect(at * each, tall - ran - ready, Math.max(1, each), ready);
    }
    frame(view.from / block.finished * wide, view.to / block.finished * wide, wide, tall);
  };
  const frame = (from, to, wide, tall) => {
    paintOverview.strokeStyle = ink.ink;
    paintOverview.lineWidth = 2;
    const left = Math.max(from, 0), right = Math.min(to, wide);
    paintOverview.strokeRect(left + 1, 1, Math.max(4, right - left - 2), tall - 2);
  };
  // All blocks, one next to the other however long the pauses between them: how much of the period each took.
  const drawOverview = () => {
    const [wide, tall] = fit(overview, paintOverview);
    paintOverview.clearRect(0, 0, wide, tall);
    if (!hasBlocks) { drawShares(wide, tall); return; }
    const each = wide / blocks.length;
    let [column, most, late] = [-1, 0, false];
    const bar = () => {
      if (column < 0) return;
      paintOverview.fillStyle = late ? ink.late : ink.blue;
      const high = Math.max(1, Math.min(1.25, most) / 1.25 * tall);
      paintOverview.fillRect(column, tall - high, Math.max(1, each), high);
    };
    for (const it of blocks) {
      const at = Math.floor(it.index * each);
      if (at !== column) { bar(); [column, most, late] = [at, 0, false]; }
      most = Math.max(most, it.finished / Math.max(1, it.deadline));
      late ||= it.late;
    }
    bar();
    paintOverview.fillStyle = ink.late;
    paintOverview.fillRect(0, tall - tall / 1.25, wide, 1);
    const from = firstBlock(view.from), to = Math.max(from + 1, firstBlock(view.to) + 1);
    frame(from * each, Math.min(to, blocks.length) * each, wide, tall);
  };
  const draw = () => {
    [width, height] = fit(canvas, paint);
    paint.clearRect(0, 0, width, height);
    drawAxis();
    drawBlocks();
    lanes.forEach(drawLane);
    drawWay();
    drawOverview();
  };

  // --- choosing ----------------------------------------------------------------
  // The longest parts of the way.
  const sayWay = () => {
    const parts = [];
    for (let i = 0; i < block.way.length; i += 4) {
      const [row, from, to, unit] = block.way.slice(i, i + 4);
      parts.push([to - from, unit < 0 ? `${lanes[row].name} to run` : unitName(unit, block.index)]);
    }
    parts.sort((a, b) => b[0] - a[0]);
    const words = parts.slice(0, 3).map(([took, what]) => `${what} ${us(took)} µs`);
    return words.length ? ` Its output waited longest for ${words.join("; ")}.` : "";
  };
  const sayBlock = () => {
    if (!hasBlocks) return "";
    const slack = block.deadline - block.finished;
    const end = slack < 0 ? `late by ${us(-slack)} µs` : `ready ${us(slack)} µs before the deadline`;
    const skipped = block.skipped ? `, ${block.skipped} ${block.skipped === 1 ? "period" : "periods"} skipped after it` : "";
    const why = block.why ? ` Why: ${block.why}.` : "";
    return `Block ${block.number}: awake after ${us(block.awake)} µs, ${end}${skipped}.${why}${sayWay()}`;
  };
  const sayAway = (at) => {
    const ns = away[chosen.lane]?.get(at);
    return ns === undefined ? "" : ns < 1000 ? ", with a CPU all the time" : `, without a CPU for ${us(ns)} µs of it`;
  };
  const say = () => {
    if (chosen === null) { readout.textContent = hasBlocks ? sayBlock() : data.says; return; }
    const it = lanes[chosen.lane], at = chosen.at;
    const from = it.start[at] - block.start, to = from + it.took[at];
    const where = it.seat ? `${it.name}, ${it.seat}` : it.name;
    readout.textContent = `${it.naming(it.what[at], it.block[at])}: ${where}, ${us(from)} to ${us(to)} µs, took ${us(it.took[at])} µs${sayAway(at)}. ${sayBlock()}`;
  };
  const names = find(".names");
  const choose = (row, at) => {
    chosen = at === null ? null : { lane: row, at };
    if (chosen !== null && block !== blocks[lanes[row].block[at]]) { block = blocks[lanes[row].block[at]]; lead(); }
    [...names.children].forEach((it, index) => it.classList.toggle("is-chosen", chosen !== null && index === row + 1 + ABOVE));
    say();
    schedule();
  };
  const reveal = () => {
    if (chosen === null) return;
    const it = lanes[chosen.lane], from = it.start[chosen.at], took = it.took[chosen.at];
    if (took / (view.to - view.from) * width < 4) setView(from - 10 * took, from + 11 * took);
    const wide = view.to - view.from;
    if (from < view.from || from + took > view.to) setView(from + took / 2 - wide / 2, from + took / 2 + wide / 2);
  };
  const showBlock = (it) => {
    block = it;
    const end = Math.max(it.finished, it.deadline), margin = end * 0.15;
    choose(0, null);
    setView(it.start - margin, it.start + end + margin);
  };
  const step = (by, isWanted) => {
    for (let i = block.index + by; i >= 0 && i < blocks.length; i += by) {
      if (isWanted(blocks[i])) { showBlock(blocks[i]); return; }
    }
    found.textContent = by > 0 ? "no such block after this one" : "no such block before this one";
  };
  const anyBlock = () => true, lateBlock = (it) => it.late;
  const nearest = (row) => {
    const it = lanes[row], middle = chosen === null ? (view.from + view.to) / 2 : lanes[chosen.lane].start[chosen.at];
    return it.length ? Math.min(firstAt(it, middle), it.length - 1) : null;
  };

  // --- searching ---------------------------------------------------------------
  const isMatch = (it, at) => it.isUnit && it.what[at] >= 0 && matches[blocks[it.block[at]].list][it.what[at]];
  const countMatches = () => {
    let count = 0;
    for (const it of lanes) for (let i = 0; i < it.length; i += 1) if (isMatch(it, i)) count += 1;
    return count;
  };
  const searchFor = (text) => {
    const wanted = text.trim().toLowerCase();
    matches = wanted ? data.names.map((all) => all.map((name) => name.toLowerCase().includes(wanted))) : null;
    const count = matches === null ? 0 : countMatches();
    found.textContent = matches === null ? "" : count === 1 ? "1 span" : count.toLocaleString("en") + " spans";
    schedule();
  };
  const nextMatch = (by) => {
    if (matches === null) return;
    const now = chosen === null ? block.start - (by > 0 ? 1 : 0) : lanes[chosen.lane].start[chosen.at];
    let best = null;
    lanes.forEach((it, row) => {
      const begin = by > 0 ? firstAt(it, now) : Math.min(firstAt(it, now), it.length - 1);
      for (let i = begin; i >= 0 && i < it.length; i += by) {
        const isBehind = by > 0 ? it.start[i] > now || (it.start[i] === now && chosen !== null && row > chosen.lane) : it.start[i] < now || (it.start[i] === now && chosen !== null && row < chosen.lane);
        if (!isBehind || !isMatch(it, i)) continue;
        if (best === null || (by > 0 ? it.start[i] < best.start : it.start[i] > best.start)) best = { row, at: i, start: it.start[i] };
        break;
      }
    });
    if (best === null) { found.textContent = by > 0 ? "none after this one" : "none before this one"; return; }
    choose(best.row, best.at);
    reveal();
  };

  // --- mouse, touch and keys ---------------------------------------------------
  // A pointer that has gone by now cannot be held.
  const hold = (it, event) => { try { it.setPointerCapture(event.pointerId); } catch { /* its events still come */ } };
  const pointers = new Map();
  let moved = 0;
  const px = (event) => event.clientX - canvas.getBoundingClientRect().left;
  canvas.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, px(event));
    hold(canvas, event);
    if (pointers.size === 1) moved = 0;
    plot.classList.add("dragging");
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) return;
    const now = px(event);
    if (pointers.size === 2) {
      const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const factor = Math.abs(before - other) / Math.max(1, Math.abs(now - other));
      zoom(Math.min(Math.max(factor, 0.2), 5), ns(other));
      moved = 99;
    } else {
      moved += Math.abs(now - before);
      const by = (before - now) / width * (view.to - view.from);
      setView(view.from + by, view.to + by);
    }
    pointers.set(event.pointerId, now);
  });
  const lift = (event) => {
    const wasDown = pointers.delete(event.pointerId);
    if (pointers.size === 0) plot.classList.remove("dragging");
    if (!wasDown || event.type !== "pointerup" || moved > 4) return;
    const row = Math.floor((event.clientY - canvas.getBoundingClientRect().top - AXIS) / ROW) - ABOVE;
    const time = ns(px(event)), near = (view.to - view.from) / width * 3;
    if (row === -1 && hasBlocks) { block = blocks[Math.min(firstBlock(time), blocks.length - 1)]; choose(0, null); lead(); return; }
    if (row < 0 || row >= lanes.length) return;
    const at = firstAt(lanes[row], time - near);
    if (at < lanes[row].length && lanes[row].start[at] <= time + near) choose(row, at);
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("dblclick", (event) => zoom(0.4, ns(px(event))));
  plot.addEventListener("wheel", (event) => {
    const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    // Without focus the wheel scrolls the page, so that nobody is caught.
    if (!isSideways && !event.ctrlKey && !event.metaKey && document.activeElement !== plot) return;
    event.preventDefault();
    if (isSideways) pan((event.deltaX || event.deltaY) / width);
    else zoom(Math.exp(Math.min(Math.max(event.deltaY, -240), 240) * 0.004), ns(px(event)));
  }, { passive: false });
  const KEYS = {
    ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15),
    "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: () => setView(whole.from, whole.to),
    "/": () => search.focus(),
  };
  if (hasBlocks) Object.assign(KEYS, { b: () => step(1, anyBlock), B: () => step(-1, anyBlock), l: () => step(1, lateBlock), L: () => step(-1, lateBlock) });
  const alongLane = (by) => {
    const row = chosen === null ? 0 : chosen.lane;
    const at = chosen === null ? nearest(row) : chosen.at + by;
    if (at === null || at < 0 || at >= lanes[row].length) return;
    choose(row, at);
    reveal();
  };
  const acrossLanes = (by) => {
    const row = chosen === null ? (by > 0 ? 0 : lanes.length - 1) : chosen.lane + by;
    if (row < 0 || row >= lanes.length) return;
    const at = nearest(row);
    if (at !== null) { choose(row, at); reveal(); }
  };
  plot.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key], across = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const act = event.shiftKey && sideways ? () => alongLane(sideways) : across ? () => acrossLanes(across) : KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  search.addEventListener("input", () => searchFor(search.value));
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); nextMatch(event.shiftKey ? -1 : 1); }
  });
  const goOverview = (event) => {
    const box = overview.getBoundingClientRect();
    const wide = view.to - view.from;
    if (!hasBlocks) {
      const middle = (event.clientX - box.left) / box.width * block.finished;
      setView(middle - wide / 2, middle + wide / 2);
      return;
    }
    const at = Math.floor((event.clientX - box.left) / box.width * blocks.length);
    const it = blocks[Math.min(Math.max(at, 0), blocks.length - 1)];
    block = it;
    choose(0, null);
    setView(it.start + it.deadline / 2 - wide / 2, it.start + it.deadline / 2 + wide / 2);
  };
  overview.addEventListener("pointerdown", (event) => { hold(overview, event); goOverview(event); });
  overview.addEventListener("pointermove", (event) => { if (event.buttons) goOverview(event); });

  // --- the page ----------------------------------------------------------------
  const button = (text, title, act) => {
    const it = document.createElement("button");
    it.type = "button";
    it.textContent = text;
    if (title) it.setAttribute("aria-label", title);
    it.addEventListener("click", act);
    return it;
  };
  const hasLate = blocks.some(lateBlock);
  found.before(button("◂", "The match before", () => nextMatch(-1)), button("▸", "The next match", () => nextMatch(1)));
  tools.append(
    button("+", "Zoom in", () => zoom(0.6)), button("−", "Zoom out", () => zoom(1 / 0.6)), button("all", "Show all", () => setView(whole.from, whole.to)));
  if (hasBlocks) tools.append(button("◂ block", "The block before", () => step(-1, anyBlock)), button("block ▸", "The next block", () => step(1, anyBlock)));
  if (hasLate) tools.append(button("◂ late", "The late block before", () => step(-1, lateBlock)), button("late ▸", "The next late block", () => step(1, lateBlock)));
  const row = (name, seat, classes) => {
    const it = document.createElement("div"), b = document.createElement("b");
    b.textContent = name;
    it.append(b);
    if (seat) { const span = document.createElement("span"); span.textContent = seat; it.append(span); }
    it.className = classes ?? "";
    it.title = seat ? `${name}, ${seat}` : name;
    names.append(it);
  };
  row("", "");
  if (hasBlocks) row("blocks", "", "is-first");
  lanes.forEach((it) => row(it.name, it.seat, "is-first"));
  canvas.style.height = AXIS + ROW * (lanes.length + ABOVE) + "px";
  const legend = find(".trace .legend");
  const entry = (text, fill) => {
    const it = document.createElement("li"), swatch = document.createElement("i");
    swatch.className = "swatch";
    swatch.style.background = fill;
    it.append(swatch, text);
    legend.append(it);
  };
  for (const [text, fill] of data.legend ?? []) entry(text, fill === "ready" ? "var(--late)" : fill);
  if (legend && hasBlocks) {
    coloured.forEach((strip) => entry(strip, fillOfStrip.get(strip)));
    if (colouring.others) entry(`${colouring.others} others, which take less time`, data.strips[rest]);
    const note = document.createElement("li");
    note.textContent = "A line is a wait, a line with ends a barrier, half a box help, hatching a guard. Vertical lines are deadlines. The line from lane to lane is what the output of the chosen block waited for.";
    legend.append(note);
  }
  for (const cell of document.querySelectorAll(`[data-run="${stage.dataset.run}"] tr[data-block] > th`)) {
    const it = blocks.find((block) => String(block.number) === cell.parentElement.dataset.block);
    if (!it) continue;
    cell.replaceChildren(button(String(it.number), "Show block " + it.number, () => { showBlock(it); plot.scrollIntoView({ block: "center" }); plot.focus({ preventScroll: true }); }));
  }
  const repaint = () => { readColours(); schedule(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  for (const it of stage.querySelectorAll("[hidden]")) it.hidden = false;
  readColours();
  new ResizeObserver(schedule).observe(plot);
  timelines.push({ stage, repaint, follow: (from, to) => show(block.start + from, block.start + to) });
  if (hasBlocks) showBlock(block); else { choose(0, null); setView(whole.from, whole.to); }
  for (const it of document.querySelectorAll("[data-begin][data-end]")) {
    it.append(" ", button("Show in the timeline", "", () => { setView(+it.dataset.begin, +it.dataset.end); plot.scrollIntoView({ block: "center" }); plot.focus({ preventScroll: true }); }));
  }
  draw();
};

const remember = (name, value) => { try { localStorage.setItem(name, value); } catch { /* files may have no storage */ } };
const recall = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
const chosenTheme = document.getElementById("theme-" + recall("hocket-theme"));
if (chosenTheme) chosenTheme.checked = true;
const stages = [...document.querySelectorAll(".stage")].map((stage) => [stage, JSON.parse(stage.querySelector("script").textContent)]);
const colours = stages.length && !stages[0][1].fills ? colouringOf(stages.map(([, data]) => data)) : { coloured: [], others: 0, fill: new Map() };
for (const [stage, data] of stages) timeline(stage, data, colours);
for (const input of document.querySelectorAll("input[name=theme]")) {
  input.addEventListener("change", () => { remember("hocket-theme", input.id.slice("theme-".length)); timelines.forEach((it) => it.repaint()); });
}
document.documentElement.dataset.enhanced = "yes";
