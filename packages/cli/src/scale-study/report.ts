import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { AccError, counted } from '@acc/contract';
import { wrapText, type WrappedFor } from '@acc/platform/uncaught';
import { htmlOf, markdownOf, type Block } from './blocks.js';
import { limitOf } from './limit.js';
import { drawEfficiency, drawSteps } from './pictures.js';
import type { Study } from './study.js';
import { lawsTable, ratesTable, sharesTable } from './tables.js';

/** The paths of a report. */
export interface ReportFiles {
  readonly markdown: string;
  readonly html: string;
}

const EFFICIENCY = 'efficiency.svg';
const STEPS = 'step.svg';

/** Writes the report and its pictures. @throws AccError `ACC_STUDY_FOLDER`. */
export function writeReport(study: Study, folder: string): ReportFiles {
  const steps = drawSteps(study);
  const pictures = { [EFFICIENCY]: drawEfficiency(study), ...(steps !== undefined && { [STEPS]: steps }) };
  const title = `How ${basename(study.script)} scales`;
  const blocks = blocksOf(study);
  const texts = {
    ...pictures,
    'report.md': markdownOf(title, blocks),
    'report.html': htmlOf(title, blocks, pictures),
  };
  try {
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
  } catch (cause) {
    throw new AccError('ACC_STUDY_FOLDER', `The report cannot be written: ${(cause as Error).message}.`, {
      help: `Choose another folder with --output. ${folder} has the records of the runs.`,
      cause,
    });
  }
  return { markdown: join(folder, 'report.md'), html: join(folder, 'report.html') };
}

/** The figures for a terminal, or for another output. */
export function summaryOf(study: Study, { markdown, html }: ReportFiles, output: WrappedFor): string {
  const { header, rows } = ratesTable(study);
  const widths = header.map((_, i) => Math.max(...[header, ...rows].map((row) => row[i]!.length)));
  const lines = [header, ...rows].map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n\n${wrapText(limitOf(study), output)}\n\n${markdown}\n${html}\n`;
}

function blocksOf(study: Study): Block[] {
  return [
    ...(study.unfinished === undefined ? [] : [{ kind: 'text' as const, text: study.unfinished }]),
    { kind: 'text', text: limitOf(study) },
    { kind: 'heading', text: 'Rates' },
    { kind: 'table', ...ratesTable(study) },
    { kind: 'text', text: aboutRates(study) },
    { kind: 'picture', file: EFFICIENCY, text: 'Efficiency over ranks' },
    { kind: 'heading', text: 'Where the time of a step goes' },
    ...stepBlocks(study),
    { kind: 'heading', text: 'Laws' },
    { kind: 'table', ...lawsTable(study) },
    { kind: 'text', text: aboutLaws(study) },
    { kind: 'heading', text: 'How it was measured' },
    { kind: 'text', text: aboutRuns(study) },
  ];
}

function aboutRates({ turns, sizes, linearFactor }: Study): string {
  return `Medians over ${counted(turns, 'turn')}, with the lowest and the highest value. Speed-up is the rate divided by that of ${counted(sizes[0]!.ranks, 'rank')}, efficiency the speed-up divided by how many times more ranks there are. The linear-scaling factor, the slope of the line through the origin nearest to the speed-ups, is ${linearFactor.toFixed(2)}; 1 is linear.`;
}

const ABOUT_PARTS =
  'Exposed communication is what nothing hides, on the rank that comes last, too. All waits are exposed communication and the waits for slower ranks. Communication that runs beside the passes makes no step longer, so the records have its bytes and not its time.';

function stepBlocks({ sizes }: Study): Block[] {
  if (sizes.some(({ shares }) => shares === null))
    return [
      {
        kind: 'text',
        text: 'On a GPU a pass returns before it is computed, so the parts of a step are not known.',
      },
    ];
  return [
    { kind: 'table', ...sharesTable(sizes) },
    { kind: 'text', text: ABOUT_PARTS },
    { kind: 'picture', file: STEPS, text: 'Parts of a step by number of ranks' },
  ];
}

function aboutLaws({ kind, isFit, usl, sizes }: Study): string {
  return [
    'X(n) is the rate on n ranks. The parameters have the least squares of relative errors, and none is below 0; the error is the root of their mean square.',
    usl ? '' : 'USL needs at least three numbers of ranks.',
    isFit
      ? ''
      : `With ${sizes.length} numbers of ranks, a law goes near the rates and does not show that it holds: that takes at least 4.`,
    'Karp-Flatt in the table of rates is (1 / S - 1 / n) / (1 - 1 / n) with the speed-up S on n times the fewest ranks.',
    kind === 'weak'
      ? 'The work grows with the ranks here, so it falls where each step has the same cost, and stays where each further rank adds one.'
      : '',
  ]
    .filter((text) => text !== '')
    .join(' ');
}

function aboutRuns({ kind, threads, cores, script, args, sizes }: Study): string {
  const [base] = sizes;
  const batch =
    kind === 'weak'
      ? `the batch of each rank stays (${base!.samples / base!.ranks} samples)`
      : `the batch of all ranks together stays (${base!.samples} samples)`;
  const crowded = sizes.filter(({ ranks }) => ranks * threads > cores);
  return [
    `${[basename(script), ...args].join(' ')}, --${kind}: ${batch}. ${counted(threads, 'thread')} for each rank on ${counted(cores, 'core')}.`,
    'Every second turn has the numbers of ranks the other way round. The first steps of a run do not count.',
    crowded.length > 0
      ? `${crowded.map(({ ranks }) => counted(ranks, 'rank')).join(', ')}: more threads than cores, which take turns, and a collective waits for the last of them.`
      : '',
  ]
    .filter((text) => text !== '')
    .join(' ');
}
