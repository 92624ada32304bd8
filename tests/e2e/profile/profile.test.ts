import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { beforeAll, describe, expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import { CONVNET, GPT, LSTM, type ProfileArgs, type ProfileCase, type Profiled } from './ranks/profile.js';

const SCHEDULE = { wait: 1, warmup: 1, active: 3 };
const CASES: readonly ProfileCase[] = [
  { model: 'gpt', schedule: SCHEDULE },
  { model: 'convnet', schedule: SCHEDULE },
  { model: 'lstm', schedule: SCHEDULE },
  { model: 'gpt', compiled: true, schedule: { wait: 2, warmup: 2, active: 2 } },
  { model: 'gpt', checkpointEvery: 2, schedule: SCHEDULE },
  { model: 'convnet', schedule: { wait: 0, warmup: 0, active: 1 } },
  // A compiled step is recorded in its second and third call.
  { model: 'convnet', compiled: true, schedule: { wait: 1, warmup: 1, active: 3 } },
  { model: 'convnet', compiled: true, schedule: { wait: 0, warmup: 0, active: 3 } },
];
const CHECKPOINTED = 4;

interface TraceEvent {
  readonly ph: string;
  readonly args: { readonly lane: string };
  readonly name: string;
  readonly pid: number;
  readonly ts: number;
  readonly dur: number;
}

const traceDir = mkdtempSync(join(tmpdir(), 'acc-profile-'));
const results = new Map<number, Profiled[]>();

beforeAll(async () => {
  const module = new URL('./ranks/profile.ts', import.meta.url);
  for (const ranks of [1, 2]) {
    const args: ProfileArgs = { cases: CASES, traceDir: join(traceDir, `${ranks}`) };
    results.set(ranks, await onRanks<Profiled>({ module, ranks, args }));
  }
});

/** The products of a step, by the usual formulas: backward has twice the products of forward. */
function analytic(name: ProfileCase['model']): { model: number; hidden: number } {
  if (name === 'gpt') {
    const { batch, length, width, layers, vocabulary } = GPT;
    const tokens = batch * length;
    const attention = tokens * layers * 4 * length * width;
    const dense = tokens * (layers * 24 * width ** 2 + 2 * width * vocabulary);
    return { model: 3 * (dense + attention), hidden: 3 * attention * ((length - 1) / (2 * length)) };
  }
  if (name === 'convnet') {
    const { batch, size, channels, classes } = CONVNET;
    const [before, between, after] = channels;
    const first = 2 * batch * size ** 2 * 9 * before * between;
    const second = 2 * batch * (size / 2) ** 2 * 9 * between * after;
    const dense = 2 * batch * (size / 2) ** 2 * after * classes;
    // Nothing needs the gradient of the images.
    return { model: 2 * first + 3 * second + 3 * dense, hidden: 0 };
  }
  const { batch, steps, inputs, units } = LSTM;
  return { model: 2 * batch * steps * 4 * units * (2 * inputs + 3 * units), hidden: 0 };
}

/** Of each sequence of packets in a trace of Perfetto: its id, its spans, and their time in microseconds. */
function sequencesOf(trace: Uint8Array): [sequence: number, spans: number, us: number][] {
  const found = new Map<number, [number, number, number]>();
  for (const packet of fieldsOf(trace).filter(([field]) => field === 1)) {
    const fields = fieldsOf(packet[1] as Uint8Array);
    const valueOf = (field: number) => fields.find(([number]) => number === field)?.[1];
    const sequence = Number(valueOf(10));
    const sums = found.get(sequence) ?? [sequence, 0, 0];
    found.set(sequence, sums);
    const event = valueOf(11) as Uint8Array | undefined;
    const type = event && Number(fieldsOf(event).find(([field]) => field === 9)![1]);
    const us = Number(valueOf(8)) / 1000;
    if (type === 1) sums[1]++;
    if (type === 1) sums[2] -= us;
    if (type === 2) sums[2] += us;
  }
  return [...found.values()];
}

/** The events that begin within an earlier one and end after it. */
function overlapping(events: readonly TraceEvent[]): TraceEvent[] {
  const open: number[] = [];
  return events
    .toSorted((a, b) => a.ts - b.ts || b.dur - a.dur)
    .filter(({ ts, dur }) => {
      while (open.length > 0 && open.at(-1)! <= ts) open.pop();
      const isBroken = open.length > 0 && ts + dur > open.at(-1)!;
      open.push(ts + dur);
      return isBroken;
    });
}

type Field = [field: number, value: Uint8Array | bigint];

function fieldsOf(message: Uint8Array): Field[] {
  const reader = new BinaryReader(message);
  const fields: Field[] = [];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    fields.push([field, type === WireType.LengthDelimited ? reader.bytes() : BigInt(reader.uint64())]);
  }
  return fields;
}

