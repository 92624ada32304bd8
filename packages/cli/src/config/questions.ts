import { AccError } from '@acc/contract';
import { ACCELERATOR_FIELDS, LAUNCH_FIELDS, valueFrom, type Field, type FieldValue } from '@acc/config';
import type { Suggested } from './machine.js';

type Values = Record<'launch' | 'accelerator', Record<string, FieldValue>>;
type Prompts = typeof import('@clack/prompts');

const COMMON = [
  'mixedPrecision',
  'gradientAccumulationSteps',
  'gradientClipping.norm',
  'strategy',
  'logWith',
  'checkpoint.dir',
  'checkpoint.keepLast',
];
/** Asked only if several hosts train. */
const OF_HOSTS = ['rdzvEndpoint', 'interface'];
const OF_FSDP = ['fsdp.stage', 'fsdp.cpuOffload'];

/**
 * Asks for the common options on the terminal. An empty answer leaves an option out.
 *
 * @throws AccError `ACC_CANCELLED` after Ctrl-C; nothing is written then.
 */
export async function askOptions(suggested: Suggested): Promise<Values> {
  const prompts = await import('@clack/prompts');
  prompts.intro(`Options for this machine: ${suggested.reason}`);
  const values: Values = { launch: { ...suggested.launch }, accelerator: { ...suggested.accelerator } };
  const ask = async (section: 'launch' | 'accelerator', name: string) => {
    const fields = section === 'launch' ? LAUNCH_FIELDS : ACCELERATOR_FIELDS;
    const field = fields.find((one) => one.name === name)!;
    const answer = await askFor(prompts, field, values[section][name]);
    if (answer === undefined) delete values[section][name];
    else values[section][name] = answer;
  };
  for (const name of ['nproc', 'nnodes']) await ask('launch', name);
  const hosts = values.launch['nnodes'];
  if (typeof hosts === 'number' && hosts > 1) for (const name of OF_HOSTS) await ask('launch', name);
  for (const name of COMMON) await ask('accelerator', name);
  if (values.accelerator['strategy'] === 'fsdp') for (const name of OF_FSDP) await ask('accelerator', name);
  return values;
}

async function askFor(
  prompts: Prompts,
  field: Field,
  initial: FieldValue | undefined,
): Promise<FieldValue | undefined> {
  const message = `${field.name}: ${field.meaning}`;
  if (field.kind === 'choice' || field.kind === 'switch') {
    const choices = field.kind === 'choice' ? field.choices.map(String) : ['true', 'false'];
    const answer = await prompts.select({
      message,
      initialValue: initial === undefined ? '' : String(initial),
      options: [
        { value: '', label: `default (${field.fallback})` },
        ...choices.map((value) => ({ value, label: value })),
      ],
    });
    return answered(prompts, field, answer);
  }
  const answer = await prompts.text({
    message,
    placeholder: `default: ${field.fallback}`,
    initialValue: initial === undefined ? '' : String(initial),
    validate: (text) =>
      !text || valueFrom(field, text) !== undefined ? undefined : 'This option does not take that value.',
  });
  return answered(prompts, field, answer);
}

function answered(
  prompts: Prompts,
  field: Field,
  answer: string | symbol | undefined,
): FieldValue | undefined {
  if (prompts.isCancel(answer)) {
    throw new AccError('ACC_CANCELLED', 'The questions were cancelled. Nothing was written.', {
      help: 'Run npx acc config again, or npx acc config --default.',
    });
  }
  return answer ? valueFrom(field, String(answer)) : undefined;
}
