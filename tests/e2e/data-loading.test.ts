import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { permutation } from '@acc/data';
import { onRanks } from './on-ranks.js';

interface Failure {
  readonly batches: number;
  readonly code: string;
  readonly message: string;
  readonly cause?: string;
}

interface Result {
  readonly workers: { readonly seen: number[]; readonly isRight: boolean };
  readonly failures: false | { readonly sample: Failure; readonly exit: Failure; readonly rows: number[] };
  readonly dispatched: {
    readonly collected: Record<string, number[]>;
    readonly leaked: number;
    readonly refused: string[];
  };
}

const SAMPLES = 46;
const numbers = (n: number) => Array.from({ length: n }, (_, i) => i);
const program = (name: string) => new URL(`./ranks/${name}`, import.meta.url);

let folder: string;
/** By number of ranks: 2 saves in mid-epoch, 1 and 3 go on. */
const runs = new Map<number, Result[]>();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-data-'));
  for (const ranks of [2, 1, 3]) {
    const args = { mode: ranks === 2 ? 'save' : 'go-on', folder };
    const env = { OMP_NUM_THREADS: '1' };
    runs.set(ranks, await onRanks<Result>({ module: program('data-loading.ts'), ranks, args, env }));
  }
});
afterAll(() => rm(folder, { recursive: true }));

describe('worker threads', () => {
  it('give the batches of one thread, and go on in mid-epoch on another number of ranks', () => {
    const order = [...permutation(SAMPLES, 5, 0)];
    for (const results of runs.values()) {
      for (const { workers } of results) expect(workers.isRight).toBe(true);
    }
    for (const { workers } of runs.get(2)!) expect(workers.seen).toEqual(order.slice(0, 24));
    for (const ranks of [1, 3]) {
      for (const { workers } of runs.get(ranks)!) expect(workers.seen).toEqual(order.slice(24));
    }
  });

  it('report the sample that failed, and a thread that ended', () => {
    const { failures } = runs.get(2)![0]!;
    if (!failures) return expect.unreachable();
    const { sample, exit, rows } = failures;
    expect(sample).toMatchObject({ batches: 2, code: 'ACC_DATA_SAMPLE', cause: 'square 9 is too large' });
    expect(sample.message).toContain('Sample 9 (square-9.txt)');
    expect(exit.code).toBe('ACC_DATA_WORKER');
    expect(rows).toEqual([0, 1, 4, 9, 16]);
  });

  it('end with the program, by themselves and by Ctrl-C', async () => {
    const child = spawn(process.execPath, [program('interrupted-loader.mjs').pathname], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exit = new Promise<unknown[]>((resolve) => child.on('exit', (...how) => resolve(how)));
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (line === 'batch 2 of epoch 1') child.kill('SIGINT');
    }
    expect(await exit).toEqual([null, 'SIGINT']);
    expect(lines).toContain('epoch 0 has 5 batches');
    const ended = spawn(process.execPath, [program('interrupted-loader.mjs').pathname, 'once'], {
      stdio: 'ignore',
    });
    expect(await new Promise((resolve) => ended.on('exit', resolve))).toBe(0);
  });
});

describe('dispatchBatches', () => {
  it('gives each rank the batches that it would read itself, though rank 0 alone reads', () => {
    for (const [ranks, results] of runs) {
      const dropped = Math.floor(23 / (4 * ranks)) * 4 * ranks;
      for (const { dispatched } of results) {
        expect(dispatched.collected).toEqual({
          stream: numbers(23),
          flags: numbers(23).map((i) => (i % 2 === 0 ? 1 : 0)),
          getter: [...permutation(23, 5, 0)],
          columns: numbers(dropped),
        });
        expect(dispatched.leaked).toBe(0);
      }
    }
  });

  it('tells every rank of an error of rank 0, and refuses data that it cannot divide', () => {
    for (const [ranks, results] of runs) {
      results.forEach(({ dispatched }, rank) => {
        const [dataset, error] = dispatched.refused;
        expect(dataset).toBe(ranks === 1 ? 'none' : 'ACC_DATA_DISPATCH');
        expect(error).toBe(rank === 0 ? 'ACC_DATA_SAMPLE' : 'ACC_DATA_DISPATCH');
      });
    }
  });
});
