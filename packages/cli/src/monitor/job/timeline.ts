import { isRecord } from '@acc/contract';
import type { DrawnLane, DrawnSpan, DrawnWindow, NameTime } from '../server/answers.js';

/** The spans of a row, in the order of their begin. Times are in milliseconds since 1970. */
interface Lane {
  readonly lane: string;
  readonly begins: readonly number[];
  readonly lengths: readonly number[];
  readonly names: readonly string[];
}

export interface RankTrace {
  readonly rank: number;
  readonly lanes: readonly Lane[];
}

interface View {
  /** The begin of the window, in milliseconds since 1970. */
  readonly origin: number;
  /** Milliseconds from the begin of the window on. */
  readonly from: number;
  readonly to: number;
  /** Columns of pixels. */
  readonly width: number;
}

/** Names in the table of a part. */
const MOST_NAMES = 12;
const WORK = ['operators', 'collectives'];

interface Event {
  readonly lane: string;
  readonly name: string;
  readonly begin: number;
  readonly ms: number;
}

/** Reads the Chrome trace that a profile writes. */
export function parseTrace(rank: number, text: string): RankTrace {
  const trace: unknown = JSON.parse(text);
  const { traceEvents, baseTimeNanoseconds } = isRecord(trace) ? trace : {};
  const base = Number(baseTimeNanoseconds) / 1e6;
  const events = (Array.isArray(traceEvents) ? traceEvents : []).flatMap((event) => eventOf(event, base));
  const lanes = [...new Set(events.map(({ lane }) => lane))];
  return { rank, lanes: lanes.map((lane) => laneOf(lane, events)) };
}

function eventOf(event: unknown, base: number): Event[] {
  if (!isRecord(event) || event.ph !== 'X' || !isRecord(event.args)) return [];
  const { ts, dur, name, args } = event;
  if (typeof ts !== 'number' || typeof dur !== 'number') return [];
  return [
    { lane: String(args.lane), name: shownName(String(name)), begin: base + ts / 1000, ms: dur / 1000 },
  ];
}

/** Names in the file are those that HolisticTraceAnalysis knows. */
const shownName = (name: string): string =>
  name
    .replace('ProfilerStep#', 'step ')
    .replace(/^ncclKernel /, '')
    .replace(/^aten::/, '');

function laneOf(lane: string, events: readonly Event[]): Lane {
  const own = events.filter((event) => event.lane === lane).sort((a, b) => a.begin - b.begin);
  return {
    lane,
    begins: own.map(({ begin }) => begin),
    lengths: own.map(({ ms }) => ms),
    names: own.map(({ name }) => name),
  };
}

/** @param ms The time of the whole window. */
export function drawWindow(traces: readonly RankTrace[], view: View, ms: number): DrawnWindow {
  const { from, to } = view;
  const ranks = traces.map(({ rank, lanes }) => ({ rank, lanes: lanes.map((lane) => drawLane(lane, view)) }));
  return { ms, from, to, ranks, names: longestNames(traces, view) };
}

/** Spans that are narrower than a pixel, and near each other, are drawn as one. */
function drawLane(lane: Lane, { origin, from, to, width }: View): DrawnLane {
  const pixel = (to - from) / width;
  const spans: DrawnSpan[] = [];
  let merged: { begin: number; end: number; count: number; name: string } | undefined;
  const flush = () => {
    if (merged)
      spans.push([
        merged.begin,
        merged.end - merged.begin,
        merged.count === 1 ? merged.name : '',
        merged.count,
      ]);
    merged = undefined;
  };
  for (const [i, at] of lane.begins.entries()) {
    const [begin, ms, name] = [at - origin, lane.lengths[i]!, lane.names[i]!];
    if (begin + ms < from || begin > to) continue;
    if (ms >= pixel) {
      flush();
      spans.push([begin, ms, name, 1]);
    } else if (merged && begin - merged.end < pixel && begin - merged.begin < 4 * pixel) {
      merged.end = Math.max(merged.end, begin + ms);
      merged.count++;
    } else {
      flush();
      merged = { begin, end: begin + ms, count: 1, name };
    }
  }
  flush();
  return { lane: lane.lane, spans };
}

/** The operators and collectives that take most time in a part, with the time on each rank. */
function longestNames(traces: readonly RankTrace[], { origin, from, to }: View): NameTime[] {
  const all = new Map<string, { lane: string; name: string; calls: number; ms: number[] }>();
  for (const [i, { lanes }] of traces.entries()) {
    for (const { lane, begins, lengths, names } of lanes.filter((each) => WORK.includes(each.lane))) {
      for (const [k, name] of names.entries()) {
        const begin = begins[k]! - origin;
        const inside = Math.min(to, begin + lengths[k]!) - Math.max(from, begin);
        if (inside <= 0) continue;
        const key = `${lane} ${name}`;
        const found = all.get(key) ?? { lane, name, calls: 0, ms: traces.map(() => 0) };
        found.calls++;
        found.ms[i]! += inside;
        all.set(key, found);
      }
    }
  }
  return [...all.values()].sort((a, b) => Math.max(...b.ms) - Math.max(...a.ms)).slice(0, MOST_NAMES);
}
