import { drawPanels } from '@acc/records';
import { formatColumns } from '../harness/markdown-table.mjs';
import { formatHead } from '../harness/report.mjs';
import { workloads } from '../harness/workloads.mjs';
import { stepsOf } from './plan.mjs';
import { summarize } from './summary.mjs';

const KINDS = ['weak', 'strong'];
const SIDES = ['ours', 'theirs'];

const percent = (fraction) =>
  fraction === undefined ? '–' : `${Math.round(100 * fraction)} %`.replace('-', '−');
const whole = (number) => Math.round(number).toLocaleString('en');

/** `<name>-<model>.svg`, beside the page that shows it. */
export const chartName = (name, model) => `${name}-${model}.svg`;

/**
 * The efficiency of one model over ranks: a row for weak, one for strong, and a panel for each
 * network.
 */
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
 * Returns the page.
 *
 * @param record `{name, machine, versions, options, command, models: [{model, runs}], probes,
 * leftOut}`. `probes` has the measured connection of each network. `leftOut` has the reasons why
 * requested networks are missing.
 */
export function formatScaling(record) {
  const { name, models, options, command } = record;
  return `${formatHead({ ...record, options: { device: 'cpu' } })}

Training steps on several ranks with one thread each, tfjs + Accelerate beside PyTorch + Accelerate.
**Weak**: every rank has the model's batch. **Strong**: all ranks together have the model's batch, in equal parts (rounded down).
**Efficiency**: samples/s divided by the number of ranks times the rate of one rank with the whole batch.
**No communication**: the same number of processes at once, which are independent, each with the batch of a rank. This is the limit
of the machine: cores share memory and caches, and a smaller batch costs more per sample. **Communication**: the share of a step by
which it is longer than without communication. So efficiency is that of "no communication", reduced by the share of communication.
**time, ours/theirs**: below 1, ours is faster.

${formatNetworks(record)}

${models.map(({ model, runs }) => formatModel(name, model, runs)).join('\n\n')}

## How

Each case ran ${options.repeats} times in new processes. Ours and theirs took turns to be first. Each process had ${options.blocks} timed blocks for weak and for
strong, in turn. On this host, ${models.map(({ model }) => stepsOfBoth(model, options.steps)).join('; ')}; on other networks there are fewer. Rates are those of
the median block, and a figure is the median over the repeats. All else is as in [bench](../README.md). Between ranks on the host
itself, ours uses shared memory and theirs uses Gloo over the loopback interface. Between namespaces both use Gloo.

Repeat it: \`${command}\`
`;
}

function stepsOfBoth(model, given) {
  const [ours, theirs] = SIDES.map((side) => {
    const { warmupSteps, steps } = stepsOf(model, side, { given });
    return `${whole(steps)} steps after ${whole(warmupSteps)} warm-up steps`;
  });
  return `a block of ${model} has ${ours} for ours, and ${theirs} for theirs`;
}

function formatNetworks({ probes, leftOut }) {
  const slow =
    probes.length === 0
      ? ''
      : `

In the other networks every rank has its own network namespace, with a cable to one switch. Packets are sent at the given rate and
arrive after the given delay. The switch is a program that uses the cores of the ranks. A connection between two hosts measured:

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

"host itself" is this machine without network namespaces.${slow}${missing.join('')}`;
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
