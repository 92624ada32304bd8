import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { liveTensors } from './memory.js';
import { operator } from './operator.js';
import { TensorFile } from './tensor-file.js';
import { tensorFrom, type Tensor } from './tensor.js';

const empty = operator('aten::empty.memory_format');
let folder: string;
let before: number;

beforeEach(() => {
  before = liveTensors();
  folder = mkdtempSync(join(tmpdir(), 'acc-file-'));
});
afterEach(() => {
  expect(liveTensors()).toBe(before);
  rmSync(folder, { recursive: true });
});

const values = (length: number, from: number) => Float32Array.from({ length }, (_, i) => from + i);
const tensorOf = (elements: Float32Array) => tensorFrom(elements, 'float32', [elements.length]);
const code = (expected: string) => expect.objectContaining({ code: expected }) as Error;

/** Places for tensors of these lengths, one after the other. */
const placesIn = (file: TensorFile, lengths: readonly number[]) =>
  lengths.map((length) => file.reserve(4 * length));

function readBack(file: TensorFile, lengths: readonly number[], offsets: readonly number[]): Float32Array[] {
  const made = lengths.map((length) => empty([length], 'float32') as Tensor);
  file.read(made, offsets).wait();
  return made.map((tensor) => {
    const read = tensor.read() as Float32Array;
    tensor.dispose();
    return read;
  });
}

/** Compares bytes at once, because the lists are long. */
function expectSame(found: readonly Float32Array[], expected: readonly Float32Array[]): void {
  const bytes = (list: readonly Float32Array[]) =>
    list.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));
  expect(Buffer.concat(bytes(found)).equals(Buffer.concat(bytes(expected)))).toBe(true);
}

describe('a file of tensors', () => {
  it('gives back what was written, together or one by one, of any size', () => {
    using file = new TensorFile(join(folder, 'made', 'too'), 'rank0');
    // More than the buffer of a thread, less than a block, and in between.
    const lengths = [3, 700_000, 1, 1024, 262_144, 5000];
    const offsets = placesIn(file, lengths);
    const given = lengths.map((length, i) => values(length, i));
    const tensors = given.map(tensorOf);
    const writing = file.write(tensors, offsets);
    for (const tensor of tensors) tensor.dispose();
    writing.wait();
    expectSame(readBack(file, lengths, offsets), given);
    const backwards = [...lengths.keys()].reverse();
    const [backLengths, backOffsets] = [lengths, offsets].map((list) => backwards.map((i) => list[i]!));
    expectSame(
      readBack(file, backLengths!, backOffsets!),
      backwards.map((i) => given[i]!),
    );
    expect(statSync(file.path).size).toBeGreaterThanOrEqual(4 * lengths.reduce((a, b) => a + b));
  });

  it('writes a place again, and gives free places to others', () => {
    using file = new TensorFile(folder, 'rank0');
    const [first, second] = placesIn(file, [10, 10]) as [number, number];
    for (const from of [1, 2, 3]) {
      using x = tensorOf(values(10, from));
      using y = tensorOf(values(10, -from));
      file.write([x, y], [first, second]).wait();
    }
    expect(readBack(file, [10, 10], [first, second])).toEqual([values(10, 3), values(10, -3)]);
    file.free(first, 40);
    expect(file.reserve(4096)).toBe(first);
    expect(file.reserve(4096)).toBeGreaterThan(second);
  });

  it('has a visible file of its own until it is disposed', () => {
    const files = [new TensorFile(folder, 'rank0'), new TensorFile(folder, 'rank0')];
    expect(readdirSync(folder).toSorted()).toEqual(
      files.map(({ path }) => path.slice(folder.length + 1)).toSorted(),
    );
    for (const file of files) file.dispose();
    expect(readdirSync(folder)).toEqual([]);
    files[0]!.dispose();
  });

  it('stays usable if somebody deletes the file, and reports one that somebody truncates', () => {
    using deleted = new TensorFile(folder, 'rank0');
    using truncated = new TensorFile(folder, 'rank1');
    using x = tensorOf(values(5000, 1));
    const places = [deleted, truncated].map((file) => {
      const offset = file.reserve(20_000);
      file.write([x], [offset]).wait();
      return offset;
    });
    unlinkSync(deleted.path);
    truncateSync(truncated.path, 4096);
    expect(readBack(deleted, [5000], [places[0]!])).toEqual([values(5000, 1)]);
    const read = truncated.read([x], [places[1]!]);
    expect(() => read.wait()).toThrowError(code('ACC_OFFLOAD_DAMAGED'));
    expect(() => read.wait()).toThrowError(code('ACC_OFFLOAD_DAMAGED'));
    // A write further on would hide the loss behind zeros.
    const write = truncated.write([x], [truncated.reserve(20_000)]);
    expect(() => write.wait()).toThrowError(truncated.path);
  });

  it('refuses a folder that is none, and tensors that it cannot write', () => {
    writeFileSync(join(folder, 'taken'), '');
    expect(() => new TensorFile(join(folder, 'taken'), 'rank0')).toThrowError(code('ACC_STORAGE_DENIED'));
    using file = new TensorFile(folder, 'rank0');
    using x = tensorOf(values(6, 0));
    using rows = tensorFrom(values(6, 0), 'float32', [2, 3]);
    using columns = operator('aten::t')(rows);
    expect(() => file.write([columns as Tensor], [0])).toThrowError(code('ACC_INVALID_ARGUMENT'));
    expect(() => file.write([x], [12])).toThrowError(code('ACC_INVALID_ARGUMENT'));
  });
});

