import { ACCELERATOR_FIELDS, LAUNCH_OPTIONS } from '@acc/config';
import {
  diagnose,
  SAMPLE_COLUMNS,
  STEP_COLUMNS,
  type Finding,
  type RankRecords,
  type RecordedRun,
} from '@acc/records';
import type { DetectorCase, DetectorSubject, Judged } from './subject.js';

/** Fails the case. */
function require(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Error(otherwise);
}

/** The findings of the subject's detector alone. */
async function judge({ detector, ids = [detector.id] }: DetectorSubject, run: RecordedRun): Promise<Judged> {
  const { findings, notJudged } = await diagnose(run, { detectors: [detector] });
  return {
    findings: findings.filter(({ id }) => ids.includes(id)),
    reason: notJudged.find(({ id }) => id === detector.id)?.reason,
  };
}

async function findingsOf(subject: DetectorSubject): Promise<Finding[]> {
  const found = await Promise.all(subject.sick.map((run) => judge(subject, run)));
  return found.flatMap(({ findings }) => findings);
}

const findsItsCause: DetectorCase = {
  name: 'the cause is found in each sick run',
  async run(subject) {
    require(subject.sick.length > 0, 'the subject has no sick run');
    for (const [i, run] of subject.sick.entries()) {
      const { findings, reason } = await judge(subject, run);
      require(findings.length >
        0, `sick[${i}]: no finding of ${subject.detector.id}${reason ? `: ${reason}` : ''}`);
    }
  },
};

const findsNothingElse: DetectorCase = {
  name: 'nothing is found in a healthy run',
  async run(subject) {
    require(subject.healthy.length > 0, 'the subject has no healthy run');
    for (const [i, run] of subject.healthy.entries()) {
      const { findings } = await judge(subject, run);
      require(findings.length === 0, `healthy[${i}]: ${findings[0]?.cause}`);
    }
  },
};

/** A run without a column or a fact. */
function without(run: RecordedRun, of: 'steps' | 'samples' | 'facts', name: string): RecordedRun {
  const drop = (row: object) => Object.fromEntries(Object.entries(row).filter(([key]) => key !== name));
  const ranks = run.ranks.map((rank) => {
    const changed = of === 'facts' ? rank.facts && drop(rank.facts) : rank[of].map(drop);
    return { ...rank, [of]: changed } as unknown as RankRecords;
  });
  return { ...run, ranks };
}

const abstains: DetectorCase = {
  name: 'without the records that it needs, it does not judge, and says so',
  async run(subject) {
    const { steps = [], samples = [], facts = [], ranks = 1 } = subject.detector.needs;
    const parts = Object.entries({ steps, samples, facts }) as ['steps', readonly string[]][];
    for (const [of, names] of parts) {
      for (const name of names) {
        const { findings, reason } = await judge(subject, without(subject.sick[0]!, of, name));
        require(findings.length === 0 && !!reason, `without ${of}.${name}, it judges`);
      }
    }
    if (ranks < 2) return;
    const { ranks: all } = subject.sick[0]!;
    const { findings, reason } = await judge(subject, { problems: [], ranks: all.slice(0, 1) });
    require(findings.length === 0 && !!reason, 'without the records of a rank, it judges');
  },
};

/** The parts of a step. A run without these columns has no steps. */
const ALWAYS: readonly string[] = ['step', 'start', 'end'];

const needsNoMore: DetectorCase = {
  name: 'it says which records it reads: without others it does not fail, and does not find more',
  async run(subject) {
    const { steps = [], samples = [] } = subject.detector.needs;
    const others = [
      ...STEP_COLUMNS.filter(
        (name) => !ALWAYS.includes(name) && !(steps as readonly string[]).includes(name),
      ).map((name) => ['steps', name] as const),
      ...SAMPLE_COLUMNS.filter(
        (name) => name !== 'time' && !(samples as readonly string[]).includes(name),
      ).map((name) => ['samples', name] as const),
    ];
    for (const [of, name] of others) {
      for (const run of subject.sick) await judge(subject, without(run, of, name));
      for (const run of subject.healthy) {
        const { findings } = await judge(subject, without(run, of, name));
        require(findings.length === 0, `without ${of}.${name}, it finds a cause in a healthy run`);
      }
    }
  },
};

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    for (const inner of Object.values(value)) freeze(inner);
  }
  return value;
}

