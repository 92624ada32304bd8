import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose, resultsOfRanks } from '@acc/testkit';

type Printed = Readonly<Record<string, string>>;

const SMALL = '--epochs 2 --rows 480';
const FEATURES = [
  ...[`base ${SMALL}`, `accumulation ${SMALL} --batch-size 24`],
  ...[
    'activation-checkpointing',
    'batch-size',
    'checkpointing',
    'clipping',
    'communication-hook',
    'compile',
    'ddp-options',
    'deterministic',
    'early-stopping',
    'fsdp',
    'local-sgd',
    'metrics',
    'mixed-precision',
    'monitor',
    'peak-memory',
    'schedule',
    'tracking',
  ].map((name) => `${name} ${SMALL}`),
];
const COMPLETE = `complete ${SMALL}`;
const PROGRAMS = [
  'resnet --epochs 1 --rows 160 --width 8',
  'char-gpt --epochs 1 --steps 4 --width 32 --layers 1 --sample 8',
  'fine-tune --steps 4 --pretrain 8 --length 24 --rank 2',
  'rnn --epochs 2 --rows 480',
  'gan --epochs 1 --rows 480',
  'cart-pole --iterations 3',
];

/** For slow machines, with other tests beside. A run takes about 10 s of two cores. */
const LONGEST_MS = 300_000;

const newFolder = () => mkdtempSync(join(tmpdir(), 'acc-examples-'));

interface Result {
  readonly printed: Printed;
  /** The names of all programs. */
  readonly known: readonly string[];
}

async function run(ranks: number, cwd: string, calls: readonly string[]): Promise<Result> {
  const script = new URL('./ranks/examples.ts', import.meta.url);
  const results = await resultsOfRanks<Result>({
    script,
    ranks,
    cwd,
    args: calls,
    timeoutMs: LONGEST_MS,
  });
  // Only the main process prints.
  for (const { printed } of results.slice(1)) expect(Object.values(printed).join('')).toBe('');
  return results[0]!;
}

/** The losses that a program printed, in order. */
function lossesOf(text: string): number[] {
  return Array.from(text.matchAll(/\b(?:loss|text|critic|generator) (\d+\.\d+)/g), ([, loss]) =>
    Number(loss),
  );
}

/** The printed digits end after the sixth decimal. */
const ROUNDING = { rtol: 1e-4, atol: 2e-6 };

const folders = new Map([1, 2].map((ranks) => [ranks, newFolder()]));
const results = new Map<number, Result>();
const of = (ranks: number, name: string): string => results.get(ranks)!.printed[name]!;

