import { mkdtempSync } from 'node:fs';
import { totalmem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectClose, resultsOfRanks } from '@acc/testkit';

interface Result {
  readonly rows: { readonly step: number; readonly metrics: Record<string, number> }[];
  readonly readsOfSteps: number[];
  readonly rssMegabytes: number;
  readonly tensors: number;
}

interface Settings {
  readonly way?: string;
  readonly isOn?: boolean;
  readonly every: number;
  readonly accumulation?: number;
  readonly clip?: number;
}

const script = new URL('./ranks/auto-log-figures.ts', import.meta.url);

async function train(ranks: number, settings: Settings): Promise<Result[]> {
  const projectDir = mkdtempSync(join(tmpdir(), 'acc-figures-'));
  const args = [JSON.stringify({ way: 'loop', isOn: true, accumulation: 1, projectDir, ...settings })];
  return resultsOfRanks<Result>({ script, ranks, args });
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/**
 * The training of the script in plain numbers: for each step, the losses of micro-batches over all
 * ranks, and the norm of the gradient.
 */
function expected({
  ranks,
  accumulation,
  clip = Infinity,
}: {
  ranks: number;
  accumulation: number;
  clip?: number;
}) {
  const rows = Array.from({ length: 44 }, (_, i) => ({ x: [i / 10, 1 - (i % 3), 1], y: (i % 7) / 2 }));
  const weights = [1, 1, 0];
  const steps: { losses: number[]; norm: number }[] = [];
  const perMicro = 2 * ranks;
  for (let at = 0; at < rows.length; at += perMicro * accumulation) {
    const window = rows.slice(at, at + perMicro * accumulation);
    const off = window.map(({ x, y }) => sum(x.map((value, i) => value * weights[i]!)) - y);
    const losses = Array.from({ length: window.length / perMicro }, (_, k) => {
      const part = off.slice(k * perMicro, (k + 1) * perMicro);
      return sum(part.map((value) => value * value)) / perMicro;
    });
    const grad = weights.map((_, i) => (2 * sum(window.map(({ x }, k) => off[k]! * x[i]!))) / window.length);
    const norm = Math.hypot(...grad);
    const factor = Math.min(1, clip / norm);
    grad.forEach((value, i) => (weights[i]! -= 0.01 * Math.max(-clip, Math.min(clip, factor * value))));
    steps.push({ losses, norm });
  }
  return steps;
}

const PARTS = ['data', 'forward', 'backward', 'communication', 'optimizer'];

describe.each([1, 2])('figures on %i ranks', (ranks) => {
  it.each([
    { way: 'loop', every: 3, accumulation: 1 },
    { way: 'loop', every: 1, accumulation: 4 },
    { way: 'fit', every: 3, accumulation: 1 },
    { way: 'fit', every: 1, accumulation: 4 },
    { way: 'backward', every: 3, accumulation: 1, clip: 0.5 },
  ])('match the training: %j', async (settings) => {
    const results = await train(ranks, settings);
    const { every } = settings;
    const steps = expected({ ranks, ...settings });
    const sets = Array.from({ length: Math.floor(steps.length / every) }, (_, i) =>
      steps.slice(i * every, (i + 1) * every),
    );
    const [{ rows }, ...others] = results as [Result, ...Result[]];
    for (const other of others) expect(other.rows).toEqual([]);
    expect(rows.map(({ step }) => step)).toEqual(sets.map((_, i) => (i + 1) * every));
    const logged = (name: string) => rows.map(({ metrics }) => metrics[name]!);
    const losses = sets.map((set) => set.flatMap((step) => step.losses));
    expectClose(
      logged('train/loss'),
      losses.map((list) => sum(list) / list.length),
      { rtol: 1e-4 },
    );
    expectClose(
      logged('train/grad_norm'),
      sets.map((set) => set.at(-1)!.norm),
      { rtol: 1e-4 },
    );
    expectClose(
      logged('train/learning_rate'),
      sets.map(() => 0.01),
      { rtol: 1e-6 },
    );
    for (const [i, { metrics }] of rows.entries()) {
      // There is no step time before the first step has ended.
      if (every === 1 && i === 0) continue;
      const stepMs = metrics['time/step_ms']!;
      expectClose([sum(PARTS.map((part) => metrics[`time/${part}_ms`]!))], [stepMs], { rtol: 1e-3 });
      const samples = (2 * ranks * losses[i]!.length) / every;
      expectClose([metrics['train/samples_per_second']! * stepMs], [1_000 * samples], { rtol: 1e-4 });
      expectClose([metrics['train/tokens_per_second']! * stepMs], [5_000 * samples], { rtol: 1e-4 });
    }
    const { metrics } = rows.at(-1)!;
    for (const [rank, { rssMegabytes }] of results.entries()) {
      expect(metrics[`system/rank_${rank}/memory_megabytes`]! / rssMegabytes).toBeGreaterThan(0.3);
      expect(metrics[`system/rank_${rank}/memory_megabytes`]! / rssMegabytes).toBeLessThan(3);
      expect(metrics[`system/rank_${rank}/cpu_percentage`]).toBeGreaterThan(0);
    }
    const host = metrics['system/cpu_utilization_percentage']!;
    expect(host).toBeGreaterThanOrEqual(0);
    expect(host).toBeLessThanOrEqual(100);
    expect(metrics['system/system_memory_usage_megabytes']).toBeLessThanOrEqual(totalmem() / 1e6);
  });

  it('wait for the device only in steps up to the first report and in those that are logged, and never if they are off', async () => {
    const [on] = await train(ranks, { every: 5 });
    // A loss that is not finite is told at once in the first steps.
    const isDue = on!.readsOfSteps.map((_, i) => i < 5 || (i + 1) % 5 === 0);
    expect(on!.readsOfSteps.map((count) => count > 0)).toEqual(isDue);
    const [off] = await train(ranks, { every: 5, isOn: false });
    expect(off!.rows).toEqual([]);
    expect(sum(off!.readsOfSteps)).toBe(0);
    expect(on!.tensors).toBe(off!.tensors);
  });
});
