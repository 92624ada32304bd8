import { stringify } from 'yaml';
import type { CostOfBatch, FullPlan, PlannedRun, Range, StepPart, UnfitPlan } from '@acc/planner';
import { formatSize } from '../byte-sizes.js';
import type { PlanReport } from './report.js';

/** Formats the report for people. */
export function formatPlans(report: PlanReport): string {
  const { model, cluster, devices, globalBatch, sequence, plans, limitBytes, counts, doNotFit } = report;
  const sections = [
    `${model}, ${count(globalBatch)} sequences of ${count(sequence)} tokens a step, on ${count(devices)} devices of ${cluster}. ` +
      `A plan may take ${formatSize(limitBytes)} of a device.`,
    tableOf(HEADER, plans.map(rowOf)),
    timeOf(plans[0]!),
    optionsOf(plans[0]!),
    ...(doNotFit.length > 0 ? [unfitOf(doNotFit)] : []),
    `${count(counts.considered)} plans: ${count(counts.tooLarge)} do not fit, ${count(counts.tooSlow)} are slower by a lower bound, ${count(counts.simulated)} were simulated.`,
    ...(report.cost ? [costsOf(report)] : []),
    constantsOf(report),
  ];
  return `${sections.join('\n\n')}\n`;
}

const HEADER = [
  'a step',
  'MFU',
  'memory',
  'bound by',
  'mesh',
  'stage',
  'micro-batches',
  'layers',
  'precision',
];

function rowOf({ plan, stepSeconds, mfu, memoryBytes, boundBy, breakdown }: PlannedRun): string[] {
  return [
    seconds(stepSeconds),
    percent(mfu),
    formatSize(memoryBytes),
    `${PARTS[boundBy]} ${percent(breakdown[boundBy] / stepSeconds)}`,
    meshOf(plan),
    `${plan.stage}${plan.offload ? `, offload to ${plan.offload.to}` : ''}`,
    `${count(microBatchesOf(plan))} of ${plan.microBatch}${plan.mesh.pipeline > 1 ? `, ${plan.schedule}` : ''}`,
    plan.checkpointEvery === null ? 'all kept' : `sections of ${plan.checkpointEvery}`,
    plan.precision,
  ];
}

const microBatchesOf = ({ globalBatch, mesh: { data, fsdp }, microBatch }: FullPlan): number =>
  globalBatch / (data * fsdp * microBatch);

const PARTS: Readonly<Record<StepPart, string>> = {
  products: 'products',
  attention: 'attention',
  elementwise: 'elementwise operators',
  tensorCommunication: 'tensor communication',
  pipelineCommunication: 'pipeline communication',
  pipelineBubble: 'the bubble',
  dataCommunication: 'data communication',
  optimizer: 'the optimizer',
  offload: 'offload',
};

const meshOf = ({ mesh }: FullPlan): string =>
  Object.entries(mesh)
    .filter(([, size]) => size > 1)
    .map(([axis, size]) => `${axis} ${size}`)
    .join(', ') || 'one device';

/** The parts of a step that are not nothing. */
function timeOf({ breakdown, stepSeconds }: PlannedRun): string {
  const parts = (Object.keys(PARTS) as StepPart[])
    .filter((part) => breakdown[part] >= stepSeconds / 200)
    .sort((a, b) => breakdown[b] - breakdown[a])
    .map((part) => `  ${percent(breakdown[part] / stepSeconds).padStart(4)}  ${PARTS[part]}`);
  const again = breakdown.recomputed / stepSeconds;
  const repeated =
    again > 0 ? [`  ${percent(again).padStart(4)}  of these is computed again in backward`] : [];
  return ['The time of the first:', ...parts, ...repeated].join('\n');
}

function optionsOf({ create: { options, batchSize, program } }: PlannedRun): string {
  const lines = stringify({ accelerator: options }).trimEnd().split('\n');
  return [
    options.fsdp?.offload
      ? 'The first as options of Accelerator.create (fsdp.offload is no option of acc.yaml):'
      : 'The first in acc.yaml, or as options of Accelerator.create:',
    ...lines.map((line) => `  ${line}`),
    `In the program: batches of ${batchSize} rows a rank.`,
    ...program.map((line) => `- ${line}`),
  ].join('\n');
}

function unfitOf(plans: readonly UnfitPlan[]): string {
  const rows = plans.map(({ plan, memoryBytes, most, memory, atLeastSeconds }) => [
    meshOf(plan),
    formatSize(memoryBytes),
    `${most} ${formatSize(memory[most])}`,
    `at least ${seconds(atLeastSeconds)}`,
  ]);
  return ['Do not fit with any micro-batch:', tableOf(['mesh', 'memory', 'most of it', 'a step'], rows)].join(
    '\n',
  );
}

function costsOf({ cost }: PlanReport): string {
  const { batches, fastestBatch } = cost!;
  const hasMoney = batches.some(({ money }) => money);
  const hasEnergy = batches.some(({ kilowattHours }) => kilowattHours);
  const header = ['batch', 'steps', 'days', ...(hasMoney ? ['money'] : []), ...(hasEnergy ? ['kWh'] : [])];
  const rows = batches.map((each: CostOfBatch) => [
    count(each.batch),
    range(each.steps),
    range(each.seconds, 86_400),
    ...(each.money ? [range(each.money)] : []),
    ...(each.kilowattHours ? [range(each.kilowattHours)] : []),
  ]);
  return [
    `To the target, with the mesh of the first plan. The range is that of a critical batch of a quarter to four times what was given. A batch of ${count(Math.round(fastestBatch))} is fastest.`,
    tableOf(header, rows),
  ].join('\n');
}

const range = ({ low, mid, high }: Range, unit = 1): string =>
  `${rounded(mid / unit)} (${rounded(low / unit)} to ${rounded(high / unit)})`;

const rounded = (value: number): string => Number(value.toPrecision(3)).toLocaleString('en-US');

function constantsOf({ constants }: PlanReport): string {
  const rows = constants.map(({ name, value, unit, origin }, i) => [
    name,
    unit === '1' ? String(value) : `${Number(value.toPrecision(4)).toExponential()} ${unit}`,
    origin === constants[i - 1]?.origin ? 'as above' : origin,
  ]);
  return [
    'Constants, which the fields of a cluster file replace:',
    tableOf(['constant', 'value', 'from'], rows),
  ].join('\n');
}

function tableOf(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((_, k) => Math.max(...[header, ...rows].map((row) => row[k]!.length)));
  return [header, ...rows]
    .map((row) => `  ${row.map((cell, k) => cell.padEnd(widths[k]!)).join('  ')}`.trimEnd())
    .join('\n');
}

const count = (value: number): string => value.toLocaleString('en-US');
const percent = (part: number): string => `${(100 * part).toFixed(0)} %`;
const seconds = (value: number): string =>
  value < 1 ? `${(1000 * value).toFixed(1)} ms` : `${value.toFixed(2)} s`;
