import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { MEMORY_OWNERS, type MemorySample } from './memory-owners.js';
import { LANES, type Span } from './spans.js';

/** The spans and the memory of one rank. */
export interface TraceContent {
  readonly rank: number;
  readonly size: number;
  readonly spans: readonly Span[];
  readonly memory: readonly MemorySample[];
}

// Fields and values of protos/perfetto/trace in Perfetto 59. Ids from 64 to 127 are clocks of one sequence
// of packets.
const OWN_CLOCK = 64;
const REALTIME = 1;
const CLEARED = 1;
const NEEDS_STATE = 2;
const EXPLICIT_ORDER = 3;
const BYTES = 3;
const TYPES = { begin: 1, end: 2, counter: 4 } as const;

/** Tracks of a rank: its process, then its lanes, then the owners of memory. */
const LANES_FROM = 1;
const MEMORY_FROM = LANES_FROM + LANES.length;
const TRACKS_OF_A_RANK = 100;

/**
 * A trace in Perfetto's own format, protobuf messages `TracePacket`. The traces of several ranks, one
 * after the other in one file, are a trace of all of them: each rank has its own sequence of packets, its
 * own tracks, and its own clock, which it relates to the time of day.
 */
export function perfettoTrace({ rank, size, spans, memory }: TraceContent): Uint8Array {
  const packets = new Packets(rank);
  packets.begin();
  packets.describeTrack(0, (track) => {
    message(track, 3, (process) => {
      process.tag(1, WireType.Varint).uint32(rank + 1);
      process.tag(6, WireType.LengthDelimited).string(`rank ${rank} of ${size}`);
    });
    track.tag(11, WireType.Varint).uint32(EXPLICIT_ORDER);
  });
  for (const [i, lane] of LANES.entries()) {
    const own = spans.filter((span) => span.lane === lane);
    packets.describeTrack(LANES_FROM + i, (track) => describeLane(track, packets.uuid(0), lane, i));
    for (const event of nested(own)) packets.event(LANES_FROM + i, event);
  }
  if (memory.length > 0) addMemory(packets, memory);
  return packets.finish();
}

function describeLane(track: BinaryWriter, parent: number, name: string, place: number): void {
  track.tag(5, WireType.Varint).uint32(parent);
  track.tag(2, WireType.LengthDelimited).string(name);
  track.tag(12, WireType.Varint).int32(place);
}

function addMemory(packets: Packets, samples: readonly MemorySample[]): void {
  for (const [i, owner] of MEMORY_OWNERS.entries()) {
    packets.describeTrack(MEMORY_FROM + i, (track) => {
      describeLane(track, packets.uuid(0), `memory: ${owner}`, MEMORY_FROM + i);
      message(track, 8, (counter) => counter.tag(3, WireType.Varint).uint32(BYTES));
    });
    let last: number | undefined;
    for (const { at, bytes } of samples) {
      if (bytes[i] === last) continue;
      last = bytes[i]!;
      packets.event(MEMORY_FROM + i, { type: 'counter', at, value: last });
    }
  }
}

/** An event of a track. Times are in milliseconds of `performance.now()`. */
type TrackEvent =
  | { readonly type: 'begin'; readonly at: number; readonly span: Span }
  | { readonly type: 'end'; readonly at: number }
  | { readonly type: 'counter'; readonly at: number; readonly value: number };

/** Begins and ends of spans in order. A span ends with the one around it at the latest. */
function* nested(spans: readonly Span[]): Generator<TrackEvent> {
  const open: number[] = [];
  const sorted = spans.toSorted((a, b) => a.start - b.start || b.ms - a.ms);
  for (const span of sorted) {
    while (open.length > 0 && open.at(-1)! <= span.start) yield { type: 'end', at: open.pop()! };
    open.push(Math.min(span.start + span.ms, open.at(-1) ?? Infinity));
    yield { type: 'begin', at: span.start, span };
  }
  while (open.length > 0) yield { type: 'end', at: open.pop()! };
}

/** Texts that packets refer to by numbers from 1. */
class Interned {
  readonly #numbers = new Map<string, number>();

  /** @param isNew Called with the number of a text that no earlier packet has. */
  numberOf(text: string, isNew: (number: number) => void): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#numbers.size + 1;
    this.#numbers.set(text, number);
    isNew(number);
    return number;
  }
}

/** Fields of `InternedData`. In each message, field 1 is the number and field 2 the text. */
const KINDS = {
  category: 1,
  name: 2,
  argument: 3,
  value: 29,
} as const;
type Kind = keyof typeof KINDS;

