"use strict";
// Draws what is in the block "data". Texts of the table are set as texts alone, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const KINDS = { compaction: "service", logcompaction: "service", clustering: "service", replacecommit: "service",
    indexing: "service", clean: "clean", rollback: "back", restore: "back", savepoint: "save" };
  const ROW = 15, GAP = 5, LEFT = 160, RIGHT = 24, NARROWEST = 3;
  const byId = (id) => document.getElementById(id);
  const bars = data.lanes.flatMap((lane) => lane.bars.map(
    ([time, state, begin, end, row, text, inserted, updated, deleted, bytes]) =>
      ({ lane, time, state, begin, end, row, text, inserted, updated, deleted, bytes })
  ));
  const moments = bars.flatMap((bar) => [bar.begin, bar.end ?? bar.begin]);
  const first = d3.min(moments) ?? 0, last = Math.max(d3.max(moments) ?? 0, first + 1000);
  const margin = (last - first) * 0.03;
  // What is pending ends nowhere: room is left where it goes on.
  const whole = [first - margin, last + 2 * margin];
  const inOrder = d3.sort(bars, (bar) => bar.begin);
  let shown = whole, chosen = null;

  const utc = (ms) => new Date(ms).toISOString().replace("T", " ").slice(0, 19);
  const bytesOf = (count) => {
    let amount = count, unit = 0;
    for (; amount >= 1024 && unit < 4; unit++) amount /= 1024;
    return `${amount.toFixed(unit && amount < 10 ? 1 : 0)} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
  };
  const number = d3.format(",");
  const lasted = (ms) => (ms < 1000 ? `${ms} ms` : ms < 120000 ? `${(ms / 1000).toFixed(1)} s`
    : ms < 7200000 ? `${Math.round(ms / 60000)} min` : `${(ms / 3600000).toFixed(1)} h`);
  const nameOf = (lane) => lane.action + (lane.metadata ? " (metadata)" : "");
  const pending = (bar) => bar.state !== "COMPLETED";
  const told = (bar) => [
    `${bar.time} ${nameOf(bar.lane)}`, bar.text, `requested ${utc(bar.begin)}`,
    pending(bar) ? `${bar.state.toLowerCase()}: has not ended` : bar.end > bar.begin ? `completed after ${lasted(bar.end - bar.begin)}` : "completed",
    bar.bytes != null && `${number(bar.inserted)} inserted, ${number(bar.updated)} updated, ${number(bar.deleted)} deleted, ${bytesOf(bar.bytes)} written`,
  ].filter(Boolean).join(" · ");

  const width = Math.max(byId("bars").clientWidth, 480);
  const x = d3.scaleUtc(shown, [LEFT, width - RIGHT]);
  const axis = (group) => group.call(d3.axisBottom(x).ticks(width / 110).tickSizeOuter(0));
  const svgIn = (id, height, name) => d3.select(`#${id}`).append("svg").attr("viewBox", `0 0 ${width} ${height}`)
    .attr("width", width).attr("height", height).attr("role", "img").attr("aria-label", name);

  // What happened when.
  let top = 4;
  for (const lane of data.lanes) {
    lane.top = top;
    lane.height = lane.rows * ROW;
    top += lane.height + GAP;
  }
  const picture = svgIn("bars", top + 22, "Bars of all instants by action, from request to completion");
  const defs = picture.append("defs");
  const hatch = defs.append("pattern").attr("id", "hatch").attr("width", 6).attr("height", 6)
    .attr("patternUnits", "userSpaceOnUse").attr("patternTransform", "rotate(45)");
  hatch.append("rect").attr("width", 6).attr("height", 6);
  hatch.append("path").attr("d", "M0 0V6");
  defs.append("clipPath").attr("id", "plot").append("rect").attr("x", LEFT).attr("width", width - LEFT).attr("height", top + 22);
  const stripes = picture.append("g").selectAll("g").data(data.lanes).join("g");
  stripes.append("rect").attr("class", "stripe").attr("x", LEFT).attr("width", width - LEFT - RIGHT)
    .attr("y", (lane) => lane.top - 2).attr("height", (lane) => lane.height + 3);
  stripes.append("text").attr("x", LEFT - 8).attr("y", (lane) => lane.top + ROW / 2).attr("dy", ".35em").attr("text-anchor", "end")
    .attr("class", (lane) => (lane.metadata ? "quiet" : null))
    .text((lane) => (nameOf(lane).length > 22 ? `${nameOf(lane).slice(0, 21)}…` : nameOf(lane)));
  const barsAxis = picture.append("g").attr("transform", `translate(0,${top})`);
  const inside = picture.append("g").attr("clip-path", "url(#plot)");
  const brush = inside.append("g").attr("class", "brush");
  const marks = inside.append("g").selectAll("path").data(bars).join("path")
    .attr("class", (bar) => ["bar", KINDS[bar.lane.action] ?? "write", bar.lane.metadata && "metadata", pending(bar) && "pending"].filter(Boolean).join(" "))
    .attr("data-time", (bar) => bar.time).attr("pointer-events", "none");
  const ends = inside.append("g").selectAll("path").data(bars.filter(pending)).join("path").attr("class", "open");

  const shape = (bar) => {
    const y = bar.lane.top + bar.row * ROW + 1, height = ROW - 3, from = x(bar.begin);
    if (bar.lane.action === "savepoint" && !pending(bar)) {
      const half = height / 2 + 1;
      return `M${from} ${y - 1}l${half} ${half}l${-half} ${half}l${-half} ${-half}Z`;
    }
    const to = pending(bar) ? width - RIGHT : x(bar.end);
    return `M${from.toFixed(1)} ${y}h${Math.max(to - from, NARROWEST).toFixed(1)}v${height}h${-Math.max(to - from, NARROWEST).toFixed(1)}Z`;
  };
  const arrow = (bar) => `M${width - RIGHT} ${bar.lane.top + bar.row * ROW - 1}l12 ${ROW / 2}l-12 ${ROW / 2}Z`;

  // Bytes and records of the same range, below.
  const growth = (id, name, keys) => {
    const height = 110, svg = svgIn(id, height, `${name} by time; the table below has the same`);
    const y = d3.scaleLinear([height - 22, 10]);
    const left = svg.append("g").attr("transform", `translate(${LEFT},0)`), below = svg.append("g").attr("transform", `translate(0,${height - 22})`);
    const clip = svg.append("g").attr("clip-path", "url(#plot)");
    return (bins) => {
      const most = d3.max(bins, (bin) => d3.sum(keys, (key) => bin[key])) || 1;
      y.domain([0, most]);
      const format = id === "bytes" ? bytesOf : d3.format("~s");
      const steps = id === "bytes" ? d3.range(3).map((step) => (most * step) / 2) : null;
      left.call(d3.axisLeft(y).ticks(3).tickValues(steps).tickFormat(format).tickSizeOuter(0));
      below.call(axis);
      clip.selectAll("g").data(bins).join("g").selectAll("rect").data((bin) => {
        let base = 0;
        return keys.map((key) => ({ key, bin, from: base, to: (base += bin[key]) })).filter((part) => part.to > part.from);
      }).join("rect").attr("class", (part) => (id === "bytes" ? "bytes-bin" : part.key))
        .attr("x", (part) => x(part.bin.from)).attr("width", (part) => Math.max(x(part.bin.to) - x(part.bin.from) - 1, 1))
        .attr("y", (part) => y(part.to)).attr("height", (part) => y(part.from) - y(part.to));
    };
  };
  const caption = (id, ...parts) => d3.select(`#${id}`).append("figcaption").append("h3").selectAll("span").data(parts).join("span")
    .each(function ([text, key]) {
      if (key) d3.select(this).append("span").attr("class", `key ${key}`);
      d3.select(this).append("span").text(text);
    });
  caption("bytes", ["Bytes written by commits"]);
  const drawBytes = growth("bytes", "Bytes written by commits", ["bytes"]);
  caption("records", ["Records by commits"], ["inserted", "inserted"], ["updated", "updated"], ["deleted", "deleted"]);
  const drawRecords = growth("records", "Records inserted, updated and deleted by commits", ["inserted", "updated", "deleted"]);
  const binned = () => {
    const edges = [shown[0], ...x.ticks(60).map(Number), shown[1]];
    const bins = d3.pairs(edges, (from, to) => ({ from, to, commits: 0, bytes: 0, inserted: 0, updated: 0, deleted: 0 }));
    for (const bar of bars) {
      if (bar.bytes == null || bar.begin < shown[0] || bar.begin >= shown[1]) continue;
      const bin = bins[d3.bisectRight(edges, bar.begin) - 1];
      bin.commits++;
      for (const key of ["bytes", "inserted", "updated", "deleted"]) bin[key] += bar[key];
    }
    return bins;
  };

  // The tables behind the charts.
  const PAGE = 100;
  let page = 0;
  const fill = (id, heads, rows) => {
    const box = d3.select(`#${id}`);
    box.selectAll("*").remove();
    const wide = box.append("div").attr("class", "wide").attr("tabindex", 0).attr("role", "region").attr("aria-label", "table");
    const table = wide.append("table");
    table.append("thead").append("tr").selectAll("th").data(heads).join("th").attr("scope", "col").text(String);
    table.append("tbody").selectAll("tr").data(rows).join("tr").selectAll("td").data((row) => row).join("td").text(String);
    return box;
  };
  const button = (box, text, act) => box.append("button").attr("type", "button").text(text).on("click", act);
  const tables = () => {
    if (byId("instants-table").open) {
      const inRange = inOrder.filter((bar) => bar.begin <= shown[1] && (bar.end ?? Infinity) >= shown[0]).reverse();
      page = Math.max(0, Math.min(page, Math.ceil(inRange.length / PAGE) - 1));
      const rows = inRange.slice(page * PAGE, (page + 1) * PAGE).map((bar) => [bar.time, nameOf(bar.lane), bar.state.toLowerCase(), utc(bar.begin),
        pending(bar) ? "" : lasted(bar.end - bar.begin), bar.text ?? "", ...["inserted", "updated", "deleted"].map((key) => (bar[key] == null ? "" : number(bar[key]))),
        bar.bytes == null ? "" : bytesOf(bar.bytes)]);
      const box = fill("instants", ["instant", "action", "state", "requested", "took", "operation", "inserted", "updated", "deleted", "written"], rows);
      if (inRange.length > PAGE) {
        const below = box.append("div").attr("class", "controls").attr("role", "toolbar").attr("aria-label", "Pages");
        button(below, "Newer", () => { page--; tables(); });
        button(below, "Older", () => { page++; tables(); });
        below.append("span").attr("class", "quiet").attr("role", "status")
          .text(`${number(page * PAGE + 1)} to ${number(page * PAGE + rows.length)} of ${number(inRange.length)}, newest first`);
      }
    }
    if (byId("growth-table").open) {
      fill("growth", ["from", "to", "commits", "inserted", "updated", "deleted", "written"], binned().filter((bin) => bin.commits)
        .map((bin) => [utc(bin.from), utc(bin.to), ...["commits", "inserted", "updated", "deleted"].map((key) => number(bin[key])), bytesOf(bin.bytes)]));
    }
  };
  for (const id of ["instants-table", "growth-table"]) byId(id).addEventListener("toggle", tables);

  // The range.
  const draw = () => {
    x.domain(shown);
    marks.attr("d", shape);
    ends.attr("d", arrow);
    barsAxis.call(axis);
    const bins = binned();
    drawBytes(bins);
    drawRecords(bins);
    tables();
    byId("range").textContent = `${utc(shown[0])} to ${utc(shown[1])}`;
    controls.selectAll("button").attr("aria-pressed", (range) => (range.ms == null ? null : String(range.ms === shown[1] - shown[0])));
  };
  const show = (from, to) => {
    const least = 1000;
    shown = to - from < least ? [from - least / 2, from + least / 2] : [Math.max(from, whole[0]), Math.min(to, whole[1])];
    if (shown[1] <= shown[0]) shown = whole;
    draw();
  };
  const all = () => show(...whole);
  const zoom = (factor, around = (shown[0] + shown[1]) / 2) => show(around - (around - shown[0]) * factor, around + (shown[1] - around) * factor);
  const pan = (share) => {
    const step = (shown[1] - shown[0]) * share;
    const by = share < 0 ? Math.max(step, whole[0] - shown[0]) : Math.min(step, whole[1] - shown[1]);
    show(shown[0] + by, shown[1] + by);
  };
  const ranges = [["last hour", 3600000], ["last day", 86400000], ["last week", 604800000], ["last 30 days", 2592000000]]
    .filter(([, ms]) => ms < whole[1] - whole[0]).map(([text, ms]) => ({ text, ms, act: () => show(whole[1] - ms, whole[1]) }));
  const controls = d3.select("#controls");
  controls.selectAll("button").data([
    { text: "all", ms: whole[1] - whole[0], act: all }, ...ranges,
    { text: "◀ earlier", act: () => pan(-0.5) }, { text: "later ▶", act: () => pan(0.5) },
    { text: "+ zoom in", act: () => zoom(0.5) }, { text: "− zoom out", act: () => zoom(2) },
  ]).join("button").attr("type", "button").text((range) => range.text).on("click", (_, range) => range.act());

  const choose = (bar) => {
    if (bar === chosen) return;
    chosen = bar;
    marks.classed("chosen", (one) => one === bar);
    byId("told").textContent = bar ? told(bar) : "";
  };
  const near = (event) => {
    const [atX, atY] = d3.pointer(event, picture.node());
    const at = Number(x.invert(atX)), reach = Number(x.invert(atX + 6)) - at;
    return d3.least(bars, (bar) => {
      const middle = bar.lane.top + bar.row * ROW + ROW / 2;
      if (Math.abs(atY - middle) > ROW / 2 + 1) return NaN;
      const away = Math.max(bar.begin - at, at - (bar.end ?? whole[1]), 0);
      return away <= reach ? away : NaN;
    });
  };
  brush.call(d3.brushX().extent([[LEFT, 0], [width - RIGHT, top]]).on("end", function (event) {
    if (!event.selection) return;
    const [from, to] = event.selection.map((at) => Number(x.invert(at)));
    d3.select(this).call(event.target.clear);
    if (event.selection[1] - event.selection[0] > 5) show(from, to);
  }));
  brush.on("pointermove", (event) => { const bar = near(event); if (bar) choose(bar); }).on("dblclick", all);

  byId("bars").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      const at = chosen ? inOrder.indexOf(chosen) + step : step > 0 ? 0 : inOrder.length - 1;
      const bar = inOrder[Math.max(0, Math.min(at, inOrder.length - 1))];
      if (bar) {
        choose(bar);
        if (bar.begin < shown[0] || bar.begin > shown[1]) pan((bar.begin - (shown[0] + shown[1]) / 2) / (shown[1] - shown[0]));
      }
    } else if (event.key === "+" || event.key === "=") zoom(0.5, chosen?.begin);
    else if (event.key === "-") zoom(2);
    else if (event.key === "0") all();
    else if (event.key === "Escape") choose(null);
    else return;
    event.preventDefault();
  });

  // File sizes.
  if (data.sizes) {
    const { limit, bins } = data.sizes, height = 190;
    const svg = svgIn("histogram", height, "Histogram of the sizes of the newest file slices; the table below has the same");
    const bands = d3.scaleBand(d3.range(bins.length), [LEFT, width - RIGHT]).padding(0.06);
    const y = d3.scaleLinear([0, d3.max(bins, (bin) => bin[2])], [height - 26, 26]).nice();
    svg.append("g").attr("transform", `translate(${LEFT},0)`).call(d3.axisLeft(y).ticks(4, "~s"));
    const columns = svg.append("g").selectAll("g").data(bins).join("g").attr("transform", (_, at) => `translate(${bands(at)},0)`);
    columns.append("rect").attr("class", (bin) => (bin[1] <= limit ? "size small" : "size inserted"))
      .attr("width", bands.bandwidth()).attr("y", (bin) => y(bin[2])).attr("height", (bin) => y(0) - y(bin[2]));
    columns.filter((bin) => bin[2]).append("text").attr("x", bands.bandwidth() / 2).attr("y", (bin) => y(bin[2]) - 4).attr("text-anchor", "middle").text((bin) => number(bin[2]));
    const edge = (at) => (at < bins.length ? bands(at) - bands.step() * 0.03 : bands(at - 1) + bands.bandwidth());
    const every = Math.ceil(bins.length / (width / 70));
    svg.append("g").selectAll("text").data(d3.range(bins.length + 1).filter((at) => at % every === 0)).join("text").attr("class", "quiet")
      .attr("x", edge).attr("y", height - 10).attr("text-anchor", "middle").text((at) => bytesOf(at < bins.length ? bins[at][0] : bins[at - 1][1]));
    const line = edge(bins.filter((bin) => bin[1] <= limit).length);
    svg.append("path").attr("class", "limit").attr("d", `M${line} 8V${height - 26}`);
    svg.append("text").attr("x", line + (line > width - 200 ? -6 : 6)).attr("y", 16).attr("text-anchor", line > width - 200 ? "end" : "start")
      .text(`small-file limit ${bytesOf(limit)}`);
  }

  // Light and dark: the system's, until it is switched.
  const theme = byId("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : dark.matches);
  const label = () => { theme.textContent = isDark() ? "Light mode" : "Dark mode"; };
  theme.addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; label(); });
  dark.addEventListener("change", label);
  theme.hidden = false;
  label();

  draw();
  document.documentElement.dataset.drawn = String(Math.round(performance.now()));
})();
