import { LAUNCH_OPTIONS, workingFolder } from '@acc/config';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { addConfigOptions } from '../config/launch-flags.js';
import { parseCount } from '../counts.js';
import { addFlags } from '../launch/flags.js';
import type { StudyFlags } from './options.js';

const { threads, oversubscribe, cpuBind } = LAUNCH_OPTIONS;
const OF_LAUNCH = {
  threads: { ...threads, otherwise: 'OMP_NUM_THREADS, or cores / the most ranks' },
  oversubscribe,
  cpuBind,
};

/** Adds the command `scale-study` to the program. `setExitCode` receives that of an interrupted study. */
export function addScaleStudyCommand(program: Command, setExitCode: (code: number) => void): void {
  const command = program
    .command('scale-study')
    .description('run a program on several numbers of ranks, and say how it scales and what limits it')
    .argument('<script>', 'the program, which calls initTrackers')
    .argument('[args...]', "the program's own arguments; those that begin with - stand after --")
    .optionsGroup('Study:')
    .requiredOption('--ranks <LIST>', 'numbers of ranks with commas: 1,2,4', parseRanks)
    .addOption(new Option('--weak', 'the batch of each rank stays (default)').conflicts('strong'))
    .addOption(new Option('--strong', 'the batch of all ranks together stays'))
    .option('--turns <N>', 'runs on each number of ranks', parseCount, 3)
    .optionsGroup('Output:')
    .option('--output <DIR>', 'each study gets a numbered folder in this one', 'scale-study')
    .option('--json', 'the figures as JSON; the report is written all the same');
  addConfigOptions(addFlags(command, OF_LAUNCH)).action(
    async (script: string, args: string[], flags: StudyFlags) => {
      const { runStudy } = await import('./run-study.js');
      setExitCode(await runStudy({ script, args, ...flags }, process.env, workingFolder()));
    },
  );
}

/** At least two different numbers, in ascending order. */
function parseRanks(text: string): number[] {
  const numbers = text.split(',').map(Number);
  const isList =
    /^\d+(,\d+)*$/.test(text) && numbers.every((ranks) => ranks > 0 && Number.isSafeInteger(ranks));
  if (isList && numbers.length > 1 && new Set(numbers).size === numbers.length)
    return numbers.toSorted((a, b) => a - b);
  throw new InvalidArgumentError('Expected at least two different numbers of ranks, such as 1,2,4.');
}
