import { formatColumns } from '../harness/markdown-table.mjs';
import { formatHead } from '../harness/report.mjs';
import { workloads } from '../harness/workloads.mjs';
import { drawPanels } from './chart.mjs';
import { stepsOf } from './plan.mjs';
import { summarize } from './summary.mjs';

const KINDS = ['weak', 'strong'];
const SIDES = ['ours', 'theirs'];

const percent = (fraction) =>
  fraction === undefined ? '–' : `${Math.round(100 * fraction)} %`.replace('-', '−');
const whole = (number) => Math.round(number).toLocaleString('en');

/** `<name>-<model>.svg`, beside the page that shows it. */
export const chartName = (name, model) => `${name}-${model}.svg`;

/** Efficiency over ranks of one model: a row for weak, one for strong, a panel for each network. */
export function drawModel(model, runs, networks) {
  const rows = KINDS.map((kind) => {
    const figures = summarize(runs, kind);
    const xs = [...new Set(figures.map(({ ranks }) => ranks))];
    return networks.map((network) => ({
      title: `${kind}, ${network.title}`,
      xs,
      lines: [network, undefined].flatMap((on) => SIDES.map((side) => lineOf(figures, xs, side, on))),
    }));
  });
  const label = `Efficiency of ${model} over numbers of ranks, ours and theirs; the tables have the numbers`;
  return drawPanels(rows, { yTitle: 'efficiency', xTitle: 'ranks', label });
}

function lineOf(figures, xs, side, network) {
  const ys = xs.map((ranks) => {
    const row = figures.find((one) => one.ranks === ranks && (ranks === 1 || one.network === network));
    return row && 100 * row[side].efficiency;
  });
  return {
    name: network ? side : `${side}, without communication`,
    color: side === 'ours' ? 'a' : 'b',
    isDashed: network === undefined,
    ys,
  };
}

/**
 * The page.
 *
 * @param record `{name, machine, versions, options, command, models: [{model, runs}], probes, leftOut}`: `probes` what a
 *   connection on each network gave, `leftOut` why networks asked for are missing.
 */
export function formatScaling(record) {
  const { name, models, options, command } = record;
  return `${formatHead({ ...record, options: { device: 'cpu' } })}

Training steps on several ranks of one thread each, tfjs + Accelerate beside PyTorch + Accelerate.
**Weak**: every rank has the model's batch. **Strong**: all ranks together have it, each as much of it as the others (rounded
down). **Efficiency**: samples/s through the ranks times what one rank reaches on the whole batch.
**No communication**: as many processes at once that know nothing of each other, each with a rank's batch. That is what
the machine allows: cores share memory and caches, and a smaller batch costs more a sample. **Communication**: the part of
a step by which it is longer than that. So efficiency is that of "no communication", less communication's part.
**time, ours/theirs**: below 1, ours is faster.

${formatNetworks(record)}

${models.map(({ model, runs }) => formatModel(name, model, runs)).join('\n\n')}

## How

${options.repeats} times each case, ours and theirs in turn, each of them first by turns, in new processes; in each, ${options.blocks} timed blocks for
weak and strong by turns. On this host, ${models.map(({ model }) => stepsOfBoth(model, options.steps)).join('; ')}; fewer on other networks. Rates are of the
median block; a figure is the median of the repeats' own. Else as in [bench](../README.md). Between ranks on the host itself ours takes shared memory, theirs
Gloo over the loopback; between namespaces both take Gloo.

Repeat it: \`${command}\`
`;
}

function stepsOfBoth(model, given) {
  const [ours, theirs] = SIDES.map((side) => {
    const { warmupSteps, steps } = stepsOf(model, side, { given });
    return `${whole(steps)} steps after ${whole(warmupSteps)}`;
  });
  return `a block of ${model} has ${ours}, ours, and ${theirs}, theirs`;
}

function formatNetworks({ probes, leftOut }) {
  const slow =
    probes.length === 0
      ? ''
      : `

In the others every rank has a network namespace of its own, with a cable to one switch: what it sends goes at that rate and
arrives so much later. The switch is a program and the cores are the ranks' too; a connection between two hosts really gave:

${formatColumns(
  ['network', 'round trip', 'one stream'],
  probes.map(({ title, roundTripMs, gbitPerS }) => [
    title,
    `${roundTripMs.toFixed(2)} ms`,
    `${gbitPerS.toFixed(2)} Gbit/s`,
  ]),
)}`;
  const missing = leftOut.map(({ title, reason }) => `\n\nLeft out: ${title}. ${reason}`);
  return `## Networks

"host itself" is this machine without namespaces.${slow}${missing.join('')}`;
}

function formatModel(name, model, runs) {
  const { batch, title } = workloads[model];
  const weak = `### Weak: batch ${batch} on each rank\n\n${formatRows(summarize(runs, 'weak'))}`;
  const strong = `### Strong: batch ${batch} over all ranks\n\n${formatRows(summarize(runs, 'strong'))}`;
  return `## ${title}

![Efficiency over ranks](${chartName(name, model)})

${weak}

${strong}`;
}

function formatRows(figures) {
  const header = ['samples/s', 'efficiency', 'communication'].flatMap((what) =>
    SIDES.map((side) => `${what}, ${side}`),
  );
  const rows = figures.map(({ ranks, network, ratio, ...sides }) => {
    const cells = (format) => SIDES.map((side) => format(sides[side]));
    return [
      `${ranks}`,
      ranks === 1 ? '–' : (network?.title ?? 'no communication'),
      ...cells(({ samplesPerS }) => whole(samplesPerS)),
      ...cells(({ efficiency }) => percent(efficiency)),
      ...cells(({ communication }) => percent(communication)),
      ratio.toFixed(2),
    ];
  });
  return formatColumns(['ranks', 'network', ...header, 'time, ours/theirs'], rows);
}
