/**
 * `node bench/compile.mjs`: compares eager, compiled and fused steps with PyTorch's eager mode and
 * torch.compile. See README.md.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatReport, summaryOf } from './compile/report.mjs';
import { peakOfTheirs, runWay, waysOf } from './compile/ways.mjs';
import { checkModels } from './harness/check-models.mjs';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { compileUsage, parseCompileOptions } from './harness/options.mjs';
import { writeResult } from './harness/report.mjs';
import { benchDir } from './harness/workloads.mjs';
import { ensurePeer } from './peers/setup.mjs';

const keyOf = ({ model, precision, threads }) => `${model}, ${precision}, ${threads}`;

await exitOnError(async () => {
  const args = process.argv.slice(2);
  const parsed = parseCompileOptions(args);
  if (parsed.help) return console.log(compileUsage);
  const options = { ...parsed, python: ensurePeer(parsed.python) };
  await checkModels('acc', options.python);
  const record = options.keep ? earlier(options.name) : { cases: {} };
  for (const one of casesOf(options)) {
    record.cases[keyOf(one)] = await measureCase(one, options, args);
    // After each case, so that a run that ends early has its results.
    writeResult(`${options.name}.json`, `${JSON.stringify(record, null, 1)}\n`);
    writeResult(`${options.name}.md`, formatReport(options.name, Object.values(record.cases)));
  }
  console.log(`${benchDir}results/${options.name}.md`);
});

function earlier(name) {
  const path = `${benchDir}results/${name}.json`;
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : { cases: {} };
}

function casesOf({ models, precisions, threads }) {
  const { cores } = describeMachine();
  const fits = threads.filter((count) => count <= cores);
  if (fits.length === 0) throw new Error(`--threads: ${threads.join()}, but there are ${cores} cores`);
  return models.flatMap((model) =>
    precisions.flatMap((precision) => fits.map((count) => ({ model, precision, threads: count }))),
  );
}

/** Runs all ways in turn; every second time in the opposite order. */
async function measureCase(one, given, args) {
  const cache = mkdtempSync(join(tmpdir(), 'acc-bench-inductor-'));
  try {
    return await measureWays(one, { ...given, cache }, args);
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}

async function measureWays(one, options, args) {
  const machine = describeMachine();
  const ways = Object.entries(waysOf(one.model));
  const runs = Object.fromEntries(ways.map(([name]) => [name, []]));
  for (let repeat = 0; repeat < options.repeats; repeat++) {
    for (const [name, way] of repeat % 2 ? ways.toReversed() : ways) {
      const result = await runWay(one, way, options);
      if (!Number.isFinite(result.lastLoss) || result.threads !== one.threads) {
        throw new Error(`${keyOf(one)}, ${name}: unexpected ${JSON.stringify(result)}`);
      }
      runs[name].push(result);
    }
  }
  const peaks = {};
  for (const [name, way] of ways) {
    if (way.side === 'theirs') peaks[name] = await peakOfTheirs(one, way, options);
  }
  const command = ['npm run bench:compile --', ...args].join(' ').replace(/ --$/, '');
  const summary = summaryOf({ runs, peaks });
  const times = summary.rows.map(({ name, stepMs }) => `${name} ${stepMs.toPrecision(3)} ms`);
  console.error(`${keyOf(one)}: ${times.join(', ')}`);
  return { ...one, repeats: options.repeats, blocks: options.blocks, command, machine, ...summary };
}
