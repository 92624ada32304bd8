import { formatColumns } from '../harness/markdown-table.mjs';
import { median } from '../harness/statistics.mjs';

const ms = (time) => Math.round(time).toLocaleString('en');
const percent = (part) => `${(100 * part).toFixed(0)} %`;

/** @param figures For each side, the times of each repeat. */
export function formatCheckpoint({ ours, theirs }, { parameterCount, steps }) {
  const bytes = 12 * parameterCount;
  const of = (list, figure) => median(list.map(figure));
  const spread = (list, figure) => {
    const times = list.map(figure);
    return `${ms(median(times))} (${ms(Math.min(...times))}–${ms(Math.max(...times))})`;
  };
  /** Ratios within each repeat, because the machine changes between repeats. */
  const ratioOf = (a, b) => median(ours.map((one, i) => a(one) / b(theirs[i])));
  const row = (what, a, b) => [what, spread(ours, a), spread(theirs, b), ratioOf(a, b).toFixed(2)];
  const saved = ({ saveMs }) => saveMs;
  const loaded = ({ loadMs }) => loadMs;
  const withStep = ({ loadMs, firstStepMs }) => loadMs + firstStepMs;
  const gbPerS = (figure) => (bytes / 1e6 / of(ours, figure)).toFixed(2);
  const toRaw = (figure) => median(ours.map((one) => figure(one) / one.saveMs));
  const still = ours.map(({ stillMs, saveMs }) => stillMs / saveMs);
  const delayed = ours.map(({ aloneMs, besideMs, saveMs }) => (besideMs - aloneMs) / saveMs);
  const pairs = [
    row('save (ours is synced to the disk, theirs is not)', saved, saved),
    row('save, both synced to the disk', saved, ({ saveMs, syncMs }) => saveMs + syncMs),
    row('load', loaded, loaded),
    row('load, and the first step', withStep, withStep),
  ];
  const raws = [
    [
      'write and fsync, one chunk after another',
      spread(ours, ({ rawMs }) => rawMs),
      gbPerS(({ rawMs }) => rawMs),
      percent(toRaw(({ rawMs }) => rawMs)),
    ],
    [
      'write without the cache, three chunks at a time',
      spread(ours, ({ directMs }) => directMs),
      gbPerS(({ directMs }) => directMs),
      percent(toRaw(({ directMs }) => directMs)),
    ],
    ['our save', spread(ours, saved), gbPerS(saved), '100 %'],
  ];
  return `${formatColumns(['', 'ours, ms', 'theirs, ms', 'ours/theirs'], pairs)}

${formatColumns(['the same bytes', 'ms', 'GB/s', 'our rate to it'], raws)}

An async save blocks the loop for ${ms(of(ours, ({ stillMs }) => stillMs))} ms, ${percent(median(still))} of the blocking one (at most ${percent(Math.max(...still))}). ${steps} steps take
${ms(of(ours, ({ aloneMs }) => aloneMs))} ms without a save and ${ms(of(ours, ({ besideMs }) => besideMs))} ms during one. The difference is ${percent(median(delayed))} of the time of
a blocking save. The reasons are threads that share the cores, and copies of tensors that change before they are written.

A GPT with ${(parameterCount / 1e6).toFixed(0)} M weights and Adam's state, ${(bytes / 1e9).toFixed(2)} GB, on one rank with one thread. \`saveState\` and \`loadState\` are compared
with \`save_state\` and \`load_state\`. Times are medians of ${ours.length} repeats, with the minimum and the maximum. A ratio is the median
of the ratios of the repeats. One process on each side makes all saves. Before a save, earlier files are deleted and the disk is
synced. Each load is the first of a new process that has prepared model and optimizer, and its files are in the system's cache.
Ours maps large tensors and compares their checksums, so pages are copied when the first step changes them. Theirs has no checksums.`;
}
