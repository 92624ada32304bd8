import type { Collective, KernelLayer } from '@acc/contract';
import { Accelerator } from '../index.js';
import { withAllWeights } from '../presets/without-partner.js';
import { checkpointCheck } from './checkpoint.js';
import type { Check, SelfCheckPlan } from './check.js';
import { dataCheck } from './data-shards.js';
import { objectCheck } from './objects.js';
import { precisionCheck } from './precision.js';
import { failure, reporter, runChecks, type CheckEvent } from './run-checks.js';
import { speedCheck } from './speed.js';
import { prepareTraining, trainingCheck, type PreparedTraining } from './training.js';
import { DTYPES, verbCheck } from './verbs.js';

const START = 'start';

/**
 * Checks the job of this rank: collectives, data, training, checkpoints. Writes what it finds into
 * the folder of the plan.
 *
 * @returns Whether all checks ran. They may have failed.
 */
export async function selfCheck(plan: SelfCheckPlan, rank: number): Promise<boolean> {
  const own = reporter(rank, plan);
  let current = START;
  const event = (told: CheckEvent) => {
    current = told.check;
    own.event(told);
  };
  try {
    event({ check: START, state: 'started' });
    const { accelerator, collective, kernels } = await started(plan);
    event({ check: START, state: 'passed', note: descriptionOf(accelerator, collective) });
    const subject = { accelerator, collective, kernels, plan };
    await runChecks(checksOf(accelerator), subject, { event });
    await accelerator.endTraining();
    return true;
  } catch (error) {
    const told = failure(current, rank, error);
    event(told);
    // The launcher reads it, to tell causes from consequences.
    console.error(`${told.code ?? 'error'}: ${told.problems!.join('\n')}`);
    return false;
  }
}

interface Started {
  readonly accelerator: Accelerator;
  readonly collective: Collective;
  readonly kernels: KernelLayer;
}

/** Creates the Accelerator as a program would, and takes its parts as a plugin would. */
async function started({ mixedPrecision }: SelfCheckPlan): Promise<Started> {
  let parts: Pick<Started, 'collective' | 'kernels'> | undefined;
  const accelerator = await Accelerator.create({
    plugins: [
      {
        name: 'selfCheck',
        attach: ({ collective, kernels }) => void (parts = { collective, kernels }),
      },
    ],
    // The first would change the result, and the others record a run.
    gradientClipping: { norm: 1e30, value: 1e30 },
    autoLog: false,
    logWith: [],
    ...withAllWeights(mixedPrecision),
  });
  return { accelerator, ...parts! };
}

function descriptionOf({ numProcesses, backendName, device }: Accelerator, { engine }: Collective): string {
  const ranks = `${numProcesses} ${numProcesses === 1 ? 'rank' : 'ranks'}`;
  return `${ranks}, backend ${backendName} on ${device}, engine ${engine}`;
}

function checksOf(accelerator: Accelerator): Check[] {
  let prepared: PreparedTraining | undefined;
  const training = () => (prepared ??= prepareTraining(accelerator));
  return [
    ...DTYPES.map(verbCheck),
    objectCheck,
    dataCheck,
    precisionCheck,
    trainingCheck(training),
    checkpointCheck(training),
    speedCheck,
  ];
}