class Packets {
  readonly #writer = new BinaryWriter();
  readonly #interned: Readonly<Record<Kind, Interned>> = {
    category: new Interned(),
    name: new Interned(),
    argument: new Interned(),
    value: new Interned(),
  };

  constructor(private readonly rank: number) {}

  /** The first packet: its clock, and that nothing before it counts. */
  begin(): void {
    const now = performance.now();
    this.#packet((packet) => {
      message(packet, 6, (snapshot) => {
        const clocks = [
          [OWN_CLOCK, nanoseconds(now)],
          [REALTIME, nanoseconds(performance.timeOrigin + now)],
        ] as const;
        for (const [id, at] of clocks) {
          message(snapshot, 1, (clock) =>
            clock.tag(1, WireType.Varint).uint32(id).tag(2, WireType.Varint).uint64(at),
          );
        }
        snapshot.tag(2, WireType.Varint).uint32(REALTIME);
      });
      message(packet, 59, (defaults) => defaults.tag(58, WireType.Varint).uint32(OWN_CLOCK));
      packet.tag(13, WireType.Varint).uint32(CLEARED);
    });
  }

  /** The id of a track of this rank. Zero means the default track. */
  uuid(track: number): number {
    return (this.rank + 1) * TRACKS_OF_A_RANK + track;
  }

  describeTrack(track: number, describe: (track: BinaryWriter) => void): void {
    this.#packet((packet) => {
      message(packet, 60, (descriptor) => {
        descriptor.tag(1, WireType.Varint).uint32(this.uuid(track));
        describe(descriptor);
      });
    });
  }

  event(track: number, event: TrackEvent): void {
    const texts = event.type === 'begin' ? this.#textsOf(event.span) : undefined;
    this.#packet((packet) => {
      packet.tag(8, WireType.Varint).uint64(nanoseconds(event.at));
      packet.tag(13, WireType.Varint).uint32(NEEDS_STATE);
      if (texts && texts.added.length > 0) message(packet, 12, (data) => writeTexts(data, texts.added));
      message(packet, 11, (body) => {
        body.tag(9, WireType.Varint).uint32(TYPES[event.type]);
        body.tag(11, WireType.Varint).uint32(this.uuid(track));
        if (texts) writeReferences(body, texts);
        if (event.type === 'counter') body.tag(30, WireType.Varint).int64(event.value);
      });
    });
  }

  finish(): Uint8Array {
    return this.#writer.finish();
  }

  #textsOf({ lane, name, args = {} }: Span): Texts {
    const added: Added[] = [];
    const number = (kind: Kind, text: string) =>
      this.#interned[kind].numberOf(text, (number) => added.push({ kind, number, text }));
    return {
      category: number('category', lane),
      name: number('name', name),
      args: Object.entries(args).map(([key, value]) => [
        number('argument', key),
        number('value', String(value)),
      ]),
      added,
    };
  }

  #packet(fill: (packet: BinaryWriter) => void): void {
    message(this.#writer, 1, (packet) => {
      packet.tag(10, WireType.Varint).uint32(this.rank + 1);
      fill(packet);
    });
  }
}

interface Added {
  readonly kind: Kind;
  readonly number: number;
  readonly text: string;
}

/** The numbers of a span's texts, and those of them that are new. */
interface Texts {
  readonly category: number;
  readonly name: number;
  readonly args: readonly (readonly [key: number, value: number])[];
  readonly added: readonly Added[];
}

function writeTexts(data: BinaryWriter, added: readonly Added[]): void {
  for (const { kind, number, text } of added) {
    message(data, KINDS[kind], (entry) => {
      entry.tag(1, WireType.Varint).uint32(number);
      entry.tag(2, WireType.LengthDelimited).string(text);
    });
  }
}

function writeReferences(body: BinaryWriter, { category, name, args }: Texts): void {
  body.tag(3, WireType.Varint).uint32(category);
  body.tag(10, WireType.Varint).uint32(name);
  for (const [key, value] of args) {
    message(body, 4, (annotation) => {
      annotation.tag(1, WireType.Varint).uint32(key).tag(17, WireType.Varint).uint32(value);
    });
  }
}

function message(writer: BinaryWriter, field: number, fill: (message: BinaryWriter) => void): void {
  writer.tag(field, WireType.LengthDelimited).fork();
  fill(writer);
  writer.join();
}

/** Of a time in milliseconds. Times since 1970 need more digits than a number has. */
function nanoseconds(ms: number): bigint {
  const whole = Math.floor(ms);
  return BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6));
}
