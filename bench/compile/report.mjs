import { formatColumns } from '../harness/markdown-table.mjs';
import { median } from '../harness/statistics.mjs';
import { workloads } from '../harness/workloads.mjs';
import { BASELINES } from './ways.mjs';

/** The lines of `explain()` up to the calls are those of kinds of calls. */
const END_OF_KINDS = 'calls, those that take most time first:';
const PRODUCTS =
  /([\d.]+) ms +[\d.]+ % \d+ × (?:matrix products and convolutions|recurrent layers|attention)/g;
const REPLAY = /A replay takes ([\d.]+) ms/;

/** The report's summary of one case. `ratios` refer to the baselines, within each repeat. */
export function summaryOf({ runs, peaks }) {
  const rows = Object.entries(runs).map(([name, results]) => {
    const own = results.map(stepMsOf);
    const ratios = BASELINES.map((baseline) => {
      const each = own.map((ms, repeat) => ms / stepMsOf(runs[baseline][repeat]));
      return { median: median(each), min: Math.min(...each), max: Math.max(...each) };
    });
    return {
      name,
      stepMs: median(own),
      stepMsMin: Math.min(...own),
      stepMsMax: Math.max(...own),
      ratios,
      peakBytes: peaks[name] ?? median(results.map(({ peakBytes }) => peakBytes)),
      compileSteps: compileStepsOf(name, runs),
    };
  });
  const fused = runs['compiled, fuse: true'][0];
  const versions = { ...fused.versions, ...runs['PyTorch eager'][0].versions };
  return { rows, versions, explanation: fused.explanation };
}

const stepMsOf = ({ blockMs, steps }) => median(blockMs) / steps;

/** Undefined for ways that compile nothing. Only the first process of torch.compile has no cache. */
function compileStepsOf(name, runs) {
  if (name === 'torch.compile') {
    const [first] = runs[name];
    return (first.firstStepMs - stepMsOf(first)) / median(runs['PyTorch eager'].map(stepMsOf));
  }
  const all = runs[name].flatMap(({ compileSteps }) => compileSteps ?? []);
  return all.length > 0 ? median(all) : undefined;
}

export function formatReport(name, cases) {
  return `# ${name}

Steps of training, one rank, Adam: plain tfjs code eager, recorded (\`accelerator.compile\`) and fused, beside
PyTorch's eager mode and \`torch.compile\`. PyTorch's GPT has its fused functions (\`scaled_dot_product_attention\`,
\`LayerNorm\`, \`GELU\`); ours is made of tfjs's operators alone, or "fused by hand" of Accelerate's functions. All have
the tanh form of GELU. bf16 is mixed precision on both sides.

- **ms a step**: the median of the repeats, each the median of its blocks, with the fastest and the slowest repeat.
- **/ PyTorch eager**, **/ torch.compile**: the median of the ratios of the repeats, with the minimum and the
  maximum. Below 1, the row is faster.
- **MiB**: the peak of tensors' memory in a step. Ours is the peak of our allocator, PyTorch's that of libtorch's
  allocator, by torch.profiler.
- **compile, steps**: on our side the time of the calls before the first replay, minus as many plain steps, in plain
  steps of a warm program. On PyTorch's side the time of the first step of a process, with an empty cache, in eager
  steps.

${cases.map(formatCase).join('\n\n')}
`;
}

function formatCase(measured) {
  const { model, precision, threads, blocks, machine, commands } = measured;
  const { rows, versions, explanation } = summaryOf(measured);
  const [eager] = rows;
  const repeats = measured.runs['PyTorch eager'].length;
  const header = [
    '',
    'ms a step',
    ...BASELINES.map((name) => `/ ${name}`),
    'MiB',
    '/ PyTorch',
    'compile, steps',
  ];
  const table = rows.map((row) => [
    row.name,
    `${time(row.stepMs)} (${time(row.stepMsMin)}–${time(row.stepMsMax)})`,
    ...row.ratios.map(({ median: middle, min, max }) => `${two(middle)} (${two(min)}–${two(max)})`),
    mib(row.peakBytes),
    two(row.peakBytes / eager.peakBytes),
    row.compileSteps === undefined ? '–' : row.compileSteps.toFixed(1),
  ]);
  const listed = Object.entries(versions).map(([what, version]) => `${what} ${version}`);
  const s = threads === 1 ? '' : 's';
  return `## ${model}, ${precision}, ${threads} thread${s}

${titleOf(model)}. ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.system};
${machine.date}; load before the case ${machine.load.toFixed(1)}. ${listed.join(', ')}.
${repeats} ${repeats === 1 ? 'repeat' : 'repeats'} of ${blocks} blocks, in turn, in new processes: ${[...new Set(commands)].map((command) => `\`${command}\``).join(', ')}

${formatColumns(header, table)}

${formatLimit(explanation, eager, measured.floor)}`;
}

/** The workload of the GPT in plain operators refers to that of the other one. */
const titleOf = (model) =>
  model === 'gpt-plain' ? `${workloads.gpt.title}, in plain operators` : workloads[model].title;

/** The share of products in a fused step, and the time below which no fusion leads. */
function formatLimit(explanation, eager, floor) {
  const kinds = explanation.split(END_OF_KINDS)[0].split('\n');
  const first = kinds.findIndex((line) => REPLAY.test(line));
  const replayMs = Number(REPLAY.exec(kinds[first])?.[1]);
  const productMs = [...explanation.matchAll(PRODUCTS)].reduce((sum, [, ms]) => sum + Number(ms), 0);
  const share = Math.round((100 * productMs) / replayMs);
  return `Operators with products (matrix products, convolutions, attention, recurrent layers with their cells) take ${share} % of a
fused replay, and ${two(productMs / eager.stepMs)} of the time of PyTorch's eager step. ${formatFloor(floor, eager)}\`step.explain()\` of the fused step:

\`\`\`text
${kinds.slice(first).join('\n').trim()}
\`\`\``;
}

/** Results of earlier versions have no floor. */
function formatFloor(floor, eager) {
  if (!floor) return '';
  const { flops, flopsPerSecond, floorMs } = floor;
  return `The products of PyTorch's step are ${(flops / 1e9).toPrecision(3)} GFLOP:
${time(floorMs)} ms at the rate of a large product (${(flopsPerSecond / 1e9).toFixed(0)} GFLOP/s), or ${two(floorMs / eager.stepMs)} of PyTorch's eager step. `;
}

const two = (number) => number.toFixed(2);
const mib = (bytes) => (bytes / 2 ** 20).toFixed(1);
const time = (ms) => ms.toPrecision(3);
