/** Runs tfjs-core's own specs against a backend: see README.md. */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { buildFolder, bundleSpecs, tfjsVersion } from './bundle.mjs';
import { compare, knownPath, NO_REASON, readKnown, updated, writeKnown } from './known-failures.mjs';
import { formatReport, progressLine } from './reporter.mjs';
import { runSpecs } from './spec-process.mjs';

const USAGE =
  'usage: node tests/tfjs-core-specs/run.mjs --backend <cpu|acc|tensorflow> [--filter <substring>] [--device cpu|cuda|late] ' +
  '[--tfjs-node <folder> [--plain]] [--write-known]';

/** @throws Error with the usage if an option is unknown, missing or without effect. */
function readOptions(args) {
  const refuse = (why) => {
    throw new Error(`${why}\n${USAGE}`);
  };
  const options = parse(args, refuse);
  if (!['cpu', 'acc', 'tensorflow'].includes(options.backend))
    refuse(`--backend is '${options.backend ?? ''}'.`);
  if (options.device !== undefined && options.backend !== 'acc') refuse('--device is for --backend acc.');
  const isTensorflow = options.backend === 'tensorflow';
  if (isTensorflow !== (options['tfjs-node'] !== undefined)) {
    refuse('--backend tensorflow and --tfjs-node go together.');
  }
  if (options.plain && !isTensorflow) refuse('--plain is for --backend tensorflow.');
  if (!['cpu', 'cuda', 'late', undefined].includes(options.device))
    refuse(`--device is '${options.device}'.`);
  if (options.filter === '') refuse('--filter is empty.');
  if (options['write-known'] && process.env.CI === 'true') refuse('--write-known is not for CI.');
  return { ...options, device: options.backend === 'acc' ? (options.device ?? 'cpu') : undefined };
}

function parse(args, refuse) {
  const text = { type: 'string' };
  try {
    return parseArgs({
      args,
      options: {
        backend: text,
        filter: text,
        device: text,
        'tfjs-node': text,
        plain: { type: 'boolean', default: false },
        'write-known': { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return refuse(error.message);
  }
}

/** Everything unexpected about a run, as `problems`, in addition to the counts. */
function judge(run, known, { backend, filter }) {
  if (run.names.length === 0) return { passed: 0, expectedFailures: 0, pending: 0, problems: [run.crash] };
  const { newFailures, stale, withoutReason, ...counts } = compare(run.results, run.names, known);
  const problems = [...newFailures, ...run.outside, ...stale];
  for (const name of withoutReason) problems.push({ name, messages: [`its reason is still ${NO_REASON}`] });
  if (run.crash) problems.push(run.crash);
  else if (run.results.size === 0) problems.push({ name: 'no spec ran', messages: [`filter: ${filter}`] });
  const expected = JSON.parse(readFileSync(new URL('expected-counts.json', import.meta.url), 'utf8'))[
    backend
  ];
  const isWhole = filter === undefined && !run.crash;
  if (run.names.length !== expected.specs) problems.push(miscount('specs', expected.specs, run.names.length));
  if (isWhole && counts.pending !== expected.pending) {
    problems.push(miscount('pending', expected.pending, counts.pending));
  }
  return { ...counts, problems };
}

function miscount(what, expected, actual) {
  const messages = [`tfjs-core ${tfjsVersion} has ${actual}; if that is right, change expected-counts.json`];
  return { name: `expected-counts.json: ${what} ${expected}`, messages };
}

async function main() {
  const options = readOptions(process.argv.slice(2));
  const { backend, device, filter } = options;
  const path = knownPath(backend, device);
  const known = readKnown(path);
  const tfjsNode = options['tfjs-node'];
  const bundle = await bundleSpecs(backend, tfjsNode);
  const logPath = join(buildFolder, `worker.${backend}.log`);
  const startedAt = performance.now();
  const progress = progressLine();
  const setup = { device, tfjsNode, isPlain: options.plain };
  const run = await runSpecs({ bundle, setup, filter, logPath }, progress.draw);
  progress.clear();
  if (run.unavailable !== undefined) {
    throw new Error(`The backend ${backend} could not be set up.\n${run.unavailable}`);
  }

  let list = known;
  if (options['write-known']) {
    if (run.crash) throw new Error(`Not written: ${run.crash.name}.\n${run.crash.messages.join('\n')}`);
    list = updated(run.results, run.names, known);
    writeKnown(path, list);
    console.log(`${relative('', path)}: ${known.length} → ${list.length} known failures`);
  }
  const verdict = judge(run, list, options);
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(
    formatReport(verdict, { seconds, maxRssBytes: run.maxRssBytes, logPath: relative('', logPath) }),
  );
  process.exitCode = verdict.problems.length > 0 ? 1 : 0;
}

try {
  await main();
} catch (error) {
  // The errors of this runner need only their message. Any other error is a defect and needs its
  // stack.
  console.error(error.constructor === Error ? error.message : error.stack);
  process.exitCode = 1;
}
