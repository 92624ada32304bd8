/**
 * `node bench/diagnose.mjs [--only <name>] [--records <folder>]`: diagnoses programs that are sick, and
 * healthy ones. With `--records` it only writes their records there. See README.md.
 */
import { diagnose, readRecords } from '@acc/core';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CASES, HEALTHY } from './diagnose/cases.mjs';
import { exitOnError } from './harness/exit-on-error.mjs';
import { describeMachine } from './harness/machine.mjs';
import { formatColumns } from './harness/markdown-table.mjs';
import { formatHead, writeResult } from './harness/report.mjs';
import { runProcess } from './harness/run-process.mjs';

const PROGRAM = fileURLToPath(new URL('diagnose/train.ts', import.meta.url));
const ACC = fileURLToPath(new URL('../packages/core/bin/acc.js', import.meta.url));
const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, records: { type: 'string' } },
});
const { only, records } = values;
/** The first steps choose kernels. */
const WARM_UP = 20;

/** Trains one way of a case, and gives the folder of its run. */
async function train({ ranks, threads, mayFail = false }, way, settings, projectDir) {
  const ofRank = typeof threads === 'number' ? threads : threads[way];
  const job = [PROGRAM, JSON.stringify(settings), projectDir];
  const launched = [ACC, 'launch', '-n', `${ranks}`, '--threads', `${ofRank}`, ...job];
  await runProcess(process.execPath, launched).catch((error) => {
    if (!mayFail) throw error;
  });
  const [id] = readdirSync(join(projectDir, 'runs', 'sick'));
  return join(projectDir, 'runs', 'sick', id);
}

/** The mean time of a step divided by its samples, in ms: batches of ways may differ. */
async function sampleMs(folder) {
  const { ranks } = await readRecords(folder);
  const rows = ranks[0].steps.slice(WARM_UP);
  const samples = rows.reduce((sum, row) => sum + row.samples, 0);
  // Not known for data that were not prepared.
  return (rows.at(-1).end - rows[0].start) / (samples || rows.length);
}

async function measure(each) {
  const folder = mkdtempSync(join(tmpdir(), 'acc-bench-diagnose-'));
  try {
    const run = await train(each, 'sick', each.sick, join(folder, 'sick'));
    const { findings: all } = await diagnose(run);
    const busy = all.find(({ id }) => id === 'cpu-steal')?.share;
    // Right, and not about the program: other programs on this machine, and the one thread of most programs,
    // whose times say more than those of several threads.
    const isOfBench = ({ id }) => id === 'cpu-steal' || (id === 'idle-cores' && each.threads === 1);
    const findings = all.filter((finding) => each.expected.includes(finding.id) || !isOfBench(finding));
    const [first, ...others] = findings;
    if (records) {
      cpSync(join(run, 'insight'), join(records, each.name.replaceAll(/[^\w-]+/g, '-')), { recursive: true });
      return { ...each, first, others, isNamed: isNamed(each, first), busy };
    }
    const { gain } = findings.find(({ id }) => each.expected.includes(id)) ?? {};
    // A formula tells the time to a loss, and not that of a sample.
    const measured =
      gain?.how === 'simulated'
        ? 1 -
          (await sampleMs(await train(each, 'mended', each.mended, join(folder, 'mended')))) /
            (await sampleMs(run))
        : undefined;
    return { ...each, first, others, isNamed: isNamed(each, first), gain, measured, busy };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Whether the cause comes first. A healthy program has none. */
function isNamed({ expected }, first) {
  return expected.length === 0 ? first === undefined : expected.includes(first?.id);
}

/** Whether an expected gain is as near to the measured one as it should be. */
function isNear({ gain, measured }) {
  const limit = measured >= 0.1 ? 0.3 * measured : 0.03;
  return Math.abs(gain.mid - measured) <= limit;
}

const percent = (share) => (share === undefined ? '–' : `${(100 * share).toFixed(0)} %`);

function rowOf(result) {
  const { name, expected, first, others, isNamed, gain, measured, busy, error } = result;
  return [
    ...[name, expected.join(', ') || '–', first?.id ?? (error ? 'failed' : '–'), isNamed ? 'yes' : 'no'],
    ...[others.map(({ id }) => id).join(', ') || '–'],
    gain ? `${percent(gain.mid)} (${percent(gain.low)} to ${percent(gain.high)})` : '–',
    percent(measured),
    measured === undefined ? '–' : isNear(result) ? 'yes' : 'no',
    percent(busy),
  ];
}

const COLUMNS = [
  'program',
  'cause',
  'named first',
  'right',
  'other findings',
  'expected gain',
  'measured gain',
  'near',
  'lost to other programs',
];

async function main() {
  const results = [];
  for (const each of [...CASES, ...HEALTHY].filter(({ name }) => name.includes(only))) {
    // One that ends with an error is told, and the others go on.
    const failed = (error) => ({ ...each, others: [], isNamed: false, error });
    const result = await measure(each).catch(failed);
    results.push(result);
    console.log(result.error?.message ?? rowOf(result).join(' | '));
  }
  const sick = results.filter(({ expected }) => expected.length > 0);
  const healthy = results.filter(({ expected }) => expected.length === 0);
  const gains = results.filter(({ measured }) => measured !== undefined);
  const verdict = `${sick.filter(({ isNamed }) => isNamed).length} of ${sick.length} causes are named first. ${healthy.filter(({ isNamed }) => !isNamed).length} of ${healthy.length} healthy programs
have a finding. ${gains.filter(isNear).length} of ${gains.length} expected gains are within 30 % of the measured one, or within 3 % of a step
where it is below 10 %.`;
  const head = formatHead({
    name: 'diagnose',
    machine: describeMachine(),
    versions: { node: process.versions.node },
    options: { device: 'cpu' },
  });
  const text = `${head}\n\n${verdict}\n\n${formatColumns(COLUMNS, results.map(rowOf))}\n`;
  if (only || records) console.log(text);
  else console.log(`Written to ${writeResult('diagnose.md', text)}`);
  if (results.some(({ error }) => error)) process.exitCode = 1;
}

await exitOnError(main);