describe('the examples', () => {
  beforeAll(async () => {
    const calls = [...FEATURES, ...PROGRAMS, COMPLETE];
    for (const [ranks, folder] of folders) results.set(ranks, await run(ranks, folder, calls));
  }, 2 * LONGEST_MS);

  it('are all run', () => {
    const { printed, known } = results.get(1)!;
    expect(Object.keys(printed).sort()).toEqual([...known].sort());
    expect(of(1, 'complete')).toMatch(/accuracy \d+\.\d\d %/);
  });

  it('train as base.ts does, where the feature does not change what is learned', () => {
    const base = lossesOf(of(1, 'base'));
    expect(base).toHaveLength(3);
    expect(base[2]).toBeLessThan(base[0]!);
    for (const ranks of [1, 2]) {
      expectClose(lossesOf(of(ranks, 'base')), base, ROUNDING);
      // Means over smaller batches, of which the weights change only after every fourth.
      expectClose(lossesOf(of(ranks, 'accumulation')), base, ROUNDING);
      for (const name of UNCHANGED) expectClose(lossesOf(of(ranks, name)), base, ROUNDING);
    }
  });

  it('train alike on one and on two processes, but not as base.ts, where the feature changes steps', () => {
    const base = lossesOf(of(1, 'base'));
    for (const name of ['clipping', 'schedule']) {
      expectClose(lossesOf(of(2, name)), lossesOf(of(1, name)), ROUNDING);
      expect(Math.abs(lossesOf(of(1, name))[2]! - base[2]!), name).toBeGreaterThan(1e-3);
    }
    for (const ranks of [1, 2]) {
      expect(of(ranks, 'mixed-precision')).not.toBe(of(ranks, 'base'));
      expectClose(lossesOf(of(ranks, 'mixed-precision')), base, { rtol: 5e-2 });
    }
    expect(of(2, 'deterministic')).toBe(of(1, 'deterministic'));
  });

  it('train as base.ts on one process, and otherwise on two, where processes exchange less', () => {
    const base = lossesOf(of(1, 'base'));
    for (const name of ['local-sgd', 'communication-hook']) {
      expectClose(lossesOf(of(1, name)), base, ROUNDING);
      expect(lossesOf(of(2, name))).toHaveLength(3);
      expect(Math.abs(lossesOf(of(2, name))[2]! - base[2]!), name).toBeGreaterThan(1e-3);
    }
  });

  it('print, log and measure what their features are for', () => {
    for (const ranks of [1, 2]) {
      expect(of(ranks, 'batch-size')).toMatch(/^batch size 96\n/);
      for (const [name, project] of PROJECTS) {
        const records = recordsOf(ranks, project).filter((record) => 'train/loss' in record);
        const losses = records.map((record) => record['train/loss'] as number);
        expectClose(losses, lossesOf(of(ranks, name)).slice(0, 2), ROUNDING);
      }
      const monitored = recordsOf(ranks, 'monitored');
      expect(
        monitored.filter((record) => 'train/grad_norm' in record && 'time/step_ms' in record),
      ).toHaveLength(2);
    }
    expect(of(2, 'metrics')).toBe(of(1, 'metrics'));
    expect(of(1, 'metrics')).toMatch(/accuracy \d+ of 960$/);
    // Of 480 images of 28 by 28 floats, a process has at least the tensor.
    const dataMiB = (480 * 28 * 28 * 4) / 2 ** 20;
    for (const ranks of [1, 2]) {
      const sizes = Array.from(of(ranks, 'peak-memory').matchAll(/at most (\d+\.\d) MiB/g), ([, size]) =>
        Number(size),
      );
      expect(sizes).toHaveLength(2);
      expect(Math.min(...sizes)).toBeGreaterThan(dataMiB);
    }
  });

  it.each(['resnet', 'char-gpt', 'fine-tune', 'rnn', 'gan'])(
    '%s trains alike on one and on two processes',
    (name) => {
      const alone = lossesOf(of(1, name));
      expect(alone.length).toBeGreaterThan(0);
      expectClose(lossesOf(of(2, name)), alone, { rtol: 1e-3, atol: 2e-6 });
    },
  );

  it('fine-tune trains the last block, and adapters, of the model that was trained before', () => {
    for (const ranks of [1, 2]) {
      const printed = of(ranks, 'fine-tune');
      const trainable = Array.from(printed.matchAll(/(\w+): (\d+) of (\d+) weights/g), ([, ...each]) => each);
      const whole = 256 * 48 + 24 * 48 + 2 * BLOCK + 2 * 48;
      expect(trainable).toEqual([
        ['pretrained', String(whole), String(whole)],
        ['frozen', String(BLOCK), String(whole)],
        // Of two layers, A [48, 2] and B [2, 144].
        ['lora', String(2 * 2 * (48 + 144)), String(whole + 2 * 2 * (48 + 144))],
      ]);
      // Both begin with the same model, and are measured on the same rows.
      const losses = lossesOf(printed);
      expect(losses).toHaveLength(6);
      expect(losses[4]).toBe(losses[2]);
      expect(losses[3]).not.toBe(losses[5]);
      expect(losses[1]).toBeLessThan(losses[0]!);
      const adapter = join(folders.get(ranks)!, 'fine-tuned', 'adapter', 'adapter_model.safetensors');
      expect(statSync(adapter).size).toBeGreaterThan(4 * 2 * 2 * (48 + 144));
    }
  });

  it('cart-pole plays the same episodes on one and on two processes', () => {
    expect(of(1, 'cart-pole')).toMatch(/^iteration 1: \d+\.\d+ steps upright\n/);
    expect(of(2, 'cart-pole')).toBe(of(1, 'cart-pole'));
  });

  it(
    'go on where they were stopped, and stop early on all processes',
    { timeout: 2 * LONGEST_MS },
    async () => {
      const folder = newFolder();
      const { printed: stopped } = await run(2, folder, [
        'checkpointing --epochs 1 --rows 480',
        `${COMPLETE} --stop-after 1`,
        'early-stopping --epochs 9 --rows 480 --batch-size 8',
      ]);
      const { printed: rest } = await run(2, folder, [`checkpointing ${SMALL}`, COMPLETE]);
      for (const name of ['checkpointing', 'complete']) {
        const [first, ...later] = of(2, name).split('\n');
        expect(stopped[name]).toContain(first);
        expect(rest[name]!.split('\n').filter((line) => !line.startsWith('goes on from'))).toEqual(later);
      }
      const epochs = lossesOf(stopped['early-stopping']!).slice(0, -1);
      expect(epochs.length).toBeLessThan(9);
      expect(epochs.findIndex((loss) => loss < 0.5)).toBe(epochs.length - 1);
    },
  );
});

/** The weights of a block of width 48: two normalisations, attention of 4, and the MLP of 8 matrices. */
const BLOCK = 2 * 2 * 48 + (48 + 1) * 4 * 48 + (48 + 1) * 4 * 48 + (4 * 48 + 1) * 48;

/** The programs that end with base.ts's loss. */
const UNCHANGED = [
  'activation-checkpointing',
  'batch-size',
  'checkpointing',
  'compile',
  'ddp-options',
  'early-stopping',
  'fsdp',
  'metrics',
  'monitor',
  'peak-memory',
  'tracking',
];

/** The programs that use trackers, with the names of their projects. */
const PROJECTS = [
  ['tracking', 'digits'],
  ['monitor', 'monitored'],
] as const;

/** The records in the `metrics.jsonl` of the only run of a project. */
function recordsOf(ranks: number, project: string): Readonly<Record<string, unknown>>[] {
  const runs = join(folders.get(ranks)!, 'runs', project);
  const [only, ...others] = readdirSync(runs);
  expect(others).toEqual([]);
  const lines = readFileSync(join(runs, only!, 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n');
  return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}
