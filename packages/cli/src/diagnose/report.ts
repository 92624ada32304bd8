import type { Change, Diagnosis, Evidence, Finding, Gain } from '@acc/records';

const HEADER = ['cause', 'costs', 'gain', 'ranks', 'since', 'change'];

/** Formats a diagnosis for people: a table, then each finding with its evidence. */
export function formatDiagnosis(diagnosis: Diagnosis): string {
  const { findings, steps, ranks, stepMs } = diagnosis;
  const head = `${steps} steps of ${ranks.length === 1 ? '1 rank' : `${ranks.length} ranks`}, ${stepMs.toPrecision(3)} ms a step.`;
  const verdict =
    findings.length > 0
      ? [table([HEADER, ...findings.map(rowOf)]), ...findings.map(formatFinding)]
      : [nothingFound(diagnosis)];
  const rest = formatRest(diagnosis);
  return `${[head, ...verdict, ...(rest ? [rest.trimEnd()] : [])].join('\n\n')}\n`;
}

function nothingFound({ notJudged, detectors }: Diagnosis): string {
  const { length: open } = notJudged;
  if (open === 0) return 'Healthy: nothing was found that holds this training back.';
  return `Nothing was found; ${open} of ${detectors} causes could not be judged.`;
}

/** Lines about the records, and about detectors that could not judge. */
export function formatRest({ notJudged, problems }: Diagnosis): string {
  const lines = [...problems, ...notJudged.map(({ id, reason }) => `${id}: not judged: ${reason}.`)];
  return lines.map((text) => `${text}\n`).join('');
}

function rowOf({ id, share, gain, ranks, since, change }: Finding): string[] {
  return [
    id,
    share > 0 ? `${(100 * share).toFixed(0)} %` : '-',
    gain ? gainText(gain) : '-',
    ranks.join(','),
    since ? `step ${since.step}` : '-',
    change ? changeText(change) : '-',
  ];
}

/** The gain as the share of the time that is saved. */
function gainText({ low, mid, high }: Gain): string {
  const percent = (share: number) => (100 * share).toFixed(0);
  return `${percent(mid)} % (${percent(low)}-${percent(high)})`;
}

/** `option: from -> to`. */
export function changeText({ option, from, to }: Change): string {
  const value = to === null ? 'default' : JSON.stringify(to);
  // Null: not known, or the default.
  return from === null ? `${option}: ${value}` : `${option}: ${JSON.stringify(from)} -> ${value}`;
}

/** A finding with its evidence. */
export function formatFinding({ id, severity, cause, advice, evidence, change }: Finding): string {
  const where = change?.line ? `\n  Set it where the Accelerator is created: ${change.line}` : '';
  const figures = evidence.map((figure) => `  - ${evidenceText(figure)}`);
  return `${id} (${severity}): ${cause}\n  ${advice}${where}\n${figures.join('\n')}`;
}

/** `waiting for a batch: 28.8 ms a step`. */
export function evidenceText({ quantity, value, unit, limit }: Evidence): string {
  const number = (figure: number) => Number(figure.toPrecision(3)).toString();
  const of = limit === undefined ? '' : ` (limit ${number(limit)})`;
  return `${quantity}: ${number(value)}${unit && ` ${unit}`}${of}`;
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = HEADER.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
