// Trains the examples of tfjs-examples on tfjs's cpu backend: unchanged, then with the lines that
// the library needs, in one process and in two. Compares losses and weights.
//   npm run examples:field -- <checkout> [example…]
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { examples } from './examples.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { resolve: resolveModule } = createRequire(import.meta.url);
const [checkout, ...names] = process.argv.slice(2);
if (!checkout) {
  console.error('npm run examples:field -- <checkout of tensorflow/tfjs-examples> [example…]');
  process.exit(2);
}
const work = mkdtempSync(join(tmpdir(), 'acc-field-'));
symlinkSync(join(root, 'node_modules'), join(work, 'node_modules'));

/**
 * A copy of the example. It is changed where it needs missing files or takes too long, and by the
 * lines of the library.
 */
function copyOf(example, mode) {
  const folder = join(work, mode, example.folder ?? example.name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(dirname(folder), { recursive: true });
  cpSync(join(checkout, example.folder ?? example.name), folder, { recursive: true });
  const write = (file, text) => (
    mkdirSync(dirname(join(folder, file)), { recursive: true }),
    writeFileSync(join(folder, file), text)
  );
  for (const [file, text] of Object.entries(example.files ?? {})) write(file, text());
  const change = (edits) => {
    let lines = 0;
    for (const [file, before, after] of edits) {
      const text = readFileSync(join(folder, file), 'utf8');
      if (!text.includes(before)) throw new Error(`${example.name}: ${file} has no '${before}'`);
      write(
        file,
        text.replace(before, () => after),
      );
      lines += changedLines(before, after);
    }
    return lines;
  };
  change(example.smaller ?? []);
  return { folder, lines: mode === 'plain' ? 0 : change(example.added) };
}

/** Lines of `after` that `before` does not have. */
function changedLines(before, after) {
  const had = before.split('\n');
  return after.split('\n').filter((line) => line.trim() && !had.includes(line)).length;
}

function train(example, mode) {
  const { folder, lines } = copyOf(example, mode);
  const out = join(work, `${example.name.replace('/', '-')}-${mode}`);
  const { values, actions } = example;
  const task = { mode, out, values, actions, tsx: resolveModule('tsx/cjs') };
  const ranks = mode === 'two' ? 2 : 1;
  const launch = mode === 'two' ? [join(root, 'packages/cli/dist/acc.js'), 'launch', '-n', '2'] : [];
  const script = [join(root, 'tests/field/page.cjs'), join(folder, example.script), ...(example.args ?? [])];
  const began = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, [...launch, ...script], {
    env: { ...process.env, FIELD_TASK: JSON.stringify(task), OMP_NUM_THREADS: '1' },
    encoding: 'utf8',
    timeout: 240_000,
  });
  const seconds = (performance.now() - began) / 1000;
  if (status !== 0)
    throw new Error(`${example.name}, ${mode}: exit code ${status}\n${stdout}\n${stderr}`.slice(0, 6000));
  if (process.env.FIELD_VERBOSE) console.log(stdout);
  const reports = Array.from({ length: ranks }, (_, rank) =>
    JSON.parse(readFileSync(`${out}.${rank}.json`, 'utf8')),
  );
  return { lines, seconds, reports };
}

const relative = (a, b, scale = Math.max(Math.abs(a), Math.abs(b))) =>
  a === b ? 0 : Math.abs(a - b) / Math.max(scale, 1e-12);

/** The largest difference of a weight's elements, relative to that weight's largest element. */
function weightDifference(a, b) {
  if (a.length !== b.length || a.length === 0) return NaN;
  return Math.max(
    ...a.map((values, i) => {
      const scale = values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
      return values.reduce(
        (most, x, j) => Math.max(most, relative(x, b[i][j], scale)),
        values.length === b[i].length ? 0 : NaN,
      );
    }),
  );
}

/**
 * Everything that the training printed, for each step and epoch. Costs of ranks are means of parts
 * of the same size.
 */
function losses(reports) {
  const costs = reports[0].costs.map(
    (_, i) => reports.reduce((sum, report) => sum + report.costs[i], 0) / reports.length,
  );
  const logs = reports[0].histories.flatMap((history) =>
    Object.entries(history)
      .filter(([name]) => /loss/.test(name))
      .flatMap(([, values]) => values),
  );
  // Within fit, the cost of a rank covers its own part, which may have one row more than another's.
  return logs.length > 0 ? logs : costs;
}

function finalLoss(reports) {
  const history = reports[0].histories.at(-1);
  return history ? history.loss.at(-1) : losses(reports).at(-1);
}

/** The number of tensors before the last step minus that before the third. */
const growth = ({ tensors }) => (tensors.length > 3 ? tensors.at(-1) - tensors[2] : 0);

function compare(example) {
  const plain = train(example, 'plain');
  const row = {
    name: example.name,
    loss: { plain: finalLoss(plain.reports) },
    weights: {},
    logs: {},
    seconds: { plain: plain.seconds },
  };
  row.growth = { plain: growth(plain.reports[0]) };
  for (const mode of ['one', 'two']) {
    const { lines, seconds, reports } = train(example, mode);
    row.lines = lines;
    row.seconds[mode] = seconds;
    row.loss[mode] = finalLoss(reports);
    row.backend = reports[0].backend;
    row.growth[mode] = growth(reports[0]);
    row.steps = reports[0].tensors.length;
    row.weights[mode] = Math.max(
      ...reports.map(({ weights }) => weightDifference(plain.reports[0].weights, weights)),
    );
    const [expected, got] = [losses(plain.reports), losses(reports)];
    row.logs[mode] =
      expected.length === got.length ? Math.max(0, ...expected.map((x, i) => relative(x, got[i]))) : NaN;
    if (mode === 'two') row.ranksDiffer = weightDifference(reports[0].weights, reports[1].weights);
  }
  return row;
}

const number = (x) => (x === undefined ? '' : Number(x.toPrecision(6)));
const difference = (x) => (x === 0 ? '0' : x.toExponential(0));
const modes = ['plain', 'one', 'two'];

/** A row of docs/tfjs-examples.md. */
function rowOf({ name, lines, loss, logs, weights, growth, seconds }) {
  const cells = [
    name,
    lines,
    modes.map((mode) => number(loss[mode])).join(' / '),
    [logs, weights].map((of) => `${difference(of.one)}, ${difference(of.two)}`).join(' / '),
    modes.map((mode) => growth[mode]).join(' / '),
    modes.map((mode) => Math.round(seconds[mode])).join(' / '),
  ];
  return `| ${cells.join(' | ')} |`;
}

let failed = 0;
try {
  console.log(
    '| example | lines | last loss | losses differ by / weights by (one, two) | tensors gained | seconds |',
  );
  for (const example of examples.filter(({ name }) => names.length === 0 || names.includes(name))) {
    try {
      console.log(rowOf(compare(example)));
    } catch (error) {
      failed++;
      console.error(error.message);
    }
  }
} finally {
  if (process.env.FIELD_KEEP) console.log(work);
  else rmSync(work, { recursive: true, force: true });
}
process.exitCode = failed > 0 ? 1 : 0;
