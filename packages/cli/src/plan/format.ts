import { stringify } from 'yaml';
import {
  MEMORY_NAMES,
  type CostOfBatch,
  type FullPlan,
  type PlannedRun,
  type Range,
  type StepPart,
  type UnfitPlan,
} from '@acc/planner';
import { formatSize } from '../byte-sizes.js';
import { percent } from '../percent.js';
import type { PlanReport } from './report.js';

/** Formats the report for people. */
export function formatPlans(report: PlanReport): string {
  const { model, cluster, devices, globalBatch, sequence, plans, limitBytes, counts, doNotFit } = report;
  const sections = [
    `${model}, ${counted(globalBatch, 'sequence')} of ${counted(sequence, 'token')} a step, on ${counted(devices, 'device')} of ${cluster}. ` +
      `A plan may take ${formatSize(limitBytes)} of a device.`,
    tableOf(HEADER, plans.map(rowOf)),
    timeOf(plans[0]!),
    optionsOf(plans[0]!),
    ...(doNotFit.length > 0 ? [unfitOf(report)] : []),
    `${counted(counts.considered, 'plan')}: too large ${count(counts.tooLarge)}, slower by a lower bound ${count(counts.tooSlow)}, simulated ${count(counts.simulated)}.`,
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

function optionsOf(planned: PlannedRun): string {
  const { options, batchSize, program } = planned.create;
  const lines = stringify({ accelerator: options }).trimEnd().split('\n');
  return [
    options.fsdp?.offload
      ? 'The first as options of Accelerator.create (fsdp.offload is no option of acc.yaml):'
      : 'The first in acc.yaml, or as options of Accelerator.create:',
    ...lines.map((line) => `  ${line}`),
    ...renamedAxis(planned),
    `In the program: batches of ${counted(batchSize, 'row')} a rank.`,
    ...program.map((line) => `- ${line}`),
  ].join('\n');
}

/** Stages 1 and 2 of ZeRO divide over the ranks of `data`, and the options call that axis `fsdp`. */
function renamedAxis({ plan: { mesh }, create: { options } }: PlannedRun): string[] {
  const { stage } = options.fsdp ?? {};
  if (mesh.data === 1 || mesh.fsdp > 1 || options.mesh?.fsdp !== mesh.data) return [];
  const divided = `${stage === 1 ? '' : 'gradients and '}the state of the optimizer`;
  return [`The axis data of the table is fsdp here: stage ${stage} divides ${divided} over its ranks.`];
}

function unfitOf({ doNotFit, limitBytes }: PlanReport): string {
  const rows = doNotFit.map((unfit) => [
    meshOf(unfit.plan),
    formatSize(unfit.memoryBytes),
    lackOf(unfit, limitBytes),
    `at least ${seconds(unfit.atLeastSeconds)}`,
  ]);
  return ['Do not fit with any micro-batch:', tableOf(['mesh', 'memory', 'most of it', 'a step'], rows)].join(
    '\n',
  );
}

/** The largest part of a device's memory, or if that is enough what a host would need. */
const lackOf = ({ memoryBytes, hostMemoryBytes, most, memory }: UnfitPlan, limitBytes: number): string =>
  memoryBytes > limitBytes
    ? `${MEMORY_NAMES[most]} ${formatSize(memory[most])}`
    : `too much memory of a host ${formatSize(hostMemoryBytes)}`;

function costsOf({ cost }: PlanReport): string {
  const { batches, fastestBatch, multipleOf } = cost!;
  const [unit, secondsOfUnit] = unitOf(batches);
  const hasMoney = batches.some(({ money }) => money);
  const hasEnergy = batches.some(({ kilowattHours }) => kilowattHours);
  const header = ['batch', 'steps', unit, ...(hasMoney ? ['money'] : []), ...(hasEnergy ? ['kWh'] : [])];
  const rows = batches.map((each: CostOfBatch) => [
    count(each.batch),
    range(each.steps),
    range(each.seconds, secondsOfUnit),
    ...(each.money ? [range(each.money)] : []),
    ...(each.kilowattHours ? [range(each.kilowattHours)] : []),
  ]);
  return [
    `To the target, with the mesh of the first plan. The range is that of a critical batch of a quarter to four times what was given. A batch of about ${count(Math.max(1, Math.round(fastestBatch)))} is fastest.${
      multipleOf > 1 ? ` The mesh runs multiples of ${count(multipleOf)}, to which batches are rounded.` : ''
    }`,
    tableOf(header, rows),
  ].join('\n');
}

/** The largest unit in which no training takes less than one. */
function unitOf(batches: readonly CostOfBatch[]): readonly [string, number] {
  const least = Math.min(...batches.map(({ seconds: { mid } }) => mid));
  if (least >= 86_400) return ['days', 86_400];
  return least >= 3600 ? ['hours', 3600] : ['seconds', 1];
}

const range = ({ low, mid, high }: Range, unit = 1): string =>
  `${rounded(mid / unit)} (${rounded(low / unit)} to ${rounded(high / unit)})`;

const rounded = (value: number): string => Number(value.toPrecision(3)).toLocaleString('en-US');

function constantsOf({ constants }: PlanReport): string {
  const rows = constants.map(({ name, value, unit, origin, field = '' }, i) => [
    name,
    unit === '1' ? String(value) : `${Number(value.toPrecision(4)).toExponential()} ${unit}`,
    field,
    origin === constants[i - 1]?.origin ? 'as above' : origin,
  ]);
  return [
    'The main constants, with the fields of a cluster file that replace them:',
    tableOf(['constant', 'value', 'field', 'from'], rows),
  ].join('\n');
}

function tableOf(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((_, k) => Math.max(...[header, ...rows].map((row) => row[k]!.length)));
  return [header, ...rows]
    .map((row) => `  ${row.map((cell, k) => cell.padEnd(widths[k]!)).join('  ')}`.trimEnd())
    .join('\n');
}

const count = (value: number): string => value.toLocaleString('en-US');
const counted = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
const seconds = (value: number): string =>
  value < 1 ? `${(1000 * value).toFixed(1)} ms` : `${value.toFixed(2)} s`;