describe.each([1, 2])('on %i ranks', (ranks) => {
  const profiles = () => results.get(ranks)!.map((of) => of.profiles);

  it.each(CASES.map((given, i) => [given, i] as const))(
    '%o: FLOPs are those of the formula',
    ({ model, checkpointEvery }, i) => {
      for (const of of profiles()) {
        const { flops } = of[i]!;
        const expected = analytic(model);
        expect(flops.model / expected.model).toBeCloseTo(1, 6);
        expect(flops.hidden).toBeCloseTo(expected.hidden, 3);
        if (checkpointEvery === undefined && model !== 'gpt') expect(flops.hardware).toBe(flops.model);
      }
    },
  );

  it('activation checkpoints and the scores of attention count for the hardware only', () => {
    for (const of of profiles()) {
      const [plain, checkpointed] = [of[0]!.flops, of[CHECKPOINTED]!.flops];
      const attention = 2 * GPT.batch * GPT.layers * 2 * GPT.length ** 2 * GPT.width;
      expect(plain.hardware - plain.model).toBeCloseTo(attention / 2, 3);
      expect(checkpointed.hardware).toBeGreaterThan(plain.hardware);
    }
  });

  it('the parts of a step add up to it', () => {
    for (const of of profiles()) {
      for (const [i, { steps, stepMs, parts }] of of.entries()) {
        expect(steps).toBe(CASES[i]!.schedule.active);
        const sum = Object.values(parts).reduce((total, ms) => total + ms, 0);
        expect(sum).toBeCloseTo(stepMs, 6);
        const { compiled = false, schedule } = CASES[i]!;
        // The first calls of a compiled step are no replays.
        expect(parts.forward > 0).toBe(!compiled || schedule.wait < 2);
        expect(parts.backward > 0).toBe(!compiled || schedule.wait < 2);
        expect(parts.replay > 0).toBe(compiled && schedule.wait > 0);
        expect(parts.communication > 0).toBe(ranks > 1);
      }
    }
  });

  it('memory, utilization and operators are there', () => {
    for (const of of profiles()) {
      for (const { memory, mfu, operators, text } of of) {
        expect(memory.peakBytes).toBeGreaterThan(0);
        expect(mfu).toBeGreaterThan(0);
        expect(mfu).toBeLessThan(1);
        expect(operators.some((name) => /matmul|mm|convolution|lstm/.test(name))).toBe(true);
        expect(text).toContain('MFU');
      }
    }
    // All profiles have stored one peak.
    expect(readdirSync(join(traceDir, `${ranks}`, 'cache', 'peaks'))).toHaveLength(1);
  });

  it('each rank writes a trace, whose steps contain its phases and operators', () => {
    for (const [rank, of] of profiles().entries()) {
      for (const [i, { trace, chromeTrace }] of of.entries()) {
        const path = join(traceDir, `${ranks}`, `${i}`, `trace-rank-${rank}`);
        expect([trace, chromeTrace]).toEqual([`${path}.pftrace`, `${path}.json`]);
        const { traceEvents, baseTimeNanoseconds } = JSON.parse(readFileSync(chromeTrace!, 'utf8')) as {
          traceEvents: TraceEvent[];
          baseTimeNanoseconds: number;
        };
        const spans = traceEvents.filter(({ ph }) => ph === 'X');
        const named = (lane: string) => spans.filter(({ args }) => args.lane === lane);
        expect(named('steps')).toHaveLength(CASES[i]!.schedule.active);
        const begin = Math.min(...named('steps').map(({ ts }) => ts));
        const end = Math.max(...named('steps').map(({ ts, dur }) => ts + dur));
        expect(spans.every(({ pid, dur }) => pid === rank && dur >= 0)).toBe(true);
        for (const { ts, dur } of [...named('operators'), ...named('collectives')]) {
          expect(ts).toBeGreaterThanOrEqual(begin);
          expect(ts + dur).toBeLessThanOrEqual(end);
        }
        for (const lane of ['steps', 'phases', 'operators']) expect(overlapping(named(lane))).toEqual([]);
        expect(Math.abs(baseTimeNanoseconds / 1e6 + begin / 1e3 - Date.now())).toBeLessThan(600_000);
        expect(named('operators').length).toBeGreaterThan(5);
        expect(named('collectives').length > 0).toBe(ranks > 1);
        expect(named('garbage collection').length).toBeGreaterThan(0);
      }
    }
  });

  it("Perfetto's trace of all ranks, one after the other, has the spans of Chrome's with their times", () => {
    for (const i of CASES.keys()) {
      const of = profiles().map((profiles) => profiles[i]!);
      const bytes = Buffer.concat(of.map(({ trace }) => readFileSync(trace!)));
      const expected = of.map(({ chromeTrace }, rank) => {
        const { traceEvents } = JSON.parse(readFileSync(chromeTrace!, 'utf8')) as {
          traceEvents: TraceEvent[];
        };
        const spans = traceEvents.filter(({ ph }) => ph === 'X');
        return [rank + 1, spans.length, spans.reduce((sum, { dur }) => sum + dur, 0)];
      });
      const found = sequencesOf(bytes);
      expect(found.map(([sequence, spans]) => [sequence, spans])).toEqual(
        expected.map(([sequence, spans]) => [sequence, spans]),
      );
      for (const [rank, [, , us]] of found.entries()) expect(us / expected[rank]![2]!).toBeCloseTo(1, 4);
    }
  });

  it('owners hold the whole peak of memory, and layers have the FLOPs', () => {
    for (const of of profiles()) {
      for (const [i, { memory, layers, flops }] of of.entries()) {
        const held = Object.values(memory.owners!).reduce((sum, bytes) => sum + bytes, 0);
        expect(held).toBe(memory.peakBytes);
        expect(memory.owners!.parameters).toBeGreaterThan(1000);
        const gigaflops = layers.reduce((sum, layer) => sum + layer.gigaflops, 0);
        expect((gigaflops * 1e9) / flops.hardware).toBeCloseTo(1, 6);
        const { model, compiled, schedule } = CASES[i]!;
        // Adam makes its state, twice the parameters, in the first step.
        if (schedule.wait > 0)
          expect(memory.owners!['optimizer state'] / memory.owners!.parameters).toBeCloseTo(2, 1);
        if (model !== 'convnet' || (compiled && schedule.wait > 0)) continue;
        expect(memory.owners!.activations).toBeGreaterThan(0);
        expect(
          layers.filter(({ forwardMs, backwardMs }) => forwardMs > 0 && backwardMs > 0).length,
        ).toBeGreaterThan(2);
      }
    }
  });

  it('wrong calls say what is wrong, and leave nothing behind', () => {
    for (const { problems } of results.get(ranks)!) {
      expect(problems).toEqual({
        few: expect.stringContaining(
          'ACC_INVALID_OPTION: profile: fn took 3 optimizer steps; the schedule needs 4',
        ),
        none: expect.stringContaining('fn took 0 optimizer steps'),
        option: expect.stringContaining("ACC_UNKNOWN_OPTION: profile: unknown option 'scedule'"),
        active: expect.stringContaining('ACC_INVALID_OPTION: profile.schedule.active is 0'),
        fn: expect.stringContaining('ACC_INVALID_ARGUMENT'),
        folder: expect.stringContaining('ACC_STORAGE_FAILED: Writing /proc/no-such-folder'),
        thrown: 'OWN: of the program',
        nested: expect.stringContaining('ACC_INVALID_ARGUMENT: profile: another profile is being taken'),
        after: 'nothing',
        memory: expect.stringMatching(
          /^ACC_OUT_OF_MEMORY: .*Out of memory.*\nMemory of tensors, by who holds it:\n(.*MiB\n)* {2}parameters .* MiB\n/,
        ),
      });
    }
  });
});
