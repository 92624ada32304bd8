import { counted } from '@acc/contract';
import type { TimeShares } from '@acc/records';
import { percent } from '../percent.js';
import type { SizeFigures, Study } from './study.js';

/** The names of the parts of a step. */
const PARTS: Readonly<Record<keyof TimeShares, string>> = {
  communication: 'communication between the ranks that nothing hides',
  imbalance: 'waits for slower ranks',
  data: 'waits for batches',
  saves: 'waits for checkpoints',
  loop: "the program's own code between steps",
  compute: 'computation itself',
};

const ms = (value: number): string => `${value.toPrecision(3)} ms`;

/** From this efficiency on, nothing limits a program. */
const NEARLY_LINEAR = 0.9;

/** One paragraph that names what limits the scaling up to the most ranks. */
export function limitOf(study: Study): string {
  const last = study.sizes.at(-1)!;
  const sentences = [
    `On ${last.ranks} ranks the efficiency is ${percent(last.efficiency)}.`,
    last.efficiency >= NEARLY_LINEAR ? 'Little limits the scaling up to there.' : limitsText(study),
    slowerText(study),
    crowded(study),
    last.shares
      ? `There, communication that nothing hides takes ${percent(last.shares.communication)} of a step, and waits for slower ranks take ${percent(last.shares.imbalance)}.`
      : '',
    lawText(study),
    findingsText(study),
  ];
  return sentences.filter((text) => text !== '').join(' ');
}

function limitsText(study: Study): string {
  const [base, last] = [study.sizes[0]!, study.sizes.at(-1)!];
  const linear = linearMs(study, base, last);
  const longer = last.stepMs.median - linear;
  const head = `A step takes ${ms(last.stepMs.median)}, where ${ms(linear)} would be linear.`;
  const [first, second] = lossesOf(study);
  if (!first) return `${head} The parts of a step are not known on a GPU.`;
  const share = first.ms / longer;
  const main = `${share >= 0.5 ? 'Most' : 'The largest part'} of the difference (${percent(Math.min(share, 1))}) is ${PARTS[first.part]}${reason(study, first.part)}.`;
  const next =
    second && second.ms / longer >= 0.15
      ? ` The next largest part (${percent(second.ms / longer)}) is ${PARTS[second.part]}.`
      : '';
  return `${head} ${main}${next}`;
}

/** The time of a step on the most ranks if the rate grew with the ranks. */
function linearMs({ kind }: Study, base: SizeFigures, last: SizeFigures): number {
  return kind === 'weak' ? base.stepMs.median : (base.stepMs.median * base.ranks) / last.ranks;
}

/** How much longer each part of a step is than in a linear one, the longest first. */
export function lossesOf(study: Study): readonly { readonly part: keyof TimeShares; readonly ms: number }[] {
  const [base, last] = [study.sizes[0]!, study.sizes.at(-1)!];
  const { shares: from } = base;
  const { shares: to } = last;
  if (!from || !to) return [];
  const linear = linearMs(study, base, last);
  return (Object.keys(PARTS) as (keyof TimeShares)[])
    .map((part) => ({ part, ms: to[part] * last.stepMs.median - from[part] * linear }))
    .toSorted((a, b) => b.ms - a.ms);
}

function reason(study: Study, part: keyof TimeShares): string {
  if (part !== 'compute') return '';
  return study.kind === 'strong'
    ? ': ranks share caches and memory, smaller batches cost more for each sample, and the optimizer does not become shorter'
    : ': ranks share caches, memory and cores';
}

function slowerText({ sizes }: Study): string {
  const best = sizes.reduce((most, size) => (size.speedUp > most.speedUp ? size : most));
  const last = sizes.at(-1)!;
  return best === last ? '' : `The rate is highest on ${counted(best.ranks, 'rank')}: more are slower.`;
}

function crowded({ sizes, threads, cores }: Study): string {
  const { ranks } = sizes.at(-1)!;
  return ranks * threads > cores
    ? `${counted(ranks, 'rank')} of ${counted(threads, 'thread')} share ${counted(cores, 'core')}, so no program can be linear up to there.`
    : '';
}

function lawText({ kind, amdahl, gustafson, usl, isFit, sizes }: Study): string {
  const serial = amdahl ?? gustafson;
  if (!serial) return '';
  const law = amdahl ? 'Amdahl' : 'Gustafson';
  const most =
    amdahl && amdahl.serial > 0
      ? `, and at most ${(1 / amdahl.serial).toPrecision(2)} times the rate of one rank`
      : '';
  const peak =
    usl && usl.peak !== null && usl.peak < 4 * sizes.at(-1)!.ranks
      ? ` By USL the rate is highest on ${Math.max(1, Math.round(usl.peak))} ranks.`
      : '';
  const head = isFit
    ? `${law}'s law describes the rates with an error of ${percent(serial.error)} and`
    : `${counted(sizes.length, 'number')} of ranks are too few to show that a law holds. ${law}'s would have`;
  const trend = kind === 'strong' ? trendOf(sizes) : '';
  return `${head} a serial share of ${percent(serial.serial)}${most}.${peak}${trend}`;
}

/** A smaller serial share, or growth of it, may be one of measurement. */
const LEAST_SHARE = 0.02;

/**
 * Karp and Flatt: a serial share that grows is no serial share. They assume that all ranks together do the
 * same work on any number of ranks.
 */
function trendOf(sizes: readonly SizeFigures[]): string {
  const shares = sizes.flatMap(({ karpFlatt }) => (karpFlatt === null ? [] : [karpFlatt]));
  if (shares.length < 2 || Math.max(...shares) < LEAST_SHARE) return '';
  const [first, last] = [shares[0]!, shares.at(-1)!];
  if (last > 1.25 * first && last - first > LEAST_SHARE)
    return ` The serial share by Karp and Flatt grows from ${percent(first)} to ${percent(last)}: the cost comes with the ranks, as communication, imbalance and shared hardware do.`;
  return ` The serial share by Karp and Flatt does not grow (${percent(first)}, then ${percent(last)}): the cost is there on few ranks, too.`;
}

const MOST_FINDINGS = 2;

function findingsText({ findings, sizes }: Study): string {
  const { ranks } = sizes.at(-1)!;
  if (findings.length === 0) return `acc diagnose finds nothing else in the run on ${ranks} ranks.`;
  const texts = findings
    .slice(0, MOST_FINDINGS)
    .map(
      ({ id, share, cause, advice }) => `${id}${share > 0 ? ` (${percent(share)})` : ''}: ${cause} ${advice}`,
    );
  return `acc diagnose says of the run on ${ranks} ranks: ${texts.join(' ')}`;
}
