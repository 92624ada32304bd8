import { expect, it } from 'vitest';
import { trackersOf } from './trackers.js';

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
