import { readdirSync } from 'node:fs';
import { expect, it, vi } from 'vitest';
import { AccError } from '@acc/contract';
import { trackersOf } from './trackers.js';

/** Here no package of a tracker is installed. */
vi.mock('@acc/tracker', async (original) => ({
  ...(await original<object>()),
  loadTracker: (name: string) =>
    Promise.reject(new AccError('ACC_TRACKER_MISSING', `${name} is not installed.`, { help: 'Check it.' })),
}));

const refusal = async (logWith: string[], perTracker: unknown) =>
  Promise.resolve()
    .then(() => trackersOf({ logWith }, perTracker as Record<string, object>))
    .catch((error: unknown) => error);

it.each([
  [null, 'null'],
  ['jsonl', '"jsonl"'],
  [[], '[]'],
])('options of trackers that are %j are refused', async (perTracker, shown) =>
  expect(await refusal(['jsonl'], perTracker)).toMatchObject({
    code: 'ACC_INVALID_OPTION',
    message: expect.stringContaining(`the options of trackers are ${shown}; expected an object.`) as string,
  }),
);

it.each(['toString', 'constructor'])("'%s' is not a known tracker", async (name) => {
  expect(await refusal([name], {})).toMatchObject({
    code: 'ACC_TRACKER_MISSING',
    message: expect.stringContaining(`'${name}' is not a known tracker`) as string,
  });
  // The nearest name is suggested only for a name that is not known.
  expect(await refusal([`${name}s`], { [name]: {} })).toMatchObject({
    code: 'ACC_UNKNOWN_OPTION',
    help: `Did you mean '${name}s'?`,
  });
});

const OWN = readdirSync(new URL('../../..', import.meta.url)).filter((name) => /^(acc-)?tracker-/.test(name));

it.each(OWN)(
  '%s is not installed: the error has the command, and for a misspelt name the name',
  async (folder) => {
    const name = folder.replace(/^(acc-)?tracker-/, '');
    const packageName = folder.startsWith('acc-') ? folder : `@acc/${folder}`;
    const missing = { code: 'ACC_TRACKER_MISSING', help: `Install it: npm install ${packageName}` };
    expect(await refusal([name], {})).toMatchObject(missing);
    expect(await refusal([packageName], {})).toMatchObject(missing);
    for (const misspelt of [`${name}s`, `${packageName}s`]) {
      expect(await refusal([misspelt], {})).toMatchObject({ help: `Did you mean '${name}'?` });
    }
  },
);

it.each(['acc-tracker-not-there', '@team/tracker', 'my-own-service'])(
  'the error for %s has no command and no nearest name',
  async (name) => {
    expect(await refusal([name], {})).toMatchObject({
      help: expect.stringMatching(/^Known trackers: console, .*, trackio\. Check it\.$/) as string,
    });
  },
);
