import { mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runRanks, type RankResult } from '@acc/testkit';

const root = join(import.meta.dirname, '..', '..');

const GAN = 'Several models and optimizers';

const FIRST = 'Accelerate for TensorFlow.js';

/** The fenced `ts` examples of README.md, by their headings, and one of the core's README.md. */
const examples = new Map([
  ...examplesIn('README.md'),
  ...examplesIn('packages/core/README.md').filter(([heading]) => heading === GAN),
]);

function examplesIn(document: string): (readonly [heading: string, code: string])[] {
  const sections = readFileSync(join(root, document), 'utf8').split(/^#+ /m);
  return sections.flatMap((section) => {
    const [, code] = /^```ts\n(.*?)^```/ms.exec(section) ?? [];
    return code === undefined ? [] : [[section.slice(0, section.indexOf('\n')), code] as const];
  });
}

/**
 * The names that examples use without declaring them, see
 * `tests/architecture/rules/readme-globals.d.ts`.
 */
const GLOBALS = `
import * as tf from '@tensorflow/tfjs';
import { reportResult } from '@acc/testkit';

const WIDTH = 100;
const ROWS = 128;
const images = tf.randomUniform([ROWS, WIDTH], 0, 1, 'float32', 1);
const labels = tf.oneHot(tf.range(0, ROWS, 1, 'int32').mod(tf.scalar(WIDTH, 'int32')), WIDTH).toFloat();
const createModel = () => tf.sequential({ layers: [tf.layers.dense({
  units: WIDTH, inputShape: [WIDTH], activation: 'softmax', kernelInitializer: tf.initializers.glorotUniform({ seed: 3 }),
})] });
const variablesOf = (model: tf.LayersModel) => model.trainableWeights.map((weight) => weight.read() as tf.Variable);
let batches = 0;
const createData = () => {
  const rows = { xs: tf.data.array(tf.unstack(images)), ys: tf.data.array(tf.unstack(labels)) };
  return tf.data.zip(rows).batch(8).map((batch) => {
    if (++batches > Number(process.env.BATCHES ?? Infinity)) throw new Error('the power goes out');
    return batch as { xs: tf.Tensor; ys: tf.Tensor };
  });
};
`;

/** A whole program gets no names. Only the report below it needs some. */
const WHOLE = `
import { reportResult } from '@acc/testkit';
const batches = 0;
`;

interface Told {
  readonly batches: number;
  readonly sum: number;
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'acc-readme-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/**
 * Runs an example on two ranks. `batches` is the number of batches that a rank may read before it
 * fails.
 */
function runExample(heading: string, cwd: string, batches?: number): Promise<RankResult<Told>[]> {
  const script = join(cwd, 'train.mts');
  const weights = heading === GAN ? 'generator' : 'model';
  const report = `reportResult({ batches, sum: ${weights}.getWeights()[0]!.abs().sum().dataSync()[0] });`;
  const own = heading === FIRST ? WHOLE : GLOBALS;
  writeFileSync(script, `${own}\n${examples.get(heading)}\n${report}\n`);
  return runRanks<Told>({ script, ranks: 2, cwd, env: { BATCHES: batches?.toString() } });
}

async function resultsOf(running: Promise<RankResult<Told>[]>): Promise<Told[]> {
  const ranks = await running;
  for (const { exitCode, stdout, stderr } of ranks) expect(exitCode, stdout + stderr).toBe(0);
  return ranks.map(({ result }) => result!);
}

const REST = 'The rest of a run';

it('the first program of README.md runs as it stands, learns, and prints once', async () => {
  const ranks = await runExample(FIRST, newFolder());
  const [first, second] = await resultsOf(Promise.resolve(ranks));
  expect(second!.sum).toBe(first!.sum);
  const losses = Array.from(ranks[0]!.stdout.matchAll(/^epoch \d: loss (\d\.\d{3}), \d+ ms$/gm), ([, loss]) =>
    Number(loss),
  );
  expect(losses).toHaveLength(5);
  // That of a guess is 0.69.
  expect(losses.at(-1)).toBeLessThan(0.6);
  expect(ranks[1]!.stdout).not.toContain('epoch');
});

it.each([GAN])('README.md: "%s" runs as written, and ranks agree', async (heading) => {
  const [first, second] = await resultsOf(runExample(heading, newFolder()));
  expect(first!.sum).toBeGreaterThan(0);
  expect(second!.sum).toBe(first!.sum);
});

it('README.md: "The rest of a run" runs as written, and resumes as one run of its trackers', async () => {
  const [folder, plain] = [newFolder(), newFolder()];
  const [whole] = await resultsOf(runExample(REST, plain));
  const cut = await runExample(REST, folder, Math.floor(whole!.batches * 0.45));
  expect(cut.map(({ stderr }) => /the power goes out/.test(stderr))).toContain(true);
  const [rest] = await resultsOf(runExample(REST, folder));
  expect(rest!.batches).toBeLessThan(whole!.batches);
  expect(rest!.sum).toBe(whole!.sum);
  expect(readdirSync(join(folder, 'runs', 'digits'))).toHaveLength(1);
});

it('README.md has the examples that run here, and begins with a short one that the home page shows, too', () => {
  expect([...examples.keys()]).toEqual([FIRST, REST, GAN]);
  expect(examples.get(FIRST)!.trim().split('\n').length).toBeLessThan(25);
  const [[, shown]] = examplesIn('site/docs/index.md') as [readonly [string, string]];
  expect(shown).toBe(examples.get(FIRST));
});
