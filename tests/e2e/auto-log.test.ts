import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseFacts, parseRecords, type SampleRow, type StepRow } from '@acc/records';
import { expectClose, runRanks } from '@acc/testkit';

interface Result {
  readonly rows: { readonly step: number; readonly metrics: Record<string, number> }[];
  readonly texts: Record<string, string>;
  readonly alerts: { kind: string; step: number; rank?: number }[];
  readonly toldAfter: number[];
  readonly losses: number[];
}

const script = new URL('./ranks/auto-log.ts', import.meta.url);

async function train(way: string, ranks: number) {
  const folder = mkdtempSync(join(tmpdir(), 'acc-auto-'));
  const found = await runRanks<Result>({ script, ranks, args: [way, folder] });
  for (const { exitCode, stderr } of found) expect(exitCode, stderr).toBe(0);
  return { folder, results: found.map(({ result }) => result!), stderr: found.map(({ stderr }) => stderr) };
}

async function recordsOf(folder: string, rank: number) {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const bytesOf = (name: string) =>
    readFileSync(
      join(
        folder,
        paths.find((path) => path.endsWith(`insight/${name}`))!,
      ),
    );
  const read = <T extends StepRow | SampleRow>(name: string) =>
    parseRecords<T>(bytesOf(`${name}-rank-${rank}.acc`));
  const facts = parseFacts(bytesOf(`facts-rank-${rank}.jsonl`).toString());
  return { steps: await read<StepRow>('steps'), samples: await read<SampleRow>('samples'), facts };
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('autoLog', () => {
  it('logs the figures of all ranks at the given interval', async () => {
    const { results, folder } = await train('plain', 2);
    const [main, other] = results as [Result, Result];
    expect(main.rows.map(({ step }) => step)).toEqual([4, 8, 12]);
    expect(other.rows).toEqual([]);
    const all = main.losses.map((loss, i) => (loss + other.losses[i]!) / 2);
    const logged = main.rows.map(({ metrics }) => metrics['train/loss']!);
    expectClose(logged, [mean(all.slice(0, 4)), mean(all.slice(4, 8)), mean(all.slice(8, 12))], {
      rtol: 1e-5,
    });
    const { metrics } = main.rows[1]!;
    expect(metrics).toMatchObject({ 'train/learning_rate': expect.closeTo(0.001) as number });
    expect(metrics['train/grad_norm']).toBeGreaterThan(0);
    const parts = ['data', 'forward', 'backward', 'communication', 'optimizer'];
    const sum = parts.reduce((total, part) => total + metrics[`time/${part}_ms`]!, 0);
    expectClose([sum], [metrics['time/step_ms']!], { rtol: 1e-3 });
    const perSecond = 4_000 / metrics['time/step_ms']!;
    expectClose([metrics['train/samples_per_second']!], [perSecond], { rtol: 1e-3 });
    expectClose([metrics['train/tokens_per_second']!], [5 * perSecond], { rtol: 1e-3 });
    for (const name of ['cpu_utilization_percentage', 'rank_0/memory_megabytes', 'rank_1/cpu_percentage']) {
      expect(metrics[`system/${name}`], name).toBeGreaterThanOrEqual(0);
    }
    expect(main.alerts).toEqual([]);
    const weightNorms: number[][] = [];
    for (const rank of [0, 1]) {
      const { steps, samples, facts } = await recordsOf(folder, rank);
      // The first step has no begin.
      expect(steps.map(({ step }) => step)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
      const losses = steps.flatMap(({ step, loss }) => (step % 4 === 0 ? [loss] : []));
      expectClose(losses, logged, { rtol: 1e-12 });
      expect(steps.every((row) => row.samples === 4 && row.tokens === 20 && row.bytesSent > 0)).toBe(true);
      // Two products of [2,2] and [2,1]: the input of the model needs no gradient.
      expect(steps.map(({ flops }) => flops)).toEqual(
        steps.map(({ step }) => ([2, 4, 8].includes(step) ? 16 : NaN)),
      );
      expect(steps.every(({ blocked, replay }) => blocked > 0 && replay === 0)).toBe(true);
      expect(steps.every(({ start, end, exposed }) => end > start && exposed <= end - start)).toBe(true);
      expect(samples.length).toBeGreaterThan(0);
      expect(
        steps.every(({ loader, tensors, learningRate }) => loader > 0 && tensors > 0 && learningRate > 0),
      ).toBe(true);
      expect(facts).toMatchObject({
        rank,
        ranks: 2,
        strategy: 'ddp',
        createdAt: expect.stringMatching(/^auto-log\.ts:23:/) as string,
      });
      expect(facts!.options).toMatchObject({ gradientAccumulationSteps: 1, strategy: 'auto' });
      const looks = looksOf(steps, [main, other][rank]!.losses);
      weightNorms.push(looks.map(({ weightNorm }) => weightNorm));
    }
    expect(weightNorms[0]).toEqual(weightNorms[1]);
    expect(weightNorms[0]!.every((norm) => norm > Math.SQRT2)).toBe(true);
  });

  it('divides the time of a step into its parts', async () => {
    const { results } = await train('parts', 2);
    const { metrics } = results[0]!.rows[1]!;
    // The mean over ranks of their waiting times. Rank 0 waits 200 ms for rank 1, minus its other
    // delays.
    const waitedMs = { data: 60, forward: 130, backward: 25, communication: 20, optimizer: 15 };
    for (const [part, ms] of Object.entries(waitedMs)) {
      expect(metrics[`time/${part}_ms`], part).toBeGreaterThan(ms - 2);
    }
    expect(metrics['time/step_ms']).toBeGreaterThan(320);
  });

  it('gets the loss of a compiled step too', async () => {
    const { results, folder } = await train('compiled', 1);
    const { rows, losses } = results[0]!;
    const logged = rows.map(({ metrics }) => metrics['train/loss']!);
    expectClose(
      logged,
      [0, 4, 8, 12, 16, 20].map((i) => mean(losses.slice(i, i + 4))),
      { rtol: 1e-5 },
    );
    const { steps } = await recordsOf(folder, 0);
    // Each replay is in the row of its own step, the last one too.
    const replayed = steps.filter(({ replay }) => replay > 0);
    expect(replayed.at(-1)!.step).toBe(steps.at(-1)!.step);
    expect(replayed.length).toBeGreaterThan(15);
    expect(replayed.every(({ replay, start, end, flops }) => replay <= end - start && flops === 16)).toBe(
      true,
    );
  });

  it('alerts once if the loss is NaN: to trackers, stderr and the callback', async () => {
    const { results, stderr } = await train('nan', 1);
    const { alerts, texts } = results[0]!;
    expect(alerts.map(({ kind, step }) => [kind, step])).toEqual([['loss-not-finite', 7]]);
    expect(texts['alerts/loss-not-finite']).toContain('NaN');
    expect(stderr[0]).toContain('NaN');
  });

  it.each([
    ['short', 'at once before the first figures', 2, 1],
    ['late', 'at the end after the last figures', 6, 6],
  ])('alerts of NaN in a %s run: %s', async (way, _, step, after) => {
    const { results, stderr } = await train(way, 1);
    const { alerts, toldAfter } = results[0]!;
    expect([alerts, toldAfter]).toEqual([[{ kind: 'loss-not-finite', step }], [after]]);
    expect(stderr[0]).toMatch(
      new RegExp(`acc: The training ends with a loss that is not finite: NaN since step ${step}\\.\n$`),
    );
  });

  it('alerts if the loss jumps', async () => {
    const { results } = await train('spike', 1);
    const { alerts, texts } = results[0]!;
    expect(alerts[0]).toEqual({ kind: 'loss-spike', step: 41 });
    expect(texts['alerts/loss-spike']).toContain('jumped');
  });

  it('alerts if a rank is slower than the others', async () => {
    const { results } = await train('slow', 2);
    expect(results[0]!.alerts).toContainEqual({ kind: 'slow-rank', step: 12, rank: 1 });
  });

  it('reports a stall while it lasts, and alerts when it is over', async () => {
    const { results, stderr } = await train('stall', 1);
    expect(results[0]!.alerts).toMatchObject([{ kind: 'stall', step: 4 }]);
    expect(stderr[0]).toContain('has taken no step for');
  });
});

/** Of sets of figures, the first, the second, the fourth and so on look at single gradients. */
function looksOf(steps: readonly StepRow[], own: readonly number[]): StepRow[] {
  const looks = steps.filter(({ ownGradNorm }) => ownGradNorm > 0);
  expect(looks.map(({ step }) => step)).toEqual([4, 8]);
  // Labels of y and y + 1: the loss is d² - d + 1/2 for d = prediction - y, and the gradients of the
  // three weights are 2 d - 1.
  expectClose(
    looks.map(({ ownGradNorm }) => ownGradNorm),
    looks.map(({ step }) => Math.sqrt(3 * (4 * own[step - 1]! - 1))),
    { rtol: 1e-4 },
  );
  expect(
    looks.map(({ gradRatio, zeroUnits, unusedVariables }) => [gradRatio, zeroUnits, unusedVariables]),
  ).toEqual(looks.map(() => [1, 0, 0]));
  return looks;
}
