import { runInThisContext } from 'node:vm';
import { expect, it } from 'vitest';
import { encodeDescription } from '../agreement.js';
import { lineOf } from './call-sites.js';
import { FlightRecorder } from './recorder.js';
import { shareCalls } from './shared-calls.js';

it('keeps the last calls, oldest first', () => {
  const recorder = new FlightRecorder();
  expect(recorder.calls()).toEqual([]);
  for (let i = 1; i <= 100; i++) recorder.record(i, `call ${i}`);
  const calls = recorder.calls();
  expect(calls.map(({ number }) => number)).toEqual(Array.from({ length: 64 }, (_, i) => 37 + i));
  expect(calls.at(-1)!.call).toBe('call 100');
});

it('describes calls with dtype and shape', () => {
  const recorder = new FlightRecorder();
  recorder.record(
    1,
    encodeDescription({ collective: 'allReduce', dtype: 'float32', shape: [2, 3], op: 'sum' }, 1),
  );
  expect(recorder.calls()[0]!.call).toBe("allReduce(float32[2,3], 'sum')");
});

it('shares the source line between calls that follow each other closely', () => {
  const recorder = new FlightRecorder();
  for (let i = 0; i < 1000; i++) recorder.record(i, 'call');
  expect(recorder.calls().every(({ line, isNear }) => line !== undefined || isNear === undefined)).toBe(true);
});

/** Calls a bound function, which has no frame of its own, from a line of a file of the user. */
const fromLine = <T>(line: number, fn: () => T): T => {
  const call = runInThisContext('(fn) => fn()', { filename: process.execPath, lineOffset: line - 1 });
  return (call as (fn: () => T) => T)(fn);
};

it('knows the line of a call that fails, and says of others that theirs is only the last known one', () => {
  const recorder = new FlightRecorder();
  fromLine(7, recorder.record.bind(recorder, 101, 'first'));
  fromLine(8, recorder.record.bind(recorder, 102, 'second'));
  fromLine(9, recorder.record.bind(recorder, 103, 'third'));
  expect(recorder.calls()[2]).toMatchObject({ line: `${process.execPath}:7:9`, isNear: true });
  fromLine(9, recorder.locateLast.bind(recorder));
  const line = (number: number) => `${process.execPath}:${number}:9`;
  expect(recorder.calls().map((call) => call.line)).toEqual([line(7), line(7), line(9)]);
  expect(recorder.calls().map(({ isNear }) => isNear)).toEqual([undefined, true, undefined]);
});

it('knows the line of each of the first calls, and says for which call it was captured', () => {
  const recorder = new FlightRecorder();
  const captured = [1, 2, 33].map((number) => {
    const isOwn = fromLine(number, recorder.record.bind(recorder, number, 'call'));
    return [isOwn, recorder.lastLine];
  });
  const line = (number: number) => `${process.execPath}:${number}:9`;
  expect(captured).toEqual([
    [true, line(1)],
    [true, line(2)],
    [false, line(2)],
  ]);
});

it("finds the user's line: not ours, not a package's, and not one of a source that exists only in a source map", () => {
  const path = process.execPath;
  const stack = [
    'Error',
    `    at captureSite (${new URL('call-sites.js', import.meta.url).href}:3:5)`,
    '    at Engine.gradients (file:///app/node_modules/@tensorflow/tfjs-core/dist/tf-core.js:1:1)',
    '    at Engine.tidy (/app/tfjs-core/src/engine.ts:469:20)',
    '    at node:internal/process/task_queues:95:5',
    `    at step (file://${path}:14:3)`,
    `    at file://${path}:99:1`,
  ].join('\n');
  expect(lineOf({ stack })).toBe(`${path}:14:3`);
  expect(lineOf({})).toBeUndefined();
});

it('keeps the last calls in memory that other threads read, without a call before', () => {
  const recorder = new FlightRecorder();
  const words = (number: number) =>
    encodeDescription({ collective: 'allReduce', dtype: 'float32', shape: [2, 3], op: 'sum' }, number);
  recorder.record(1, words(1));
  const { memory, end } = shareCalls();
  for (let i = 2; i <= 20; i++) recorder.record(i, words(i));
  recorder.record(0, 'send(rank 1)');
  end();
  recorder.record(22, words(22));
  expect(new Int32Array(memory.state)[0]).toBe(20);
  const { kept, textBytes, tables } = memory;
  const all = new Int32Array(memory.words);
  const place = 19 % kept;
  const places = Array.from({ length: kept }, (_, i) => i).filter((i) => i !== place);
  const numbers = places.map((i) => all[i * tables.words + tables.number]!);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: kept - 1 }, (_, i) => 6 + i));
  const text = Buffer.from(memory.texts).subarray(place * textBytes, (place + 1) * textBytes);
  expect([all[place * tables.words], text.toString().replaceAll('\0', '')]).toEqual([-1, 'send(rank 1)']);
});