describe('the file of a process that ends', () => {
  const program = `
    const { TensorFile } = await import(process.argv[1]);
    const { writeSync } = await import('node:fs');
    globalThis.file = new TensorFile(process.argv[2], 'rank0');
    const how = process.argv[3];
    if (how === 'listen') process.on('SIGTERM', () => process.exit(4));
    writeSync(1, 'ready');
    if (how === 'throw') throw new Error('of the program');
    if (how === 'exit') process.exit(3);
    // A training loop never returns to Node's event loop.
    if (how === 'loop') for (;;);
    if (how === 'listen') setInterval(() => {}, 1000);
  `;
  const built = new URL('../dist/index.js', import.meta.url).href;
  const args = (how: string) => ['--input-type=module', '-e', program, built, folder, how];

  async function endBy(signal: NodeJS.Signals, how: string): Promise<NodeJS.Signals | number | null> {
    const child = spawn(process.execPath, args(how), { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    expect(readdirSync(folder).join()).toContain(`-${child.pid}-`);
    child.kill(signal);
    const [exitCode, by] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return by ?? exitCode;
  }

  it.each(['end', 'throw', 'exit'])('is removed: %s', (how) => {
    try {
      execFileSync(process.execPath, args(how), { stdio: 'pipe' });
    } catch (error) {
      expect((error as { status: number }).status).toBe(how === 'exit' ? 3 : 1);
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('is removed by %s, within a loop too', async (signal) => {
    expect(await endBy(signal, 'loop')).toBe(signal);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is removed where the program itself answers the signal', async () => {
    expect(await endBy('SIGTERM', 'listen')).toBe(4);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is removed after SIGKILL by the next one, and those in use are not', async () => {
    using other = new TensorFile(folder, 'rank1');
    const notes = join(folder, 'acc-notes.txt');
    writeFileSync(notes, 'of the user');
    expect(await endBy('SIGKILL', 'loop')).toBe('SIGKILL');
    expect(readdirSync(folder)).toHaveLength(3);
    using next = new TensorFile(folder, 'rank2');
    const left = readdirSync(folder).map((name) => join(folder, name));
    expect(left.toSorted()).toEqual([notes, next.path, other.path].toSorted());
  });
});