const isPure: DetectorCase = {
  name: 'it is pure: equal records give equal findings, and stay as they are',
  async run(subject) {
    for (const run of [...subject.sick, ...subject.healthy]) {
      const frozen = freeze(structuredClone(run));
      const [first, second] = [await judge(subject, frozen), await judge(subject, structuredClone(run))];
      require(JSON.stringify(first) === JSON.stringify(second), 'a second call gives another result');
    }
  },
};

const isText = (text: unknown) => typeof text === 'string' && /^\S.*\S$/.test(text);
const isShare = (value: unknown) => typeof value === 'number' && value >= 0 && value <= 1;

const isWellFormed: DetectorCase = {
  name: 'a finding has evidence, a share, a cause and an advice',
  async run(subject) {
    for (const { id, severity, share, evidence, cause, advice, ranks, since } of await findingsOf(subject)) {
      require(['warning', 'critical'].includes(severity), `${id}: severity is ${severity}`);
      require(isShare(share), `${id}: share is ${share}, and not from 0 to 1`);
      require(evidence.length > 0, `${id}: there is no evidence of finite values`);
      require(evidence.every(
        ({ quantity, unit }) => isText(quantity) && typeof unit === 'string',
      ), `${id}: evidence lacks its quantity or unit`);
      for (const [name, text] of Object.entries({ cause, advice }))
        require(isText(text) && text.endsWith('.'), `${id}: ${name} is no sentence: ${text}`);
      require(ranks.length > 0, `${id}: it is about no rank`);
      require(since === null || !Number.isNaN(Date.parse(since.time)), `${id}: since has no time`);
    }
  },
};

const gainIsOrdered: DetectorCase = {
  name: 'a gain is low ≤ mid ≤ high, from 0 to 1',
  async run(subject) {
    for (const { id, gain } of await findingsOf(subject)) {
      if (!gain) continue;
      const { low, mid, high } = gain;
      require([low, mid, high].every(isShare) &&
        low <= mid &&
        mid <= high, `${id}: the gain is ${low}, ${mid}, ${high}`);
    }
  },
};

/** The options of the Accelerator and of `acc launch`. */
const KNOWN: readonly string[] = [
  ...ACCELERATOR_FIELDS.map(({ name }) => name),
  ...Object.values(LAUNCH_OPTIONS).flatMap(({ flag }) =>
    (/--[\w-]+/.exec(flag) ?? []).map((name) => `acc launch ${name}`),
  ),
];

const optionsExist: DetectorCase = {
  name: 'a change names an option that exists',
  async run(subject) {
    const { options = [] } = subject;
    const known = [...options, ...KNOWN];
    for (const { id, change } of await findingsOf(subject)) {
      if (!change) continue;
      require(known.includes(
        change.option,
      ), `${id}: there is no option ${change.option}. If it is yours, name it in options.`);
    }
  },
};

/** The rules for every detector. */
export const detectorCases: readonly DetectorCase[] = [
  ...[
    findsItsCause,
    findsNothingElse,
    abstains,
    needsNoMore,
    isPure,
    isWellFormed,
    gainIsOrdered,
    optionsExist,
  ],
];

/**
 * The rules for every detector, for a test runner: `for (const { name, run } of
 * detectorCasesFor(subject)) it(name, run)`. A case throws if it fails.
 */
export function detectorCasesFor(
  subject: DetectorSubject,
): readonly { name: string; run: () => Promise<void> }[] {
  return detectorCases.map(({ name, run }) => ({ name, run: () => run(subject) }));
}
