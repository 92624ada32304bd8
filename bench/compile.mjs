/**
 * `node bench/compile.mjs`: compares eager, compiled and fused steps with PyTorch's eager mode and
 * torch.compile. See README.md.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatReport, summaryOf } from './compile/report.mjs';
import { floorOfProducts, peakOfTheirs, runWay, waysOf } from './compile/ways.mjs';
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
    const key = keyOf(one);
    record.cases[key] = await measureCase(one, options, record.cases[key]);
    record.cases[key].commands.push(['npm run bench:compile --', ...args].join(' ').replace(/ --$/, ''));
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

async function measureCase(one, options, before) {
  const cache = mkdtempSync(join(tmpdir(), 'acc-bench-inductor-'));
  try {
    return await measureWays(one, { ...options, cache }, before);
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}

/**
 * Runs all ways in turn; every second time in the opposite order.
 *
 * @param before What earlier runs measured of the same case.
 */
async function measureWays(one, options, before) {
  const ways = Object.entries(waysOf(one.model));
  const measured = before ?? {
    ...one,
    commands: [],
    machine: describeMachine(),
    blocks: options.blocks,
    peaks: {},
    runs: {},
  };
  const { runs, peaks } = measured;
  for (const [name] of ways) runs[name] ??= [];
  for (let repeat = 0; repeat < options.repeats; repeat++) {
    const isTurned = runs['PyTorch eager'].length % 2 > 0;
    for (const [name, way] of isTurned ? ways.toReversed() : ways) {
      const result = await runWay(one, way, options);
      if (!Number.isFinite(result.lastLoss) || result.threads !== one.threads) {
        throw new Error(`${keyOf(one)}, ${name}: unexpected ${JSON.stringify(result)}`);
      }
      // One explanation suffices.
      if (runs[name].length > 0) delete result.explanation;
      runs[name].push(result);
    }
  }
  for (const [name, way] of ways) {
    if (way.side === 'theirs') peaks[name] ??= await peakOfTheirs(one, way, options);
  }
  measured.floor = await floorOfProducts(one, options);
  const times = summaryOf(measured).rows.map(({ name, stepMs }) => `${name} ${stepMs.toPrecision(3)} ms`);
  console.error(`${keyOf(one)}: ${times.join(', ')}`);
  return measured;
}
